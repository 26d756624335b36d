"""The README and the guide: every Python block runs, and prints what the page says it prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
ALL = ("README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
PAGES = [page for page in ALL if "```python" in (ROOT / page).read_text(encoding="utf-8")]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_and_print_what_is_said(page, tmp_path, monkeypatch, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # dataclasses and pickle look a class's module up
    monkeypatch.setitem(sys.modules, "page", module)
    blocks = list(BLOCK.finditer(text))
    assert any(block[1] == "python" for block in blocks)
    printed = ""
    for i, block in enumerate(blocks):
        if block[1] == "python":
            # Line numbers of a traceback are those of the page.
            lead = "\n" * text.count("\n", 0, block.start(2))
            exec(compile(lead + block[2], str(ROOT / page), "exec"), vars(module))
            printed = capsys.readouterr().out
        elif block[1] == "text":
            assert blocks[i - 1][1] == "python"
            assert printed == block[2]


@pytest.mark.parametrize("page", ALL)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


def test_notation_names_files_that_exist():
    text = (ROOT / "docs/notation.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"`([a-z_/]+\.py)`", text)):
        assert (ROOT / "src/torte" / name).exists() or (ROOT / name).exists(), name
