"""What a kernel is, and the arithmetic of kernels.

A kernel is a frozen value. It works in two acts: `represent` prepares rows once (scales
them, runs them through a map, counts substrings), `compare` turns two representations
into a block of the gram matrix. Learning, blocks and prediction know only these two.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput, NoSupremum
from torte.maps import Domain, FeatureMap
from torte.objects import Objects, Pairs, Records, cut, items_of
from torte.parameters import Parametric

__all__ = ["Domain", "Kernel", "count", "rows", "wrap"]


def rows(representation: Any, start: int, stop: int) -> Any:
    """Rows ``start:stop`` of a representation: of a tensor, a `Part`, or a tuple of such."""
    return cut(representation, slice(start, stop))


def count(representation: Any) -> int:
    """The number of rows of a representation."""
    return count(representation[0]) if isinstance(representation, tuple) else len(representation)


@dataclass(frozen=True)
class Kernel(Parametric):
    """A positive definite function ``k(x, y)``; write `compare`, and `represent` if it helps.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from torte.kernels import Kernel, positive
    >>> @dataclass(frozen=True)
    ... class Tent(Kernel):
    ...     width: float = positive(1.0)
    ...     def compare(self, X, Y):
    ...         return (1 - (X - Y.mT).abs() / self.width).clamp(min=0)
    >>> (2.0 * Tent(3.0))(np.array([[0.0], [1.5]]))
    array([[2., 1.],
           [1., 2.]])
    """

    @property
    def takes(self) -> str:
        """What its rows are: "vectors", "objects", "pairs" (similarities), "columns" or "records".

        A kernel on objects says ``takes = "objects"`` and is given `torte.objects.Objects`; a
        composite takes what its parts take. "columns" are some of a vector's, "records" have
        columns of any kind.
        """
        parts = [getattr(self, part.name) for part in fields(self)]
        each = {part.takes for part in parts if isinstance(part, Kernel)} - {"anything"}
        if not each:
            return "vectors"
        if len(each) == 1:
            return each.pop()
        if each == {"vectors", "columns"}:
            return "vectors"
        if each != {"columns", "records"}:
            raise InvalidInput(
                f"`kernel` {self!r} has parts on {' and on '.join(sorted(each))}, and X can be only one of these; give X "
                f"as a data frame and say with .on() which columns each part sees."
            )
        return "records"

    @property
    def pairwise(self) -> bool:
        """Whether some part takes "pairs": cross-validation must then cut both sides of X."""
        parts = [getattr(self, part.name) for part in fields(self)]
        return self.takes == "pairs" or any(
            part.pairwise for part in parts if isinstance(part, Kernel)
        )

    @abstractmethod
    def compare(self, A: Any, B: Any) -> Tensor:
        """``k(a_i, b_j)`` for the rows of two representations (n x k), on torch's tape."""

    def represent(self, X: Any) -> Any:
        """What `compare` needs of the rows of X, computed once; X itself by default."""
        return X

    def against(self, B: Any) -> Callable[[Any], Tensor]:
        """``A -> compare(A, B)``, with what needs B alone done once; for prediction, off the tape."""
        return lambda A: self.compare(A, B)

    def norms(self, A: Any) -> Tensor:
        """``k(a_i, a_i)`` for the rows of a representation, n numbers."""
        single = [self.compare(rows(A, i, i + 1), rows(A, i, i + 1)) for i in range(count(A))]
        return torch.cat(single).flatten()

    def supremum(self, domain: Domain = None) -> Any:
        """``sup k(x, x)``, the paper's alpha squared, over a box ``(low, high)`` or everywhere.

        Of a sum or a product it is the sum or product of the parts' suprema, an upper bound.
        Raises `NoSupremum` where there is none.
        """
        where = "on all inputs" if domain is None else "known on this domain"
        raise NoSupremum(
            f"{self!r} has no finite supremum of k(x, x) {where}, and the bound needs one; use a "
            f"bounded kernel such as Gaussian(), or give `domain=(low, high)`, the box that the "
            f"inputs stay in."
        )

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        """The same kernel with everything that was left to the data taken from it."""
        changes: dict[tuple[str, ...], Any] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, Kernel):
                changes[(part.name,)] = value.prepare(X, columns, generator)
        return self.substitute(changes) if changes else self

    # -- values -----------------------------------------------------------------------

    def gram(self, X: Any, Y: Any = None) -> Tensor:
        """The gram matrix ``k(x_i, y_j)`` (n x k) of two tables, on torch's tape."""
        A = self.represent(X)
        return self.compare(A, A if Y is None else self.represent(Y))

    def diagonal(self, X: Any) -> Tensor:
        """``k(x_i, x_i)`` for the rows of X, n numbers."""
        return self.norms(self.represent(X))

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """The gram matrix: of NumPy arrays and objects as a NumPy array, of tensors as a tensor."""
        if isinstance(X, Tensor):
            return self.gram(X, Y)
        with torch.no_grad():
            A = wrap(X, self.takes)
            return self.gram(A, None if Y is None else wrap(Y, self.takes)).contiguous().numpy()

    # -- arithmetic: the classes are in algebra.py and views.py, which import this one -----

    def _combined(self, name: str, *operands: Any) -> Any:
        """``operands`` as a Sum, a Product or the like; numbers are lifted to constants."""
        lifted = [_lift(operand) for operand in operands]
        if any(part is None for part in lifted):
            return NotImplemented
        return Parametric.registry[name](*lifted)

    def __add__(self, other: Any) -> Kernel:
        return self._combined("Sum", self, other)

    def __radd__(self, other: Any) -> Kernel:
        if isinstance(other, (int, float)) and other == 0:  # sum([k1, k2]) starts at 0
            return self
        return self._combined("Sum", other, self)

    def __mul__(self, other: Any) -> Kernel:
        return self._combined("Product", self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return self._combined("Product", other, self)

    def __pow__(self, exponent: Any) -> Kernel:
        return Parametric.registry["Power"](self, exponent)  # type: ignore[call-arg, return-value]

    def __matmul__(self, other: Any) -> Kernel:
        if not isinstance(other, FeatureMap):
            return NotImplemented
        return Parametric.registry["Composed"](self, other)  # type: ignore[call-arg, return-value]

    def on(self, *columns: Any) -> Kernel:
        """The kernel on some columns only, by position or by name: ``.on("age", "fare")``."""
        if len(columns) == 1 and isinstance(columns[0], (list, tuple)):
            columns = tuple(columns[0])
        return Parametric.registry["On"](self, columns)  # type: ignore[call-arg, return-value]

    def fix(self, *names: str) -> Kernel:
        """The kernel with these hyperparameters kept as they are; all of them without a name."""
        return Parametric.registry["Fixed"](self, names)  # type: ignore[call-arg, return-value]


def wrap(X: Any, takes: str) -> Any:
    """Rows as a kernel takes them, in float64."""
    if isinstance(X, (Objects, Pairs, Records)):
        return X
    if takes == "objects":
        return Objects(items_of(X))
    if takes == "records":
        return Records.of(X)
    # torch shares memory, and warns of read-only one.
    values = torch.as_tensor(np.require(X, np.float64, "W"))
    return Pairs(values) if takes == "pairs" else values


def _lift(operand: Any) -> Any:
    """A kernel as it is, a number as a `Constant`, None for anything else."""
    number = isinstance(operand, (int, float, np.floating, np.integer))
    if number and not isinstance(operand, bool):
        return Parametric.registry["Constant"](float(operand))  # type: ignore[call-arg]
    return operand if isinstance(operand, Kernel) else None
