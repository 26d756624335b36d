"""The sections that need the model alone: kernel, learning, risk bound, settings."""

from __future__ import annotations

import re

import numpy as np

from torte.bounds import RiskBound
from torte.errors import InvalidInput, NoSupremum
from torte.inspection import combined, curves, plan_of, relevance
from torte.parameters import Parametric
from torte.report.charts import bars, legend, line_chart, stacked_bar
from torte.report.markup import E, Element, data_table, figure, number, percent
from torte.report.pictures import pixel_image
from torte.report.subject import MOST_MOVED, Subject

__all__ = ["bound_section", "expression", "kernel_section", "learning_section", "plan_section"]

MOST_BARS = 15  # columns in one chart
MOST_PARTS = 6  # of a kernel
_LONG = re.compile(r"\((?:[^(),]+, ){6,}[^(),]+\)")  # seven numbers or more


def expression(kernel: Parametric) -> str:
    """A kernel's expression with three digits in every number, long sequences by their range.

    >>> from torte.kernels import Gaussian
    >>> from torte.report.about_model import expression
    >>> expression(0.123456 * Gaussian(tuple(range(1, 11))))
    '0.123 * Gaussian(length_scale=(10 values, 1 to 10))'
    """
    rounded = {}
    for leaf in kernel.leaves():
        if not leaf.array:
            digits = np.vectorize(lambda value: float(f"{value:.3g}"))(leaf.value)
            rounded[leaf.path] = leaf.plain(np.asarray(digits))

    def ranged(found: re.Match[str]) -> str:
        values = [float(part) for part in found[0][1:-1].split(", ")]
        return f"({len(values)} values, {min(values):g} to {max(values):g})"

    return _LONG.sub(ranged, repr(kernel.substitute(rounded)))


def _ranked(values: np.ndarray) -> np.ndarray:
    return np.argsort(-values, kind="stable")[:MOST_BARS]


def _movement_figures(about: Subject) -> list[Element]:
    if about.rows is None or about.rows.moved is None:
        return []
    moved, title = about.rows.moved, "Relevance by column"
    names = [column.name for column in about.rows.table.columns]
    best = _ranked(moved)
    drawn = bars(title, [names[i] for i in best], moved[best].tolist(), shown=percent)
    note = (
        "How much probability moves, on average, when a row gets the column’s value of another row."
    )
    note += _of_how_many(best, moved)
    if len(moved) > MOST_MOVED:
        note += f" Measured for the {MOST_MOVED} with the most spread in length scales."
    return [figure(drawn, title, note)]


def _of_how_many(best: np.ndarray, values: np.ndarray) -> str:
    if len(best) == len(values):
        return ""
    return f" The {len(best)} largest of {len(values)} columns."


def _scale_figures(about: Subject) -> list[Element]:
    """One chart for each stationary part of the kernel, columns in the same order in all of them."""
    rows = None if about.rows is None else about.rows.seen
    parts = relevance(about.inspected, rows)
    if not parts:
        return []
    what, note = (
        (
            "spread in length scales",
            "Standard deviation of a column in units of its length scale. Near 0 it hardly matters.",
        )
        if parts[0].in_spreads
        else ("inverse length scale", "The larger, the more one unit of the column matters.")
    )
    names = about.inspected.columns
    best = _ranked(combined(parts, len(names)))
    drawn = []
    for part in parts[:MOST_PARTS]:
        values = np.zeros(len(names))
        values[list(part.columns)] = part.values
        weight = "" if part.variance == 1 else f"{number(part.variance)} × "
        title = f"{weight}{part.name}: {what}"
        if about.shape is not None:
            chart = pixel_image(title, values.reshape(about.shape))
            drawn.append(figure(chart, title, note))
        else:
            chart = bars(title, [names[i] for i in best], values[best].tolist())
            drawn.append(figure(chart, title, note + _of_how_many(best, values)))
    return drawn


