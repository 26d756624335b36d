"""A table with a target: rows, labels and weights, or one sentence about what is wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["Labeled", "Wanted", "labels_of", "read_labeled", "read_wanted"]

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")


@dataclass(frozen=True)
class Labeled:
    """Rows of a table apart from their labels; ``unlabeled`` rows had none and are left out."""

    X: pd.DataFrame
    y: np.ndarray
    weights: np.ndarray | None
    unlabeled: int


def _demand_column(column: str, frame: pd.DataFrame, table: str, option: str) -> None:
    from torte.errors import InvalidInput

    names = [str(name) for name in frame.columns]
    if column in names:
        return
    close = difflib.get_close_matches(column, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, names[:20]))}."
    raise InvalidInput(f"`{option}` names {column!r}, but `{table}` has no such column; {hint}")


def labels_of(column: pd.Series, name: str) -> np.ndarray:
    """Labels as whole numbers where all are written so, else as text, exactly as they are written."""
    import numpy as np

    from torte.errors import InvalidInput

    values = column.to_numpy()
    if values.dtype.kind in "biu":
        return values
    if values.dtype.kind in "f":
        whole = values.astype(np.int64)
        if (whole != values).any():
            raise InvalidInput(_measured(name, values[whole != values][0]))
        return whole
    texts = column.astype(str).to_numpy(dtype=str)
    distinct = np.unique(texts).tolist()
    if all(_WHOLE.fullmatch(text) for text in distinct):
        return texts.astype(np.int64)
    numbers = [text for text in distinct if _is_number(text)]
    if len(numbers) == len(distinct) and any(float(text) % 1 for text in numbers):
        raise InvalidInput(_measured(name, next(t for t in numbers if float(t) % 1)))
    return texts


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _measured(name: str, value: object) -> str:
    return (
        f"the target column {name!r} holds measured numbers such as {value}, and a classifier learns classes; "
        f"give a column of classes, or cut the numbers into ranges."
    )


def _weights(frame: pd.DataFrame, column: str) -> np.ndarray:
    import numpy as np

    from torte.errors import InvalidInput

    values = frame[column].to_numpy()
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all() or values.min() < 0:
        raise InvalidInput(
            f"the weight column {column!r} must hold a number of at least 0 in every row; correct it, or leave "
            f"--weight out."
        )
    return values.astype(float)


def read_labeled(
    table: str,
    target: str,
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weight: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    missing: Collection[str] = (),
) -> Labeled:
    """A table's rows, labels and weights; rows without a label are counted and left out.

    The columns of ``categorical`` are names of categories even where they look like numbers.
    """
    import numpy as np

    from torte.errors import InvalidInput
    from torte.tabular import read_table

    text = [target, *categorical]
    frame = read_table(table, format=format, delimiter=delimiter, missing=missing, text=text)
    for column, option in [
        (target, "--target"),
        *((column, "--drop") for column in drop),
        *((column, "--categorical") for column in categorical),
        *([(weight, "--weight")] if weight else []),
    ]:
        _demand_column(column, frame, table, option)
        if column == target and option in ("--drop", "--weight"):
            raise InvalidInput(
                f"`{option}` names {column!r}, which is the target; name another column, or leave the option out."
            )
    for column in categorical:
        frame[column] = frame[column].astype("category")
    known = frame[target].notna()
    unlabeled = int((~known).sum())
    frame = frame[known].reset_index(drop=True) if unlabeled else frame
    y = labels_of(frame[target], target) if len(frame) else np.zeros(0)
    classes = np.unique(y).tolist()
    if len(classes) < 2:
        held = f"one class, {classes[0]!r}," if classes else "no label"
        raise InvalidInput(
            f"the target column {target!r} holds {held} in all {len(frame)} rows; a classifier needs two or more."
        )
    if len(classes) == len(y) > 2:
        raise InvalidInput(
            f"the target column {target!r} has another label in each of its {len(y)} rows, so nothing can be "
            f"learned about any; is it a key or a measurement?"
        )
    weights = _weights(frame, weight) if weight else None
    X = frame.drop(columns=list({target, *drop, *([weight] if weight else [])}))
    if not X.shape[1]:
        raise InvalidInput(f"`{table}` has no column left to learn from beside {target!r}.")
    return Labeled(X, y, weights, unlabeled)


@dataclass(frozen=True)
class Wanted:
    """The columns of a table that a model wants, and true labels where they are at hand."""

    X: pd.DataFrame
    y: np.ndarray | None
    unlabeled: int


def _known_labels(column: pd.Series, name: str, classes: np.ndarray) -> np.ndarray:
    """Labels as the model has them, found by how they are written."""
    import numpy as np

    from torte.errors import InvalidInput

    def written(label: object) -> str:
        whole = isinstance(label, float) and label.is_integer()
        return str(int(label) if whole else label)  # type: ignore[call-overload]

    known = {text: i for i, c in enumerate(classes.tolist()) for text in (written(c), str(c))}
    texts = [str(cell) if isinstance(cell, str) else written(cell) for cell in column.tolist()]
    strange = next((text for text in texts if text not in known), None)
    if strange is not None:
        raise InvalidInput(
            f"the target column {name!r} holds {strange!r}, and the model knows the classes "
            f"{', '.join(map(str, classes[:20]))}{', ...' * (len(classes) > 20)}; name another column with --target, or "
            f"leave such rows out."
        )
    return classes[np.array([known[text] for text in texts], dtype=int)]


def read_wanted(
    table: str,
    columns: Sequence[str] | None,
    target: str | None,
    classes: np.ndarray,
    *,
    text: Collection[str] = (),
    measured: Collection[str] = (),
    format: str | None = None,
    delimiter: str | None = None,
    missing: Collection[str] = (),
) -> Wanted:
    """A table's columns that a model wants, and labels; rows without one are left out and counted."""
    from torte.errors import InvalidInput
    from torte.tabular import read_table

    keep = [*text, target] if target else list(text)
    frame = read_table(
        table, format=format, delimiter=delimiter, missing=missing, text=keep, measured=measured
    )
    if target is not None:
        _demand_column(target, frame, table, "--target")
    names = [str(name) for name in frame.columns if name != target]
    wanted = names if columns is None else list(columns)
    absent = [name for name in wanted if name not in names]
    if absent:
        raise InvalidInput(
            f"`{table}` lacks the column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent))} of the model; it has "
            f"{', '.join(map(repr, names[:20]))}."
        )
    if target is None:
        return Wanted(frame[wanted], None, 0)
    labeled = frame[frame[target].notna()].reset_index(drop=True)
    if not len(labeled):
        raise InvalidInput(
            f"the target column {target!r} holds no label in all {len(frame)} rows; leave --target out, or name "
            f"another column."
        )
    y = _known_labels(labeled[target], target, classes)
    return Wanted(labeled[wanted], y, len(frame) - len(labeled))
