"""The same kernel seen otherwise: on some columns, on a feature map, partly fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.algebra import text
from torte.kernels.base import Domain, Kernel
from torte.maps import FeatureMap, features_of
from torte.objects import Records
from torte.parameters import Leaf

__all__ = ["Composed", "Fixed", "On"]


@dataclass(frozen=True)
class View(Kernel):
    """A kernel of what is seen of the rows: `represent` differs, the rest is the kernel's own."""

    kernel: Kernel

    def represent(self, X: Any) -> Any:
        return self.kernel.represent(X)

    def compare(self, A: Any, B: Any) -> Tensor:
        return self.kernel.compare(A, B)

    def against(self, B: Any) -> Callable[[Any], Tensor]:
        return self.kernel.against(B)

    def norms(self, A: Any) -> Tensor:
        return self.kernel.norms(A)

    def supremum(self, domain: Domain = None) -> Any:
        return self.kernel.supremum(domain)


@dataclass(frozen=True)
class On(View):
    """A kernel that sees some columns only; names are found when the estimator is fitted.

    >>> import numpy as np
    >>> from torte.kernels import Linear
    >>> Linear().on(1)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 4.,  8.],
           [ 8., 16.]])
    """

    columns: tuple[Any, ...]
    positions: tuple[int, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = tuple(self.columns)
        whole = all(
            isinstance(c, (int, np.integer)) and not isinstance(c, bool) and c >= 0 for c in columns
        )
        if not columns or not (whole or all(isinstance(c, str) for c in columns)):
            raise InvalidInput(
                f"`columns` of .on() must be positions (0, 1, ...) or names of columns, got {self.columns!r}."
            )
        object.__setattr__(self, "columns", tuple(int(c) for c in columns) if whole else columns)
        if whole:
            object.__setattr__(self, "positions", self.columns)

    @property
    def takes(self) -> str:
        return "columns" if self.kernel.takes in ("vectors", "columns") else "records"

    def _select(self, X: Any) -> Any:
        if self.positions is None:
            raise InvalidInput(
                f"`columns` {self.columns!r} of .on() are names, which are found in the data frame "
                f"given to fit; use positions to evaluate the kernel on an array."
            )
        if isinstance(X, Records):
            return X.select(self.positions, self.kernel.takes)
        return X[:, list(self.positions)]

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        positions = self.positions
        if isinstance(self.columns[0], str):
            missing = [c for c in self.columns if c not in list(columns or [])]
            if missing:
                have = (
                    ", ".join(map(repr, columns))
                    if columns is not None
                    else "no names (X is an array)"
                )
                raise InvalidInput(
                    f"`columns` of .on() names {', '.join(map(repr, missing))}, but X has {have}; "
                    f"give fit a data frame with these columns, or use positions."
                )
            positions = tuple(list(columns or []).index(c) for c in self.columns)
        assert positions is not None
        width = len(X.names) if isinstance(X, Records) else X.shape[1]
        if max(positions) >= width:
            raise InvalidInput(
                f"`columns` of .on() asks for position {max(positions)}, but X has {width} columns."
            )
        here = self.substitute({("positions",): positions})
        names = None if columns is None else [columns[p] for p in positions]
        return here.substitute(
            {("kernel",): self.kernel.prepare(here._select(X), names, generator)}
        )

    def represent(self, X: Any) -> Any:
        return self.kernel.represent(self._select(X))

    def supremum(self, domain: Domain = None) -> Any:
        if domain is not None:
            low, high = domain
            domain = low[list(self.positions or ())], high[list(self.positions or ())]
        return self.kernel.supremum(domain)

    def __repr__(self) -> str:
        return f"{text(self.kernel, 4)}.on({', '.join(map(repr, self.columns))})"


@dataclass(frozen=True)
class Composed(View):
    """``k(x, y) = kernel(phi(x), phi(y))``: any kernel on any feature map, ``kernel @ map``."""

    features: FeatureMap

    takes = "vectors"  # those that the map takes

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        features = self.features.prepare(X, columns, generator)
        with torch.no_grad():
            Z = features_of(features, features.settle(X), X)
            kernel = self.kernel.prepare(Z, None, generator)
        return self.substitute({("kernel",): kernel, ("features",): features})

    def represent(self, X: Any) -> Any:
        return self.kernel.represent(features_of(self.features, self.features.settle(X), X))

    def supremum(self, domain: Domain = None) -> Any:
        return self.kernel.supremum(self.features.image(domain))

    def __repr__(self) -> str:
        return f"{text(self.kernel, 4)} @ {self.features!r}"


@dataclass(frozen=True)
class Fixed(View):
    """A kernel some of whose hyperparameters (all, where none is named) are not learned.

    >>> from torte.kernels import Periodic
    >>> Periodic(period=24.0).fix("period")
    Periodic(period=24.0).fix('period')
    """

    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = [f.name for f in fields(self.kernel) if "constraint" in f.metadata]
        unknown = [name for name in self.names if name not in known]
        if unknown:
            raise InvalidInput(
                f"`names` of .fix() must be hyperparameters of {type(self.kernel).__name__} "
                f"({', '.join(known) or 'it has none of its own'}), got {unknown[0]!r}."
            )

    def leaves(self) -> Iterator[Leaf]:
        for leaf in super().leaves():
            if self.names and leaf.path[1] not in self.names:
                yield leaf

    def __repr__(self) -> str:
        return f"{text(self.kernel, 4)}.fix({', '.join(map(repr, self.names))})"