def kernel_section(about: Subject) -> Element:
    """The learned kernel as an expression and as charts."""
    engine = about.inspected.engine
    whole = repr(engine.kernel_)
    brief = expression(engine.kernel_)
    lead = E(
        "p",
        "Regularization λ = ",
        E("b", number(engine.regularization_)),
        ", complexity r = ",
        E("b", number(engine.complexity_)),
        ".",
    )
    full = E("details", E("summary", "All digits"), E("pre", E("code", whole)))
    return E(
        "section",
        E("h2", "Learned kernel"),
        E("pre", E("code", brief), class_="expression"),
        lead,
        full if whole != brief else None,
        E("div", *_movement_figures(about), *_scale_figures(about), class_="figures"),
        id="kernel",
    )


def learning_section(about: Subject) -> Element | None:
    """Risk, complexity and objective at every evaluation; None where nothing was learned."""
    history = about.inspected.history
    if len(history) < 2:
        return None
    found = curves(about.inspected)
    units = {"risk": "nats", "objective": "nats", "test_log_loss": "nats"}
    drawn = [
        figure(
            line_chart(name, values, found.starts, units.get(name, "")),
            name.replace("_", " ").capitalize(),
            f"{number(float(values[0]))} at the start, {number(float(values[-1]))} at the end",
        )
        for name, values in found.series.items()
        if np.isfinite(values).any()
    ]
    lead = f"{len(history):,} evaluations in {number(found.seconds)} seconds."
    if len(found.starts) > 1:
        lead += f" Dashed lines part the {len(found.starts)} runs of learning; each has rows and an objective of its own."
    figures = E("div", *drawn, class_="figures thirds")
    return E("section", E("h2", "Learning"), E("p", lead), figures, id="learning")


def _risk_bound(about: Subject) -> tuple[RiskBound, str]:
    """The bound on all inputs, or where there is none on those in the ranges of the table."""
    engine = about.inspected.engine
    try:
        return engine.risk_bound(), ""
    except NoSupremum:
        if about.rows is None or about.inspected.takes != "vectors":
            raise
        seen = about.rows.seen.cpu().numpy()
        low, high = seen.min(axis=0), seen.max(axis=0)
        where = " The kernel has no supremum on all inputs: it holds for inputs in the ranges of this table."
        return engine.risk_bound(domain=(low, high)), where


def bound_section(about: Subject) -> Element:
    """Theorem 4 with every term, or why it cannot be stated."""
    heading = E("h2", "Risk bound")
    try:
        bound, where = _risk_bound(about)
    except (InvalidInput, NoSupremum) as reason:
        return E("section", heading, E("p", f"Not available: {reason}"), id="bound")
    names = ("training risk", "4e × complexity", "confidence term")
    values = (bound.empirical_risk, bound.complexity_term, bound.confidence_term)
    verdict = (
        "The loss never exceeds 1, so this bound says nothing of new rows by itself; its terms still compare models of one table."
        if bound.vacuous
        else "It is below 1, the most the loss can be."
    )
    meanings = (
        f"mean clipped cross entropy of the {number(bound.n, 6)} training rows, ε = {bound.epsilon:g}",
        f"complexity r = {number(bound.complexity)}",
        f"√(8/n · log(2/δ)), n = {number(bound.n, 6)}, δ = {1 - bound.confidence:.2g}",
    )
    lines = [
        (name, value, meaning) for name, value, meaning in zip(names, values, meanings, strict=True)
    ]
    lines.append(("total", bound.total, f"holds with probability {bound.confidence:g}"))
    drawn = figure(stacked_bar("Terms of the bound", names, values, 1.0), "Terms of the bound")
    drawn.insert(1, legend(names, ["fill0", "fill1", "fill2"]))
    return E(
        "section",
        heading,
        E(
            "p",
            f"With probability {bound.confidence:g} the expected risk is at most {number(bound.total)}. {verdict}{where}",
        ),
        E(
            "div",
            drawn,
            data_table("Terms of the risk bound", ("term", "value", "meaning"), lines, False),
            class_="figures",
        ),
        id="bound",
    )


def plan_section(about: Subject) -> Element:
    """The plan that was carried out, its cost, and the arguments that asked for it."""
    settings = about.inspected.engine.get_params(deep=False)
    return E(
        "section",
        E("h2", "Plan and settings"),
        E(
            "div",
            data_table("Plan and its cost", ("plan", ""), plan_of(about.inspected), False),
            data_table(
                "Arguments", ("argument", ""), [(k, repr(v)) for k, v in settings.items()], False
            ),
            class_="figures",
        ),
        id="plan",
    )
