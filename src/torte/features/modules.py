"""Any ``torch.nn.Module`` as a feature map: a recipe on the estimator, weights in what was fitted."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from torte.errors import InvalidInput
from torte.features.networks import WeightedMap
from torte.parameters import drawn

__all__ = ["Module"]

# What torch raises where shapes, types or arguments do not fit; memory that is out is none of them.
_MISFITS = (RuntimeError, TypeError, ValueError, IndexError, AttributeError)
_SOME = 100  # rows that running statistics first meet
_PASSES = 44  # a running mean with torch's momentum of 0.1 is then within a hundredth


def _made(recipe: Callable[[], Any]) -> nn.Module:
    """The module that the recipe makes."""
    try:
        module = recipe()
    except _MISFITS as error:
        raise InvalidInput(
            f"`recipe` of Module must make a module when it is called without arguments, got {type(error).__name__}: "
            f"{error}; give its arguments beforehand, as in functools.partial(nn.Linear, 4, 16)."
        ) from error
    if not isinstance(module, nn.Module):
        raise InvalidInput(
            f"`recipe` of Module must return a torch.nn.Module, got {type(module).__name__}."
        )
    return module


def _is_lazy(module: nn.Module) -> bool:
    return any(map(nn.parameter.is_lazy, [*module.parameters(), *module.buffers()]))


@dataclass(frozen=True)
class Module(WeightedMap):
    """Any ``torch.nn.Module`` as a feature map.

    ``recipe`` is called once, without arguments, and returns the module (a class, a function or
    ``functools.partial``); it is given rows (n x d), so a network of images begins with
    ``nn.Unflatten``. Its parameters are learned, its buffers (running statistics) are what
    learning left in them.

    >>> from functools import partial
    >>> from torch import nn
    >>> from torte.features import Module
    >>> map = Module(partial(nn.Linear, 4, 16))
    """

    recipe: Callable[[], nn.Module] | None = None
    module: nn.Module | None = drawn()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.recipe, nn.Module) or not callable(self.recipe):
            raise InvalidInput(
                f"`recipe` of Module must be a function or class that returns a new torch.nn.Module, got {self.recipe!r}; "
                f"for a module that exists already give the function that makes it."
            )

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        if self.weights is not None:  # learning goes on in a copy: this map keeps its buffers
            return self.substitute({("module",): copy.deepcopy(self.module)})
        assert self.recipe is not None
        seed = int(torch.randint(2**31, (), generator=generator))
        with torch.random.fork_rng(
            devices=[]
        ):  # modules draw from the global generator: a copy of it
            torch.manual_seed(seed)
            module = _made(self.recipe)
            if _is_lazy(module):  # its layers take their shapes from the first rows they see
                _call(module.eval(), {}, X[:2].float().cpu())
            module.double()
            if X.shape[1] > 0:  # a file brings its own buffers, and no table
                _acquaint(module, X)
        flat = [p.detach().double().cpu().flatten() for p in module.parameters()]
        weights = torch.cat([*flat, torch.zeros(0, dtype=torch.float64)]).numpy()
        return self.substitute({("weights",): weights, ("module",): module})

    def unfold(self, flat: Tensor) -> Any:
        assert self.module is not None
        parts, at = {}, 0
        for name, parameter in self.module.named_parameters():
            parts[name] = flat[at : at + parameter.numel()].view(parameter.shape)
            at += parameter.numel()
        for name, buffer in self.module.named_buffers():
            dtype = flat.dtype if buffer.is_floating_point() else buffer.dtype
            parts[name] = buffer.to(flat.device, dtype, copy=True)
        return parts

    def apply(self, state: Any, X: Tensor) -> Tensor:
        assert self.module is not None
        self.module.train(self.noise is not None)
        if self.noise is None:
            return _call(self.module, state, X)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (), generator=self.noise)))
            Z = _call(self.module, state, X)
        # In float64, whatever the precision of a step: the next one begins with them.
        for name, buffer in self.module.named_buffers():
            buffer.copy_(state[name].detach())
        return Z


def _acquaint(module: nn.Module, X: Tensor) -> None:
    """Bring buffers that follow the rows to these, as steps of learning would.

    A kernel on the map takes its length scale from features, and statistics never seen (mean 0,
    variance 1) would give it the features of another table.
    """
    some = torch.linspace(0, len(X) - 1, min(_SOME, len(X))).long().to(X.device)
    rows = X[some].double().cpu()
    floating = [buffer for buffer in module.buffers() if buffer.is_floating_point()]
    module.train()
    for _ in range(_PASSES if floating else 0):
        before = [buffer.clone() for buffer in floating]
        with torch.no_grad():
            _call(module, {}, rows)
        if all(
            torch.allclose(b, a, rtol=1e-3, atol=0) for a, b in zip(before, floating, strict=True)
        ):
            break


def _call(module: nn.Module, state: dict[str, Tensor], X: Tensor) -> Tensor:
    try:
        return torch.func.functional_call(module, state, (X,))
    except torch.OutOfMemoryError:
        raise
    except _MISFITS as error:
        raise InvalidInput(
            f"`recipe` of Module must make a module that takes rows of {X.shape[1]} numbers, got "
            f"{type(error).__name__}: {error}; begin it with that many inputs, or with nn.Unflatten."
        ) from error
