"""The sections about a table that the model predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from torte.inspection import surface
from torte.inspection.columns import Column, is_missing
from torte.report.charts import bars, histogram, legend, reliability_chart
from torte.report.markup import E, Element, data_table, figure, number, percent, shortened
from torte.report.pictures import (
    MOST_CLASSES,
    class_css,
    color_map,
    confusion_chart,
    data_uri,
    entropy_map,
)
from torte.report.subject import Rows, Subject

__all__ = ["data_section", "map_section", "prediction_section", "uncertain_section"]

MOST_UNCERTAIN = 40  # rows in the table of them
MOST_SHOWN = 4  # columns beside them
MOST_KEYS = 12  # classes in a legend
MOST_COLUMNS = 100  # in the data summary
BINS = 20
NOTES = {
    "left out": (
        "These are the rows the model was fitted on. So that the figures do not flatter it, each row is "
        "predicted by the embedding of all the others (leave-one-out), with the hyperparameters that all rows chose."
    ),
    "training": (
        "These are the rows the model was fitted on, so the figures flatter it. Give the report rows that it "
        "has not seen for honest ones."
    ),
}
MOST_BARS = 20  # classes in a chart of them


def _confusions(confusion: np.ndarray, labels: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The most frequent errors: true class, predicted class, rows, their share of the class."""
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:8]
    pairs = [divmod(int(flat), len(labels)) for flat in order]
    return [
        (labels[i], labels[j], int(wrong[i, j]), (share, percent(share)))
        for i, j in pairs
        if wrong[i, j] > 0
        for share in [float(wrong[i, j] / confusion[i].sum())]
    ]


def _score_figures(about: Subject, rows: Rows) -> list[Element]:
    scores = rows.evaluation.scores
    if scores is None:
        return []
    drawn = []
    if len(about.labels) <= MOST_CLASSES:
        chart = confusion_chart("Confusion matrix", scores.confusion, about.labels)
        note = "Rows are true classes. Shade: share of the row; errors have the second color."
        drawn.append(figure(chart, "Confusion matrix", note))
    errors = _confusions(scores.confusion, about.labels)
    if errors and len(about.labels) > 2:
        listed = data_table("Most frequent errors", ("true", "predicted", "rows", "share"), errors)
        drawn.append(
            figure(listed, "Most frequent errors", "Share: of the rows of the true class.")
        )
    chart = reliability_chart("Reliability", scores.reliability)
    note = (
        "A point on the diagonal: right as often as stated. Larger points hold more rows. "
        f"Expected calibration error {percent(scores.reliability.error)}."
    )
    drawn.append(figure(chart, "Reliability", note))
    return drawn


def prediction_section(about: Subject, rows: Rows) -> Element:
    """Confusion matrix, reliability and entropy of the predictions."""
    found, m = rows.evaluation, len(about.labels)
    edges = np.linspace(0, np.log(m), BINS + 1)
    if found.scores is None:
        kinds, names = [np.ones(len(found.entropy), bool)], ["rows"]
    else:
        right = found.predicted == found.scores.codes
        kinds, names = [right, ~right], ["predicted right", "predicted wrong"]
    bounded = np.clip(found.entropy, 0, edges[-1])  # rounding leads beyond log m
    counts = [np.histogram(bounded[kind], edges)[0] for kind in kinds]
    chart = histogram("Entropy", edges, counts, names, "entropy of the label, nats")
    entropies = figure(
        chart,
        "Entropy",
        f"0: certain; log {m} = {number(float(np.log(m)))}: a guess among all classes.",
    )
    if len(names) > 1:
        entropies.insert(1, legend(names, ["fill0", "fill1"]))
    note = NOTES.get(rows.kind)
    lead = E("p", note, class_="note") if note else None
    figures = E("div", *_score_figures(about, rows), entropies, class_="flow")
    return E("section", E("h2", "Predictions"), lead, figures, id="predictions")


def _shown(cell: Any) -> Any:
    """A cell for reading: a number stays one, anything else is its text."""
    if is_missing(cell):
        return "", "–"
    if isinstance(cell, (bool, np.bool_)):
        return str(cell)
    if isinstance(cell, (int, np.integer)):
        return int(cell)
    if isinstance(cell, (float, np.floating)):
        return float(cell)
    return (str(cell), shortened(str(cell), 40))


def _telling(about: Subject, rows: Rows) -> list[Column]:
    """The columns to show beside a prediction: the most relevant ones."""
    if rows.moved is None:
        return [] if about.shape else list(rows.table.columns[:1])
    best = np.argsort(-rows.moved, kind="stable")[:MOST_SHOWN]
    return [rows.table.columns[i] for i in best]


