"""Model files of tables: the encoder is inside, and an altered one is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import torte
from torte import MCEClassifier, TableClassifier, _container
from torte.errors import ModelFileError
from torte.kernels import Gaussian
from torte.tables import TableEncoder


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
