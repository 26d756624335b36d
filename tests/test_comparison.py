"""Scores against scikit-learn's, folds against scikit-learn's, and what cannot be compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score

from torte.baselines import baselines
from torte.comparison import compare, scores
from torte.errors import InvalidInput


@pytest.fixture
def mixed():
    """120 rows with numbers, levels, dates and missing cells, and a label that depends on them."""
    rng = np.random.default_rng(0)
    n = 120
    size, color = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    y = np.where(size + (color == "red") + 0.3 * rng.normal(size=n) > 0.4, "big", "small")
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "color": pd.Series(color).where(rng.random(n) > 0.1, None),
            "odd": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    return frame, y


def test_scores_are_scikit_learn_s():
    rng = np.random.default_rng(1)
    P, codes = rng.dirichlet(np.ones(3), 50), rng.integers(0, 3, 50)
    ours = scores(P, codes)
    assert ours["accuracy"] == accuracy_score(codes, P.argmax(axis=1))
    assert ours["log_loss"] == pytest.approx(log_loss(codes, P))
    assert ours["brier"] == pytest.approx(brier_score_loss(codes, P, labels=[0, 1, 2]))


def test_every_baseline_learns_from_a_mixed_table(mixed):
    frame, y = mixed
    models = {"chance": DummyClassifier(), **baselines(frame)}
    calls = []
    records = compare(models, frame, y, folds=3, on_fold=lambda name, fold: calls.append(name))
    assert len(calls) == 3 * len(models) == 15
    for name, record in records.items():
        assert np.allclose(record.out_of_fold.sum(axis=1), 1)
        assert len(record.seconds) == 3
        assert 0 <= record.calibration_error < 1
        gap, error = record.against(records["chance"], "accuracy")
        assert name == "chance" or gap - 2 * error > 0


def test_folds_and_errors_are_those_of_scikit_learn(mixed):
    frame, y = mixed
    model = baselines(frame)["logistic-regression"]
    record = compare({"a": model}, frame, y, folds=4, seed=3)["a"]
    split = StratifiedKFold(4, shuffle=True, random_state=3)
    theirs = cross_val_score(model, frame, y, cv=split, scoring="accuracy")
    assert record.folds["accuracy"] == theirs.tolist()
    assert record.error("accuracy") == pytest.approx(theirs.std(ddof=1) / 2)
    assert record.against(record, "brier") == (0.0, 0.0)


def test_a_seed_gives_the_same_and_weights_count(mixed):
    frame, y = mixed
    models = {"a": baselines(frame, seed=5)["random-forest"].set_params(model__n_estimators=20)}
    once, again = (compare(models, frame, y, folds=2)["a"].out_of_fold for _ in range(2))
    assert (once == again).all()
    heavy = np.where(y == "big", 100.0, 1.0)
    lines = {"a": baselines(frame)["logistic-regression"]}
    even = compare(lines, frame, y, folds=2)["a"].out_of_fold[:, 0].mean()
    uneven = compare(lines, frame, y, folds=2, weights=heavy)["a"].out_of_fold[:, 0].mean()
    assert uneven > even + 0.1


def test_what_cannot_be_compared(mixed):
    frame, y = mixed
    with pytest.raises(InvalidInput, match=r"at least 2 rows of every class.*got 1 of 'alone'"):
        compare({}, frame, np.where(np.arange(120) == 0, "alone", y))
    for folds in (1, 120):
        with pytest.raises(InvalidInput, match=r"`folds` must be from 2 to .* largest class, got"):
            compare({}, frame, y, folds=folds)
    rare = np.where(np.arange(120) < 3, "rare", y)
    assert compare({"a": DummyClassifier()}, frame, rare)["a"].out_of_fold.shape == (120, 3)