def uncertain_section(about: Subject, rows: Rows) -> Element:
    """The rows of highest entropy, with what speaks for which class."""
    found = rows.evaluation
    order = np.argsort(-found.entropy, kind="stable")[:MOST_UNCERTAIN]
    head = ["row"]
    columns = _telling(about, rows)
    if found.scores is not None:
        head.append("true")
    head += ["predicted", "probability", "second", "entropy", *(c.name for c in columns)]
    lines = []
    for i in order:
        ranked = np.argsort(-found.probabilities[i], kind="stable")
        top, second = int(ranked[0]), int(ranked[1])
        line: list[Any] = [_shown(rows.table.index[i])]
        if found.scores is not None:
            line.append(about.labels[found.scores.codes[i]])
        share = float(found.probabilities[i, top])
        line += [about.labels[top], (share, percent(share)), about.labels[second]]
        line += [(float(found.entropy[i]), f"{found.entropy[i]:.3f}")]
        lines.append(line + [_shown(column.cells[i]) for column in columns])
    listed = data_table("Most uncertain rows", head, lines, identity="uncertain-rows")
    listed.set("class", "scroll tall")
    if about.shape is not None:
        _add_pictures(listed, rows.seen.cpu().numpy()[order], about.shape)
    lead = f"The {len(order)} of {len(found.entropy):,} rows with the highest entropy; a click on a heading sorts."
    return E("section", E("h2", "Most uncertain rows"), E("p", lead), listed, id="uncertain")


def _add_pictures(listed: Element, images: np.ndarray, shape: tuple[int, int]) -> None:
    """The image of each row in its first cell."""
    body = listed.find("table/tbody")
    assert body is not None
    low, high = float(images.min()), float(images.max())
    for row, image in zip(body, images, strict=True):
        shades = (image.reshape(shape) - low) / ((high - low) or 1.0)
        picture = E("img", src=data_uri(shades), alt="", width=40, height=40)
        picture.tail, row[0].text = row[0].text, None
        row[0].insert(0, picture)


def map_section(about: Subject, rows: Rows) -> Element | None:
    """Predictions over two columns: the only two, or the two most relevant numbers."""
    columns = rows.table.columns
    if rows.moved is None:
        return None
    moved = rows.moved
    numeric = [
        i for i, c in enumerate(columns) if c.numbers is not None and c.missing < len(c.cells)
    ]
    chosen = sorted(numeric, key=lambda i: -moved[i])[:2]
    if len(chosen) < 2:
        return None
    found = surface(about.inspected, rows.X, sorted(chosen))
    scores = rows.evaluation.scores
    m = len(about.labels)
    first = figure(
        color_map("Class probabilities", found, None if scores is None else scores.codes),
        "Class probabilities",
        "Colors of the classes, mixed by their probabilities.",
    )
    first.append(_class_legend(about.labels))
    second = figure(
        entropy_map("Entropy of the label", found),
        "Entropy of the label",
        f"The stronger the color, the less certain; at most log {m} = {number(float(np.log(m)))} nats.",
    )
    across, upward = (shortened(name, 40) for name in found.names)
    lead = f"{across} across, {upward} upward"
    if found.held:
        lead += f": the two most relevant columns of numbers. The other {found.held} stay at their medians or most frequent values"
    return E(
        "section",
        E("h2", "Decision map"),
        E("p", f"{lead}."),
        E("div", first, second, class_="figures"),
        id="map",
    )


def _class_legend(labels: tuple[str, ...]) -> Element:
    shown = labels[:MOST_KEYS]
    keys = []
    for code in range(len(shown)):
        dot = E("circle", cx=5, cy=5, r=5, fill=class_css(code, len(labels)))
        keys.append(E("svg", dot, viewBox="0 0 10 10", aria_hidden="true"))
    return legend([shortened(label, 24) for label in shown], keys)


def _summary(column: Column) -> list[Any]:
    """One line of the data summary; where there is no median, the most frequent value."""
    missing = column.missing
    if missing == len(column.cells):
        return [column.name, "empty", "", "", "", 0, missing]
    if column.numbers is not None:
        finite = column.numbers[~np.isnan(column.numbers)]
        middle = [float(v) for v in (finite.min(), np.median(finite), finite.max())]
        return [column.name, "number", *middle, len(np.unique(finite)), missing]
    present = column.cells[[not is_missing(cell) for cell in column.cells.tolist()]]
    values, counts = np.unique(present.astype(str), return_counts=True)
    common = f"{shortened(values[counts.argmax()], 24)} ({counts.max():,})"
    dated = present.dtype.kind == "M"
    ends = (str(present.min()), str(present.max())) if dated else ("", "")
    kind = {"M": "date", "b": "yes or no"}.get(present.dtype.kind, "text")
    return [column.name, kind, ends[0], common, ends[1], len(values), missing]


def data_section(about: Subject, rows: Rows) -> Element:
    """What the table holds, column by column, and how many rows each class has."""
    columns = rows.table.columns[:MOST_COLUMNS]
    head = ("column", "kind", "least", "middle", "most", "distinct", "missing")
    listed = data_table("Columns of the table", head, [_summary(c) for c in columns])
    lead = f"{len(rows.table.index):,} rows, {len(rows.table.columns):,} columns."
    if len(columns) < len(rows.table.columns):
        lead += f" The first {len(columns)} are listed."
    scores = rows.evaluation.scores
    classes = None
    if scores is not None:
        counts = np.bincount(scores.codes, minlength=len(about.labels))
        best = np.argsort(-counts, kind="stable")[:MOST_BARS]
        names = [about.labels[i] for i in best]
        chart = bars("Rows by class", names, counts[best].tolist(), shown=lambda v: f"{v:,.0f}")
        classes = E("div", figure(chart, "Rows by class"), class_="figures")
    listed.set("class", "scroll tall")
    return E("section", E("h2", "Data"), E("p", lead), classes, listed, id="data")
