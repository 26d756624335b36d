"""Rows that are no vectors: objects, rows of a similarity matrix, records of unlike columns.

Each has a length and is cut, like a table of numbers, by slices and by tensors of positions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput

__all__ = ["Objects", "Pairs", "Part", "Records", "Rows", "cut", "items_of"]


class Part(ABC):
    """A part of a representation that is no tensor; cut by slices and by tensors of positions."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, at: Any) -> Self: ...


def cut(representation: Any, at: Any) -> Any:
    """Some rows of a representation: of a tensor, a `Part`, or a tuple of such."""
    if isinstance(representation, tuple):
        return tuple(cut(part, at) for part in representation)
    return representation[at]


def items_of(X: Any) -> list[Any]:
    """The rows of a list, a column of a data frame or a one-dimensional array, as a list."""
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise InvalidInput(
            f"X must be a list or a one-dimensional array of objects, one for each row, got {type(X).__name__}."
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == object and X.shape[1] == 1:
        X = X[:, 0]
    if getattr(X, "ndim", 1) == 2 and hasattr(X, "columns"):
        raise InvalidInput(
            f"X must be a list or a one-dimensional array of objects, got a data frame of {X.shape[1]} columns; say with "
            f".on('column') which one the kernel sees."
        )
    return X.to_list() if hasattr(X, "to_list") else list(X)


class Rows(ABC):
    """Rows that remember what was computed of them, and of which rows they are a part.

    A part computes nothing: it cuts what its whole computed, so that counting the substrings
    of a table is done once, whatever batches and blocks it is seen in.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device):
        self.dtype, self.device = dtype, device
        self._whole: Any = self
        self._at: Any = None
        self._known: dict[Hashable, Any] = {}
        # Products of these rows with each other that a kernel keeps between steps of learning.
        self.products: dict[Hashable, Tensor] = {}
        self.kept = 0

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _part(self, at: np.ndarray) -> Self:
        """A new value with only the rows at these positions."""

    def __getitem__(self, at: slice | Tensor | np.ndarray) -> Self:
        if isinstance(at, slice):
            at = np.arange(len(self))[at]
        elif isinstance(at, Tensor):
            at = at.cpu().numpy()
        part = self._part(at)
        part._whole = self._whole
        part._at = at if self._at is None else self._at[at]
        return part

    def once(self, key: Hashable, compute: Callable[[Self], Any]) -> Any:
        """``compute(rows)``, a representation of all rows, computed once and cut to these."""
        if key not in self._known:
            if self._at is None:
                self._known[key] = compute(self)
            else:
                at = torch.as_tensor(self._at)
                self._known[key] = cut(self._whole.once(key, compute), at)
        return self._known[key]

    def tensor(self, values: Any) -> Tensor:
        """Numbers in the precision and on the device of the fit."""
        return torch.as_tensor(values).to(dtype=self.dtype, device=self.device)


class Objects(Rows):
    """A column of objects of any kind: strings, sequences, graphs, bags of vectors.

    >>> import torch
    >>> from torte.objects import Objects
    >>> Objects(["a", "bc", "d"])[torch.tensor([2, 0])].items
    ['d', 'a']
    """

    def __init__(
        self,
        items: Sequence[Any],
        dtype: torch.dtype = torch.float64,
        device: torch.device = torch.device("cpu"),  # noqa: B008 - an immutable value
    ):
        super().__init__(dtype, device)
        self.items = list(items)

    def __len__(self) -> int:
        return len(self.items)

    def _part(self, at: np.ndarray) -> Self:
        return type(self)([self.items[i] for i in at], self.dtype, self.device)


class Pairs:
    """Rows of a similarity matrix: ``values`` (n x N or n x N x k) to N anchors.

    ``positions`` (n) are the rows' own places among the anchors, -1 for rows that are none.

    >>> import torch
    >>> from torte.objects import Pairs
    >>> Pairs(torch.eye(3))[1:].positions
    tensor([1, 2])
    """

    def __init__(self, values: Tensor, positions: Tensor | None = None):
        if positions is None:
            same = values.shape[0] == values.shape[1]
            positions = torch.arange(len(values)) if same else torch.full((len(values),), -1)
        self.values, self.positions = values, positions.to(values.device)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the values."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Where the values are."""
        return self.values.device

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: Any) -> Pairs:
        return Pairs(self.values[at], self.positions[at])


