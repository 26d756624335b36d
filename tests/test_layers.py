"""Modules import only downwards, and importing torte is quick and quiet."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import torte

ROOT = Path(torte.__file__).parent
# From the ground up; a module may import from those before its own layer.
LAYERS = [
    {"errors", "progress", "_threads", "blocked", "resources"},
    {"objects", "_files"},
    {"_numbers", "_labels", "_cells"},
    {"iterative", "parameters", "_arrays", "_weights", "entropy", "bounds", "_container"},
    {"_targets"},
    {"maps", "_forms"},
    {"kernels"},
    {"features", "solvers"},
    {"large", "ways", "widths"},
    {"embedding"},
    {"objectives", "optimizers", "statistics"},
    {"dual", "primal", "routes"},
    {"choosing", "_settings"},
    {"conditioning"},
    {"learning"},
    {"plans", "incremental", "nn", "approximations", "persistence"},
    {"_models"},
    {"streams"},
    {"classifier"},
    {"tables"},
    {"__init__"},
    {"dask", "onnx", "inspection", "tabular", "expressions", "baselines", "datasets"},
    {"plots", "report", "comparison", "experiments"},
    {"cli"},
]


def _home(name: str) -> str:
    module = (ROOT / f"{name}.py").exists() or (ROOT / name).is_dir()
    return name if module else "__init__"


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torte"):
            parts = (node.module or "").split(".")
            names |= {parts[1]} if len(parts) > 1 else {_home(alias.name) for alias in node.names}
    return names


def test_imports_go_downwards():
    rank = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        assert room in rank, f"{room} has no layer yet"
        for name in imported(path):
            assert rank[name] < rank[room] or name == room, f"{path.name} imports {name}"


def test_importing_does_not_wait_for_torch():
    code = (
        "import sys, torte, torte.cli.app; print({'torch', 'sklearn', 'pyarrow'} & {*sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_importing_is_quiet_and_takes_only_what_it_needs():
    code = (
        "import sys, torte; "
        "print([m for m in ('polars', 'matplotlib', 'safetensors', 'onnx', 'torte.nn') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
    assert run.stderr == ""
