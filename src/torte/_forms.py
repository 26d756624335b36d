"""Values made of known types as JSON forms and arrays, and back.

Numbers, texts, tuples, lists, dictionaries, arrays and tensors are known; every `Parametric`
(kernels, feature maps, objectives, optimizers) is stored by its fields; any other class joins by
one call of `savable`, beside its definition:

    savable(Codes)                                       # a dataclass or NamedTuple: its fields
    savable(Encoder, state=vars, restore=encoder_from)   # fields by name out; and in

In JSON a tuple is an array, and an object has under "$" the kind or the class of what it stands
for. A form names classes and never modules to import: only what is registered is constructed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput, TorteError
from torte.parameters import Parametric

__all__ = ["Decoder", "Encoder", "NeedsMore", "Recipe", "savable"]

LEVELS = 250  # of JSON objects and arrays in one another; a sum of 100 kernels has about 100
TEXTS = 2**26  # characters of an array of texts, each as long as the longest
KIND = "$"
T = TypeVar("T", bound=type)


class Stored(NamedTuple):
    """How one class is stored: its fields by name, and the way back."""

    cls: type
    state: Callable[[Any], Mapping[str, Any]]
    restore: Callable[[dict[str, Any]], Any]


_STORED: dict[str, Stored] = {}


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass or a NamedTuple that its constructor takes."""
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    return value._asdict()


def savable(
    cls: T,
    state: Callable[[Any], Mapping[str, Any]] = _fields,
    restore: Callable[[dict[str, Any]], Any] | None = None,
) -> T:
    """Let instances of ``cls`` be stored: ``state(value)`` gives fields, ``restore(fields)`` the value.

    By default these are the fields of a dataclass or NamedTuple and its constructor, so that it
    also works as a decorator. Fields may hold anything that can be stored itself.

    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> from torte.persistence import savable
    >>> @savable
    ... class Codes(NamedTuple):
    ...     levels: tuple[str, ...]
    ...     counts: np.ndarray
    """
    _STORED[cls.__name__] = Stored(cls, state, restore or (lambda fields: cls(**fields)))
    return cls


def _stored(name: str) -> Stored | None:
    """How the class of this name is stored; None where there is none."""
    if name in _STORED:
        return _STORED[name]
    cls = Parametric.registry.get(name)
    return None if cls is None else Stored(cls, _fields, lambda fields: cls(**fields))


class Recipe(NamedTuple):
    """Stands in a file for the function that makes a network: `load` is given it again."""

    make: Callable[[], Any]


class NeedsMore(TorteError):
    """The file is whole, but the caller has to bring something that it does not hold."""


class Encoder:
    """Values to JSON forms; arrays are set aside under the path that led to them."""

    def __init__(self) -> None:
        self.arrays: dict[str, Tensor] = {}
        self.modules: dict[str, str] = {}  # where classes are from that are not torte's own
        self.device = "cpu"
        self._shared: dict[int, tuple[Any, Any]] = {}  # arrays by identity, and their forms
        self._recipe: Recipe | None = None

    def form(self, value: Any, path: tuple[str, ...] = (), level: int = 0) -> Any:
        """The JSON form of a value, found at ``path`` and put ``level`` objects and arrays deep."""
        if level > LEVELS:
            raise InvalidInput(f"a model file holds at most {LEVELS} levels of nesting, got more.")
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {KIND: "float", "text": repr(value)}
        if isinstance(value, (Tensor, np.ndarray)):
            if id(value) not in self._shared:
                self._shared[id(value)] = (value, self._array(value, path))
            return self._shared[id(value)][1]
        if type(value) in (tuple, list):
            inside = level + (1 if type(value) is tuple else 2)
            items = [self.form(item, (*path, str(i)), inside) for i, item in enumerate(value)]
            return items if type(value) is tuple else {KIND: "list", "items": items}
        if type(value) is dict:
            pairs = [
                [self.form(k, path, level + 3), self.form(v, (*path, str(k)), level + 3)]
                for k, v in value.items()
            ]
            return {KIND: "dict", "items": pairs}
        if isinstance(value, Recipe):
            return self._recipe_of(value)
        return self._registered(value, path, level + 1)

    def _registered(self, value: Any, path: tuple[str, ...], level: int) -> Any:
        cls = type(value)
        stored = _stored(cls.__name__)
        if stored is None or stored.cls is not cls:
            raise _refusal(value, path)
        if cls.__module__.partition(".")[0] not in ("torte", "numpy"):
            self.modules[cls.__name__] = cls.__module__
        parts = stored.state(value).items()
        return {KIND: cls.__name__} | {k: self.form(v, (*path, k), level) for k, v in parts}

    def _recipe_of(self, value: Recipe) -> Any:
        if self._recipe is not None and self._recipe.make is not value.make:
            raise InvalidInput(
                "the model holds modules of two recipes, and a model file holds those of one; use one Module that "
                "contains both."
            )
        self._recipe = value
        return {KIND: "recipe"}

    def _array(self, value: Tensor | np.ndarray, path: tuple[str, ...]) -> Any:
        kind = "tensor"
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "UO" and value.ndim == 1:
                return self._texts(value, path)
            if value.dtype.kind not in "fiub" or value.dtype.itemsize > 8:
                raise _refusal(value, path)
            kind, value = "array", torch.from_numpy(value.astype(value.dtype.newbyteorder("=")))
        if value.layout is not torch.strided or value.dtype.is_complex:
            raise _refusal(value, path)
        if value.device.type != "cpu":
            self.device = value.device.type
        # The layout is kept: a product of matrices rounds differently in another one.
        turned = value.ndim == 2 and not value.is_contiguous() and value.mT.is_contiguous()
        name = ".".join(path) or "value"
        while name in self.arrays or name == "__metadata__":
            name += "'"
        self.arrays[name] = (value.mT if turned else value).detach().cpu().contiguous()
        return {KIND: kind, "name": name, "turned": turned}

    def _texts(self, value: np.ndarray, path: tuple[str, ...]) -> Any:
        if not all(part is None or isinstance(part, (str, int, float)) for part in value):
            raise _refusal(value, path)
        items = [self.form(part) for part in value.tolist()]
        return {KIND: "texts", "items": items, "fixed": value.dtype.kind == "U"}