class Records(Rows):
    """Rows of unlike columns: numbers, objects, and similarities to all other rows.

    Data frames become this by themselves. Made by hand it also takes similarity matrices
    (n x n) beside columns, and scikit-learn's cross-validation cuts both of their sides.

    Parameters
    ----------
    columns : mapping
        Name to a column of n numbers or objects.
    pairs : mapping or None
        Name to a matrix, square at fit, n_test x n_train at predict.

    >>> import numpy as np
    >>> from torte.objects import Records
    >>> X = Records({"age": [3, 5], "name": ["Ann", "Bo"]}, {"likeness": np.eye(2)})
    >>> X.names, len(X), X.shape
    (['age', 'name', 'likeness'], 2, (2, 2))
    """

    def __init__(
        self,
        columns: Any,
        pairs: Any = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device = torch.device("cpu"),  # noqa: B008 - an immutable value
    ):
        super().__init__(dtype, device)
        self.columns = {name: _column(values) for name, values in columns.items()}
        self.pairs = {name: np.asarray(values) for name, values in (pairs or {}).items()}
        self.at_fit = True
        lengths = {name: len(part) for name, part in (self.columns | self.pairs).items()}
        if len(set(lengths.values())) != 1:
            raise InvalidInput(
                f"`columns` and `pairs` of Records must all have the same number of rows, got {lengths}."
            )
        self._length = next(iter(lengths.values()))

    @classmethod
    def of(cls, X: Any) -> Self:
        """The records of a data frame, or of a two-dimensional array with columns 0, 1, ..."""
        if isinstance(X, cls):
            return X
        if hasattr(X, "columns"):
            return cls({name: X[name] for name in X.columns})
        table = np.asarray(X, dtype=object)
        if table.ndim != 2:
            raise InvalidInput(
                f"X must be a data frame or a two-dimensional array, whose columns .on() names, got {table.ndim} "
                f"dimension(s)."
            )
        return cls(dict(enumerate(table.T)))

    @property
    def names(self) -> list[Any]:
        """Names of the columns, then of the matrices."""
        return [*self.columns, *self.pairs]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and what scikit-learn compares with them: anchors where there are matrices."""
        wide = [matrix.shape[1] for matrix in self.pairs.values()]
        return self._length, wide[0] if wide else len(self.columns)

    def __len__(self) -> int:
        return self._length

    def _part(self, at: np.ndarray) -> Self:
        columns = {name: column[at] for name, column in self.columns.items()}
        pairs = {name: matrix[at] for name, matrix in self.pairs.items()}
        part = type(self)(columns, pairs, self.dtype, self.device)
        part.at_fit = self.at_fit
        return part

    def __getitem__(self, at: Any) -> Self:
        if not isinstance(at, tuple):
            return super().__getitem__(at)
        here, there = (np.asarray(side).ravel() for side in at)  # numpy.ix_, of scikit-learn
        columns = {name: column[here] for name, column in self.columns.items()}
        pairs = {name: matrix[np.ix_(here, there)] for name, matrix in self.pairs.items()}
        return type(self)(columns, pairs, self.dtype, self.device)

    def admitted(self, dtype: torch.dtype, device: torch.device, at_fit: bool) -> Self:
        """The same rows in the precision and on the device of a fit."""
        new = type(self)(self.columns, self.pairs, dtype, device)
        new.at_fit = at_fit
        return new

    def select(self, positions: Sequence[int], takes: str) -> Any:
        """Columns as what a kernel takes: a table of numbers, `Objects`, `Pairs` or `Records`."""
        names = [self.names[position] for position in positions]
        if takes == "records":
            return self.once(("records", *names), lambda whole: whole._some(names))
        if takes in ("vectors", "columns"):
            return self.once(("vectors", *names), lambda whole: whole._numbers(names))
        if len(names) > 1:
            raise InvalidInput(
                f"`columns` of .on() must be one column for a kernel on {takes}, got {', '.join(map(repr, names))}; "
                f"add or multiply a kernel for each."
            )
        return self.once((takes, names[0]), lambda whole: whole._one(names[0], takes))

    def _some(self, names: Sequence[Any]) -> Records:
        columns = {name: self.columns[name] for name in names if name in self.columns}
        pairs = {name: self.pairs[name] for name in names if name in self.pairs}
        return Records(columns, pairs).admitted(self.dtype, self.device, self.at_fit)

    def _one(self, name: Any, takes: str) -> Objects | Pairs:
        if (takes == "pairs") != (name in self.pairs):
            found = "a similarity matrix" if name in self.pairs else "an ordinary one"
            raise InvalidInput(
                f"column {name!r} of X is {found}, which a kernel on {takes} does not take; matrices are given as "
                f"Records(columns, pairs={{name: matrix}}) and seen by Precomputed()."
            )
        if takes == "objects":
            return Objects(self.columns[name].tolist(), self.dtype, self.device)
        positions = None if self.at_fit else torch.full((len(self),), -1)
        return Pairs(self.tensor(self.pairs[name]), positions)

    def _numbers(self, names: Sequence[Any]) -> Tensor:
        table = np.empty((len(self), len(names)))
        for place, name in enumerate(names):
            column = self.columns.get(name)
            try:
                table[:, place] = np.asarray(column, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InvalidInput(
                    f"X must hold numbers in column {name!r}, which a kernel on vectors sees ({error}); give text to a "
                    f"kernel on objects, as in Spectrum().on({name!r})."
                ) from error
            wrong = np.flatnonzero(~np.isfinite(table[:, place]))
            if len(wrong):
                raise InvalidInput(
                    f"X must hold finite numbers, got {table[wrong[0], place]} in row {wrong[0]}, column {name!r}, and "
                    f"{len(wrong) - 1} more such cells; drop or fill them."
                )
        return self.tensor(table)


def _column(values: Any) -> np.ndarray:
    """A column as a one-dimensional array; of objects, where they are sequences themselves."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    column = np.empty(len(values), dtype=object)
    column[:] = list(values)
    return column
