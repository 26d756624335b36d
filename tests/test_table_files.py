"""Model files of tables: the encoder is inside, and an altered one is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import torte
from torte import MCEClassifier, TableClassifier, _container
from torte.errors import InvalidInput, ModelFileError
from torte.kernels import Gaussian
from torte.tables import TableEncoder

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def mixed():
    """40 rows of all kinds of columns with gaps, and two classes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(40) % 9 == 0, np.nan, rng.normal(size=40)),
            "color": pd.Series(rng.choice(["red", "blue"], 40)).where(np.arange(40) % 7 > 0, None),
            "odd": np.arange(40) % 2 == 1,
            "day": pd.Timestamp("2020-02-29") + pd.to_timedelta(np.arange(40) * 30, "D"),
            "grade": pd.Categorical(rng.choice(["a", "b"], 40), ["b", "a"], ordered=True),
        }
    )
    return frame, np.where(frame["odd"], "yes", "no")


MODELS = {
    "default": TableClassifier(random_state=0),
    "estimator": TableClassifier(MCEClassifier(Gaussian(), random_state=0)),
    "encoder": TableClassifier(encoder=TableEncoder(max_levels=3), random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_predicts_the_same(name, mixed, tmp_path):
    frame, y = mixed
    model = MODELS[name].fit(frame, y)
    model.save(tmp_path / "a.torte")
    same = torte.load(tmp_path / "a.torte")
    assert type(same) is TableClassifier
    new = frame.iloc[::-1].assign(color="green")
    assert (same.predict_proba(new) == model.predict_proba(new)).all()
    assert same.unseen(new) == {"color": 40}
    assert repr(same) == repr(model)
    same.save(tmp_path / "b.torte")
    assert (tmp_path / "a.torte").read_bytes() == (tmp_path / "b.torte").read_bytes()
    again = same.fit(frame, y)
    assert again.kernel_ == model.kernel_


def test_a_table_model_of_format_1_is_still_read():
    sys.path.insert(0, str(FIXTURES))
    try:
        from make_model_files import TABLE
        from make_model_files import mixed as rows
    finally:
        sys.path.remove(str(FIXTURES))
    model = torte.load(FIXTURES / "table-1.torte")
    expected = json.loads((FIXTURES / "table-1.json").read_text())
    frame, y = rows()
    np.testing.assert_allclose(model.decision_probabilities(frame), expected["p_hat"], atol=1e-9)
    assert model.unseen(frame.assign(color="mauve")) == expected["unseen"] == {"color": 40}
    assert model.score(frame, y) > 0.9
    assert model.target_name_ == "answer"
    assert model.get_params() == TABLE.get_params()
    assert set(model.encoder_.kinds_.values()) == {
        "numeric",
        "categorical",
        "boolean",
        "date",
        "ordinal",
    }


WRONG = [
    ("columns", 1, "rare", {"$": "Linear"}),
    ("columns", 1, "rare", [3]),
    ("columns", 1, "levels", ["red", "red"]),
    ("columns", 0, "fill", "0"),
    ("columns", 0, "missing", 1),
    ("columns", 0, "common", [None]),
    ("columns", 3, "periods", ["moon"]),
    ("columns", 2, "name", None),
    ("columns", 0, "kind", "ordinal"),
    ("kinds", "color", "numeric"),
    ("kinds", "color", "spell"),
]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_fields_of_columns_have_their_types(change, mixed):
    form = TableEncoder().fit(mixed[0]).to_dict()
    *path, last, value = change
    part = form
    for key in path:
        part = part[key]
    part[last] = value
    with pytest.raises(InvalidInput, match="must"):
        TableEncoder.from_dict(form)


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        TableClassifier().save(tmp_path / "a.torte")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", ["unfitted", "another encoder", "no classifier"])
def test_altered_models_are_refused(how, mixed, tmp_path):
    frame, y = mixed
    path = tmp_path / "a.torte"
    TableClassifier(random_state=0).fit(frame, y).save(path)
    arrays, contents = _container.read(path)
    fitted = contents["value"]["fitted"]["items"]
    if how == "unfitted":
        fitted.clear()
    elif how == "another encoder":
        TableClassifier(random_state=0).fit(frame.drop(columns="size"), y).save(path)
        other = _container.read(path)[1]["value"]["fitted"]["items"]
        encoder = next(pair for pair in other if pair[0] == "encoder_")
        fitted[:] = [encoder if pair[0] == "encoder_" else pair for pair in fitted]
    else:
        fitted[:] = [pair for pair in fitted if pair[0] != "classifier_"]
    _container.write(
        path, arrays, {k: v for k, v in contents.items() if k not in ("format", "sha256")}
    )
    with pytest.raises(ModelFileError, match=r"a\.torte cannot be made into a model"):
        torte.load(path)
