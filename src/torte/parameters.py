"""Frozen values with learnable fields, and their image as one unconstrained vector.

A kernel or a feature map is a frozen dataclass of plain numbers. A field declared with
`positive`, `fraction` or `real` is a hyperparameter: its constraint belongs to its
declaration, and the optimizer sees only the unconstrained image (a logarithm, a logit or
the number itself). `Parameters` is that image: value -> vector -> value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch

from torte._numbers import numbers_in
from torte.errors import InvalidInput

__all__ = ["Leaf", "Parameters", "Parametric", "drawn", "fraction", "positive", "real"]


@dataclass(frozen=True)
class Constraint:
    """A bijection between the allowed values and the real line."""

    name: str
    expected: str
    holds: Callable[[np.ndarray], np.ndarray]
    to_free: Callable[[np.ndarray], np.ndarray]
    from_free: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]  # d value / d free, at the value
    reach: float  # how far the free image may move from its start


CONSTRAINTS = {
    c.name: c
    for c in (
        Constraint(
            "positive",
            "a positive number",
            lambda v: v > 0,
            np.log,
            np.exp,
            lambda v: v,
            math.log(1e5),
        ),
        Constraint(
            "fraction",
            "a number strictly between 0 and 1",
            lambda v: (v > 0) & (v < 1),
            lambda v: np.log(v) - np.log1p(-v),
            lambda f: 1 / (1 + np.exp(-f)),
            lambda v: v * (1 - v),
            math.log(1e5),
        ),
        Constraint(
            "real",
            "a finite number",
            np.isfinite,
            lambda v: v,
            lambda f: f,
            np.ones_like,
            math.inf,
        ),
    )
}


def _declare(constraint: str, default: Any, optional: bool) -> Any:
    return dataclasses.field(
        default=default, metadata={"constraint": constraint, "optional": optional}
    )


def positive(default: Any = dataclasses.MISSING, *, from_data: bool = False) -> Any:
    """Declare a positive hyperparameter, learned as its logarithm.

    With ``from_data`` it may also be ``None``: the estimator then starts it from the data.
    """
    return _declare("positive", default, from_data)


def fraction(default: Any = dataclasses.MISSING, *, from_data: bool = False) -> Any:
    """Declare a hyperparameter in (0, 1), learned as its logit."""
    return _declare("fraction", default, from_data)


def drawn() -> Any:
    """Declare what `prepare` draws or takes from the data: an array, not learned, not compared."""
    return dataclasses.field(default=None, repr=False, compare=False, kw_only=True)


def real(default: Any = dataclasses.MISSING, *, from_data: bool = False) -> Any:
    """Declare an unconstrained hyperparameter, learned as it is."""
    return _declare("real", default, from_data)


@dataclass(frozen=True)
class Leaf:
    """One hyperparameter of a value: where it is, what it may be, what it is."""

    path: tuple[str, ...]
    constraint: Constraint
    value: np.ndarray
    array: bool = False  # whether the field holds an array rather than plain numbers

    @classmethod
    def of(cls, path: tuple[str, ...], constraint: str, value: Any) -> Leaf:
        """A leaf by its constraint's name."""
        numbers = np.asarray(value, dtype=np.float64)
        return cls(path, CONSTRAINTS[constraint], numbers, isinstance(value, np.ndarray))

    def plain(self, value: np.ndarray) -> Any:
        """A value of this leaf as its field holds it: a number, a tuple, or an array."""
        if self.array:
            return value.copy()
        return tuple(value.tolist()) if value.ndim else float(value)


