"""Displays: scikit-learn's manner, and what is drawn is what was computed."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris

from torte import MCEClassifier
from torte.errors import InvalidInput
from torte.features import Fourier
from torte.kernels import Gaussian, Linear
from torte.plots import (
    ConfusionMatrixDisplay,
    DecisionMapDisplay,
    EntropyDisplay,
    LearningDisplay,
    PixelRelevanceDisplay,
    RelevanceDisplay,
    ReliabilityDisplay,
    RiskBoundDisplay,
)

mpl.use("agg")
import matplotlib.pyplot as plt

X, y = load_iris(return_X_y=True)
labels = load_iris().target_names[y]


@pytest.fixture(scope="module")
def model() -> MCEClassifier:
    return MCEClassifier(random_state=0).fit(X, labels)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


DRAWN = {
    "relevance": lambda m, ax: RelevanceDisplay.from_estimator(m, ax=ax),
    "movement": lambda m, ax: RelevanceDisplay.from_estimator(m, X, kind="movement", ax=ax),
    "pixels": lambda m, ax: PixelRelevanceDisplay.from_estimator(m, image_shape=(2, 2), ax=ax),
    "learning": lambda m, ax: LearningDisplay.from_estimator(m, ax=ax),
    "reliability": lambda m, ax: ReliabilityDisplay.from_estimator(m, X, labels, ax=ax),
    "entropy": lambda m, ax: EntropyDisplay.from_estimator(m, X, ax=ax),
    "map": lambda m, ax: DecisionMapDisplay.from_estimator(
        m, X, labels, columns=(0, 1), grid_resolution=12, ax=ax
    ),
    "entropy map": lambda m, ax: DecisionMapDisplay.from_estimator(
        m, X, columns=(0, 1), grid_resolution=12, response="entropy", ax=ax
    ),
    "bound": lambda m, ax: RiskBoundDisplay.from_estimator(m, ax=ax),
    "confusion": lambda m, ax: ConfusionMatrixDisplay.from_estimator(m, X, labels, ax=ax),
}


@pytest.mark.parametrize("name", DRAWN)
def test_every_display_draws_on_new_and_on_given_axes(model, name):
    alone = DRAWN[name](model, None)
    assert alone.figure_ is alone.ax_.figure
    alone.figure_.canvas.draw()
    figure, axes = plt.subplots()
    given = DRAWN[name](model, axes)
    assert given.ax_ is axes
    assert given.figure_ is figure
    again = given.plot()
    assert again is given
    assert again.ax_ is not axes


def test_bars_are_the_relevance_largest_first(model):
    drawn = RelevanceDisplay.from_estimator(model, X, kind="movement", most=3)
    widths = [bar.get_width() for bar in drawn.ax_.patches]
    assert widths == sorted(drawn.parts[0].values, reverse=True)[:3]
    names = [text.get_text() for text in drawn.ax_.get_yticklabels()]
    assert names[0] == drawn.columns[int(np.argmax(drawn.parts[0].values))]


def test_lines_are_the_history(model):
    drawn = LearningDisplay.from_estimator(model)
    for name, line in drawn.lines_.items():
        assert list(line.get_ydata()) == [record[name] for record in model.history_]
    assert drawn.lines_["complexity"].axes is drawn.complexity_ax_


def test_reliability_states_its_error(model):
    drawn = ReliabilityDisplay.from_estimator(model, X, labels, name="iris", n_bins=5)
    assert len(drawn.reliability.counts) == 5
    told = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert f"iris, calibration error {drawn.reliability.error:.3f}" in told


def test_histogram_counts_every_row(model):
    drawn = EntropyDisplay.from_estimator(model, X, labels)
    assert sum(bar.get_height() for bar in drawn.ax_.patches) == 150


def test_bars_of_the_bound_add_up(model):
    drawn = RiskBoundDisplay.from_estimator(model, confidence=0.9)
    widths = [bar.get_width() for bar in drawn.ax_.patches]
    assert sum(widths) == pytest.approx(drawn.bound.total)


def test_wrong_arguments_are_told(model):
    with pytest.raises(InvalidInput, match="`kind` must be 'length scales' or 'movement', got 'x'"):
        RelevanceDisplay.from_estimator(model, kind="x")
    with pytest.raises(InvalidInput, match="`X` must be given for kind='movement'"):
        RelevanceDisplay.from_estimator(model, kind="movement")
    with pytest.raises(InvalidInput, match="`image_shape` must be"):
        PixelRelevanceDisplay.from_estimator(model)
    with pytest.raises(InvalidInput, match="`response` must be"):
        DecisionMapDisplay.from_estimator(model, X, columns=(0, 1), response="x", grid_resolution=4)
    with pytest.raises(InvalidInput, match="`n_bins` must be"):
        ReliabilityDisplay.from_estimator(model, X, labels, n_bins=0)
    straight = MCEClassifier(0.1 * Linear(), optimizer=None).fit(X, y)
    with pytest.raises(InvalidInput, match="has no length scales by column"):
        RelevanceDisplay.from_estimator(straight)


def test_a_feature_map_has_figures_too():
    fitted = MCEClassifier(Fourier(Gaussian(ard=True), 30), optimizer=None).fit(X, y)
    assert RelevanceDisplay.from_estimator(fitted).label == "inverse length scale"
    assert RelevanceDisplay.from_estimator(fitted, X).label == "spread in length scales"


def test_without_matplotlib_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'torte\[plots\]'"):
        LearningDisplay.from_estimator(model)
