"""The classifiers that a table's learner is compared with, each with the encoding it needs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

__all__ = ["baselines"]

_NUMBERS = make_column_selector(dtype_include=["number", "bool"])
_DATES = make_column_selector(dtype_include=["datetime", "datetimetz"])
_LEVELS = make_column_selector(dtype_exclude=["number", "bool", "datetime", "datetimetz"])


def _days(frame: pd.DataFrame) -> pd.DataFrame:
    """Dates as days since 1970, a missing one as NaN."""
    start = pd.Timestamp(0)
    naive = frame.apply(lambda c: c.dt.tz_localize(None) if c.dt.tz is not None else c)
    return naive.apply(lambda c: (c - start) / pd.Timedelta(days=1))


def _floats(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(float)


def _for_lines() -> ColumnTransformer:
    """Standardized numbers, missing ones filled and marked, and one column for every level."""
    numbers = make_pipeline(
        FunctionTransformer(_floats), SimpleImputer(add_indicator=True), StandardScaler()
    )
    dates = make_pipeline(
        FunctionTransformer(_days), SimpleImputer(add_indicator=True), StandardScaler()
    )
    levels = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer(
        [("numbers", numbers, _NUMBERS), ("dates", dates, _DATES), ("levels", levels, _LEVELS)]
    )


def _for_trees() -> ColumnTransformer:
    """Numbers as they are, NaN where missing, and a code for every level."""
    levels = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=250,  # histograms of scikit-learn's boosting have 255 bins
    )
    return ColumnTransformer(
        [
            ("levels", levels, _LEVELS),
            ("numbers", FunctionTransformer(_floats), _NUMBERS),
            ("dates", FunctionTransformer(_days), _DATES),
        ]
    )


def baselines(frame: pd.DataFrame, seed: int = 0) -> dict[str, Pipeline]:
    """Unfitted pipelines for tables with these columns; LightGBM where it is installed.

    >>> import pandas as pd
    >>> from torte.baselines import baselines
    >>> list(baselines(pd.DataFrame({"size": [1.0], "color": ["red"]})))[:3]
    ['logistic-regression', 'random-forest', 'gradient-boosting']
    """
    levels = list(range(len(_LEVELS(frame))))  # in the order of _for_trees
    found: dict[str, tuple[Any, Any]] = {
        "logistic-regression": (_for_lines(), LogisticRegression(max_iter=1000)),
        "random-forest": (_for_trees(), RandomForestClassifier(300, random_state=seed, n_jobs=-1)),
        "gradient-boosting": (
            _for_trees(),
            HistGradientBoostingClassifier(categorical_features=levels, random_state=seed),
        ),
    }
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier

        booster = LGBMClassifier(random_state=seed, verbose=-1, categorical_column=levels, n_jobs=0)
        found["lightgbm"] = (_for_trees(), booster)
    return {
        name: Pipeline([("encoding", encoding), ("model", model)])
        for name, (encoding, model) in found.items()
    }