@dataclass(frozen=True)
class Parametric:
    """A frozen value whose declared fields can be learned, printed and stored as JSON."""

    registry: ClassVar[dict[str, type[Parametric]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Parametric.registry[cls.__name__] = cls

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if "constraint" in field.metadata:
                object.__setattr__(self, field.name, self._checked(field, value))
            elif isinstance(value, np.generic):  # Python's numbers have a JSON form
                object.__setattr__(self, field.name, value.item())

    def _checked(self, field: dataclasses.Field[Any], value: Any) -> Any:
        on_tape = isinstance(value, torch.Tensor) and value.requires_grad
        if on_tape or (value is None and field.metadata["optional"]):
            return value
        constraint = CONSTRAINTS[field.metadata["constraint"]]
        expected = f"{constraint.expected} or a sequence of them"
        if field.metadata["optional"]:
            expected += ", or None to start from the data"
        numbers = numbers_in(value)
        if numbers is None or not constraint.holds(numbers).all():
            raise InvalidInput(
                f"`{field.name}` of {type(self).__name__} must be {expected}, got {value!r}."
            )
        # Of arrays, too: a field that holds an array is one of weights, which `drawn` declares.
        return float(numbers) if numbers.ndim == 0 else tuple(numbers.tolist())

    # -- hyperparameters --------------------------------------------------------------

    def leaves(self) -> Iterator[Leaf]:
        """Every hyperparameter that learning may change, in the order of declaration."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Parametric):
                for leaf in value.leaves():
                    yield dataclasses.replace(leaf, path=(field.name, *leaf.path))
            elif "constraint" in field.metadata and value is not None:
                yield Leaf.of((field.name,), field.metadata["constraint"], value)

    def substitute(self, changes: Mapping[tuple[str, ...], Any]) -> Self:
        """The same value with the fields at these paths replaced."""
        here = {path[0]: new for path, new in changes.items() if len(path) == 1}
        below: dict[str, dict[tuple[str, ...], Any]] = {}
        for path, new in changes.items():
            if len(path) > 1:
                below.setdefault(path[0], {})[path[1:]] = new
        for name, inner in below.items():
            here[name] = getattr(self, name).substitute(inner)
        return dataclasses.replace(self, **here)

    def in_training(self, generator: torch.Generator) -> Self:
        """The same value while it is learned: maps with dropout draw from the generator."""
        changes: dict[tuple[str, ...], Any] = {
            (field.name,): part.in_training(generator)
            for field in dataclasses.fields(self)
            if isinstance(part := getattr(self, field.name), Parametric)
        }
        return self.substitute(changes) if changes else self

    # -- the JSON form ----------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dictionary; `from_dict` is its inverse."""
        form: dict[str, Any] = {"type": type(self).__name__}
        for field in dataclasses.fields(self):
            form[field.name] = _encode(getattr(self, field.name))
        return form

    @staticmethod
    def from_dict(form: Mapping[str, Any]) -> Any:
        """The value that `to_dict` described; its class must have been imported."""
        name = form.get("type")
        if name not in Parametric.registry:
            raise InvalidInput(
                f"`form` names the type {name!r}, which is not known here; known are "
                f"{', '.join(sorted(Parametric.registry))}. Import the module that defines it first."
            )
        cls = Parametric.registry[str(name)]
        fields = {key: _decode(value) for key, value in form.items() if key != "type"}
        unknown = set(fields) - {f.name for f in dataclasses.fields(cls)}
        if unknown:
            raise InvalidInput(f"`form` gives {name} unknown fields: {', '.join(sorted(unknown))}.")
        return cls(**fields)


def _encode(value: Any) -> Any:
    if isinstance(value, Parametric):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_encode(part) for part in value]
    return {"array": value.tolist()} if isinstance(value, np.ndarray) else value


def _decode(value: Any) -> Any:
    if isinstance(value, Mapping) and "type" in value:
        return Parametric.from_dict(value)
    if isinstance(value, Mapping) and "array" in value:
        return np.asarray(value["array"], dtype=np.float64)
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    return value


class Parameters:
    """The hyperparameters of a value as one unconstrained vector.

    ``start`` is that vector, ``bounds`` an (N, 2) array around it. `build` gives the value
    back with tensors in its fields, each a leaf of a fresh tape; `gradient` collects what
    reached those leaves; `freeze` gives a value of plain numbers. ``floors`` are lower ends
    of some paths, ``held`` tells the leaves that stay as they are.
    """

    def __init__(
        self,
        value: Parametric,
        floors: Mapping[tuple[str, ...], float] | None = None,
        held: Callable[[Leaf], bool] = lambda leaf: False,
    ):
        self.value = value
        self.leaves = [leaf for leaf in value.leaves() if not held(leaf)]
        ends = np.cumsum([leaf.value.size for leaf in self.leaves], dtype=int)
        self._spans = [
            slice(int(end) - leaf.value.size, int(end))
            for leaf, end in zip(self.leaves, ends, strict=True)
        ]
        free = [leaf.constraint.to_free(leaf.value).ravel() for leaf in self.leaves]
        self.start = np.concatenate([*free, np.zeros(0)])
        self.bounds = np.stack([self.start, self.start], axis=1)
        for leaf, span in zip(self.leaves, self._spans, strict=True):
            self.bounds[span] += leaf.constraint.reach * np.array([-1.0, 1.0])
            if floors and leaf.path in floors:
                floor = leaf.constraint.to_free(np.asarray(floors[leaf.path]))
                self.bounds[span, 0] = np.minimum(floor, self.start[span])

    def _values_at(self, free: np.ndarray) -> list[np.ndarray]:
        return [
            leaf.constraint.from_free(free[span]).reshape(leaf.value.shape)
            for leaf, span in zip(self.leaves, self._spans, strict=True)
        ]

    def _rebuilt(self, contents: list[Any]) -> Any:
        paths = (leaf.path for leaf in self.leaves)
        return self.value.substitute(dict(zip(paths, contents, strict=True)))

    def build(
        self, free: np.ndarray, dtype: torch.dtype, device: torch.device
    ) -> tuple[Any, list[torch.Tensor]]:
        """The value at a point of the free space, with a tensor leaf for every parameter."""
        tensors = [
            torch.tensor(value, dtype=dtype, device=device, requires_grad=True)
            for value in self._values_at(free)
        ]
        return self._rebuilt(tensors), tensors

    def gradient(self, free: np.ndarray, tensors: list[torch.Tensor]) -> np.ndarray:
        """Chain rule: from the gradient at the values to the gradient at the free vector."""
        gradient = np.zeros_like(self.start)
        for leaf, span, tensor in zip(self.leaves, self._spans, tensors, strict=True):
            if tensor.grad is not None:
                slope = leaf.constraint.slope(leaf.constraint.from_free(free[span]))
                gradient[span] = tensor.grad.double().cpu().numpy().ravel() * slope
        return gradient

    def freeze(self, free: np.ndarray) -> Any:
        """The value at a point of the free space, with plain numbers in its fields."""
        return self._rebuilt(
            [
                leaf.plain(value)
                for leaf, value in zip(self.leaves, self._values_at(free), strict=True)
            ]
        )

    def spread(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum of squares of what each vector moved apart from its start, and its gradient.

        With ``delta = free - start`` of one vector-valued positive parameter (ARD length
        scales): ``sum_d (delta_d - mean(delta))^2``, zero when all moved by one factor.
        """
        total, gradient = 0.0, np.zeros_like(self.start)
        for leaf, span in zip(self.leaves, self._spans, strict=True):
            if leaf.constraint.name == "positive" and leaf.value.ndim == 1:
                delta = free[span] - self.start[span]
                delta = delta - delta.mean()
                total += float(delta @ delta)
                gradient[span] = 2 * delta
        return total, gradient