def _refusal(value: Any, path: tuple[str, ...]) -> InvalidInput:
    what = type(value).__name__
    if isinstance(value, (np.ndarray, Tensor)):
        what += f" of {value.dtype}"
    return InvalidInput(
        f"`{'.'.join(path)}` of the model is a {what}, which model files do not hold; they hold numbers, texts, arrays "
        f"and classes registered with torte.persistence.savable. Register the class, or pickle the model."
    )


class Decoder:
    """JSON forms back to values; only registered classes are constructed."""

    def __init__(
        self,
        arrays: Mapping[str, Tensor],
        modules: Mapping[str, str],
        device: torch.device,
        recipe: Callable[[], Any] | None,
    ):
        self.arrays, self.modules, self.device, self.recipe = arrays, modules, device, recipe
        self._made: dict[tuple[Any, ...], Any] = {}
        self._kinds: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "float": lambda form, level: float(form["text"]),
            "list": lambda form, level: list(self.value(form["items"], level)),
            "dict": lambda form, level: dict(self.value(form["items"], level)),
            "tensor": lambda form, level: self._array(form),
            "array": lambda form, level: self._array(form),
            "texts": lambda form, level: _texts(form["items"], form["fixed"]),
            "recipe": lambda form, level: self._given_recipe(),
        }

    def value(self, form: Any, level: int) -> Any:
        """The value of a JSON form."""
        if level > LEVELS:
            raise InvalidInput("it is nested too deeply")
        if isinstance(form, list):
            return tuple(self.value(item, level + 1) for item in form)
        if not isinstance(form, dict):
            return form
        kind = form[KIND]
        if kind in self._kinds:
            return self._kinds[kind](form, level + 1)
        stored = _stored(kind)
        if stored is None:
            home = self.modules.get(kind, "another version of torte")
            raise NeedsMore(
                f"needs the class {str(kind)[:100]!r} of {str(home)[:100]}, which is not known here; import the module that "
                f"defines it before torte.load."
            )
        parts = {key: self.value(part, level + 1) for key, part in form.items() if key != KIND}
        return stored.restore(parts)

    def _array(self, form: dict[str, Any]) -> Any:
        key = (form[KIND], form["name"], form["turned"])
        if key not in self._made:  # what was shared is shared again
            stored = self.arrays[form["name"]]
            stored = stored.mT if form["turned"] else stored
            made = stored.to(self.device) if form[KIND] == "tensor" else stored.numpy()
            self._made[key] = made
        return self._made[key]

    def _given_recipe(self) -> Callable[[], Any]:
        if self.recipe is None:
            raise NeedsMore(
                "holds the weights of a Module, whose network is code, and model files hold none; give the function "
                "that makes the network: torte.load(path, recipe=...)."
            )
        return self.recipe


def _texts(items: list[Any], fixed: bool) -> np.ndarray:
    if not fixed:
        array = np.empty(len(items), dtype=object)
        array[:] = [item if isinstance(item, (str, int, float)) else None for item in items]
        return array
    if len(items) * max(map(len, items), default=0) > TEXTS:
        raise InvalidInput("it has texts too long for an array")
    return np.array([str(item) for item in items], dtype=str)
