"""The page: numbers on top, one section after another, style and script inside it."""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import torte
from torte.errors import InvalidInput
from torte.inspection import curves
from torte.report.about_model import bound_section, kernel_section, learning_section, plan_section
from torte.report.about_rows import data_section, map_section, prediction_section, uncertain_section
from torte.report.markup import E, Element, number, percent, render
from torte.report.subject import Subject, subject
from torte.tabular import atomic, check_writable

__all__ = ["build_page", "write_report"]

JUDGED = {"given": "of the rows", "left out": "leave-one-out", "training": "of training rows"}


def _asset(name: str) -> str:
    return files("torte.report").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """What a browser may load and run: this style, this script, pictures inside the page."""

    def hashed(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{hashed(style)}'; script-src 'sha256-{hashed(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _numbers(about: Subject) -> Element:
    """The table of numbers on top."""
    engine = about.inspected.engine
    lines: list[tuple[str, str, str]] = []
    if about.rows is not None:
        scores = about.rows.evaluation.scores
        if scores is not None:
            lines += [
                ("accuracy", percent(scores.accuracy), JUDGED[about.rows.kind]),
                ("log loss", f"{scores.log_loss:.3f}", "nats; 0 is perfect"),
                ("calibration error", percent(scores.reliability.error), "top label, 10 bins"),
                ("Brier score", f"{scores.brier:.3f}", "0 to 2; 0 is perfect"),
            ]
        if about.rows.kind == "given":
            lines.append(("rows", f"{len(about.rows.table.index):,}", "in this table"))
    if about.inspected.n_rows is not None:
        lines.append(("training rows", f"{about.inspected.n_rows:,}", "in the model"))
    lines.append(("classes", f"{len(about.labels):,}", "of the label"))
    lines.append(("columns", f"{len(about.inspected.columns):,}", "seen by the kernel"))
    if about.inspected.history:
        seconds = curves(about.inspected).seconds
        lines.append(("seconds", number(seconds), f"of learning, {engine.n_iter_:,} evaluations"))
    tiles = [
        E("div", E("dt", name), E("dd", value), E("dd", what, class_="what"))
        for name, value, what in lines
    ]
    across = len(tiles) if len(tiles) <= 5 else (len(tiles) + 1) // 2
    return E("dl", *tiles, class_=f"numbers of{across}")


def build_page(
    model: Any, X: Any = None, y: Any = None, title: str | None = None, image_shape: Any = "auto"
) -> str:
    """The report as HTML text; `write_report` writes it into a file."""
    if X is None and y is not None:
        raise InvalidInput("`y` needs `X`, the rows that it labels; give both, or neither.")
    about = subject(model, X, y, image_shape)
    sections: list[Element | None] = [kernel_section(about)]
    if about.rows is not None:
        sections += [
            prediction_section(about, about.rows),
            uncertain_section(about, about.rows),
            map_section(about, about.rows),
        ]
    sections += [learning_section(about), bound_section(about)]
    if about.rows is not None:
        sections.append(data_section(about, about.rows))
    sections.append(plan_section(about))
    present = [section for section in sections if section is not None]
    links = [E("a", section[0].text, href=f"#{section.get('id')}") for section in present]
    named = title or f"{type(model).__name__} report"
    when = datetime.now().strftime("%d %B %Y, %H:%M").lstrip("0")
    style, script = _asset("page.css"), _asset("page.js")
    head = E(
        "head",
        E("meta", charset="utf-8"),
        E(
            "meta",
            http_equiv="Content-Security-Policy",
            content=_policy(style, script),
        ),
        E("meta", name="viewport", content="width=device-width, initial-scale=1"),
        E("meta", name="color-scheme", content="light dark"),
        E("meta", name="generator", content=f"torte {torte.__version__}"),
        E("link", rel="icon", href="data:,"),
        E("title", named),
        E("style", style),
    )
    header = E(
        "header",
        E("h1", named),
        E("p", f"{type(model).__name__}, torte {torte.__version__}, {when}", class_="sub"),
        _numbers(about),
        E("nav", *links, aria_label="Sections"),
    )
    body = E("body", header, E("main", *present), E("script", script))
    return "<!doctype html>\n" + render(E("html", head, body, lang="en")) + "\n"


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    title: str | None = None,
    *,
    image_shape: Any = "auto",
) -> Path:
    """Write one self-contained HTML page about a fitted model; returns its path.

    Parameters
    ----------
    model : MCEClassifier, TableClassifier or Pipeline
        Fitted; a pipeline must end in an MCEClassifier.
    path : path
        The file. It appears complete or not at all.
    X, y : table (n x d) and labels (n), or None
        Rows to predict, best ones that the model has not seen. Without ``y`` there are no
        scores, without ``X`` only what the model says of itself.
    title : str or None
        The page's heading.
    image_shape : (height, width), "auto" or None
        Where columns are pixels; "auto" recognizes unnamed square ones.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCEClassifier(random_state=0).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, f"{folder}/iris.html", X[1::2], y[1::2], title="Iris")
    ...     "<h1>Iris</h1>" in page.read_text(encoding="utf-8")
    True
    """
    target = Path(path)
    check_writable(target)  # before the work
    # A lone half of a surrogate pair has no UTF-8; its number shows as a replacement character.
    content = build_page(model, X, y, title, image_shape).encode("utf-8", "xmlcharrefreplace")
    with atomic(target) as part:
        part.write_bytes(content)
    return target
