"""What a fitted estimator consists of in a model file, and what it must be to be one again."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from torte._forms import Recipe, savable
from torte._settings import check_settings
from torte.approximations import Approximation
from torte.embedding import ConditionalEmbedding, FeatureLift, KernelLift
from torte.errors import InvalidInput
from torte.features import Module, Nystroem
from torte.kernels import Kernel
from torte.large import Solution
from torte.maps import FeatureMap
from torte.objects import cut
from torte.parameters import Parametric
from torte.routes import Route, SolvePlan
from torte.statistics import Statistics

__all__ = ["check_classifier", "savable_estimator"]

VECTORS = ("vectors", "columns", "anything")
COLUMNS = 2**24  # of a table; more is no table
DTYPES = {"float32": torch.float32, "float64": torch.float64}
LANDMARKS = 2**13  # of a map inside a kernel: the square of so many numbers is 512 MiB

savable(
    Statistics,
    lambda sums: vars(sums) | {"dtype": sums.dtype and str(sums.dtype).removeprefix("torch.")},
    lambda fields: Statistics(**fields | {"dtype": DTYPES.get(fields.get("dtype", ""))}),
)
savable(Solution)
savable(Route)
savable(SolvePlan)
savable(Approximation)
savable(KernelLift)
savable(ConditionalEmbedding)
# What a map settled on follows from the map: `check_classifier` makes it anew.
savable(
    FeatureLift,
    lambda lift: {"features": lift.features, "width": lift.width},
    lambda fields: FeatureLift(state=None, **fields),
)


# -- sources of randomness, where they stand ---------------------------------------------

BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _random_state(fields: dict[str, Any]) -> np.random.RandomState:
    source = np.random.RandomState(0)
    source.set_state(fields["state"])
    return source


def _random_generator(fields: dict[str, Any]) -> np.random.Generator:
    kind = fields["state"]["bit_generator"]
    _demand(kind in BIT_GENERATORS, f"it names the bit generator {str(kind)[:100]!r}")
    source = getattr(np.random, kind)(0)
    source.state = fields["state"]
    return np.random.Generator(source)


savable(np.random.RandomState, lambda source: {"state": source.get_state()}, _random_state)
savable(
    np.random.Generator, lambda source: {"state": source.bit_generator.state}, _random_generator
)


# -- networks: weights and buffers are data, the recipe is the caller's ----------------


def _module_state(features: Module) -> dict[str, Any]:
    assert features.recipe is not None
    buffers = {} if features.module is None else dict(features.module.named_buffers())
    return {"recipe": Recipe(features.recipe), "weights": features.weights, "buffers": buffers}


def _module_from(fields: dict[str, Any]) -> Module:
    recipe, weights, buffers = fields["recipe"], fields["weights"], fields["buffers"]
    if weights is None:
        return Module(recipe)
    fresh = Module(recipe).prepare(torch.zeros(2, 0), None, torch.Generator())
    assert fresh.module is not None
    assert fresh.weights is not None
    own = dict(fresh.module.named_buffers())
    shapes = {name: buffer.shape for name, buffer in buffers.items()}
    if fresh.weights.shape != weights.shape or {k: v.shape for k, v in own.items()} != shapes:
        raise InvalidInput(
            f"`recipe` makes a module of {fresh.weights.size} weights with the buffers {sorted(own)}, and the file "
            f"holds {weights.size} weights and the buffers {sorted(shapes)}; give the recipe that was fitted"
        )
    for name, buffer in own.items():
        buffer.copy_(buffers[name])
    return dataclasses.replace(fresh, weights=weights)


savable(Module, _module_state, _module_from)


# -- estimators: settings, and what fit set ---------------------------------------------


def savable_estimator(cls: type, check: Callable[[Any], None] = lambda estimator: None) -> None:
    """Let a scikit-learn estimator be stored: its parameters, and every attribute that fit set.

    ``check(estimator)`` completes what was read, and raises where it is not a fitted estimator;
    one that was not fitted, as a parameter of another, is its parameters.
    """

    def state(estimator: Any) -> Mapping[str, Any]:
        settings = estimator.get_params(deep=False)
        left = {*settings, "_table"}  # training rows, as they came, predict nothing
        fitted = {name: value for name, value in vars(estimator).items() if name not in left}
        return {"settings": settings, "fitted": fitted}

    def restore(fields: dict[str, Any]) -> Any:
        estimator = cls(**fields["settings"])
        for name, value in fields["fitted"].items():
            if hasattr(cls, name):
                raise InvalidInput(f"it gives {name!r}, which is no result of a fit")
            setattr(estimator, name, value)
        if fields["fitted"]:
            check(estimator)
        return estimator

    savable(cls, state, restore)


REQUIRED: dict[str, Any] = {
    "kernel_": (Kernel, FeatureMap),
    "regularization_": float,
    "complexity_": float,
    "classes_": np.ndarray,
    "embedding_": ConditionalEmbedding,
    "_norm": float,
    "_own_probabilities": (np.ndarray, type(None)),
    "_own_weights": (np.ndarray, type(None)),
    "_statistics": (Statistics, type(None)),
}
OPTIONAL: dict[str, Any] = {
    "history_": list,
    "n_iter_": int,
    "objective_value_": float,
    "n_features_in_": int,
    "feature_names_in_": np.ndarray,
}


def check_classifier(model: Any) -> None:
    """Settle the feature map of a model that was read, and raise unless its parts fit together."""
    check_settings(model)
    model._table = None
    have = vars(model)
    for name, types in (REQUIRED | {k: t for k, t in OPTIONAL.items() if k in have}).items():
        _demand(isinstance(have.get(name), types), f"`{name}` is a {type(have.get(name)).__name__}")
    embedding, classes, d = model.embedding_, model.classes_, have.get("n_features_in_")
    weights, lift, statistics = embedding.weights, embedding.lift, model._statistics
    _demand(classes.ndim == 1 and len(classes) > 1, f"`classes_` has the shape {classes.shape}")
    _demand(weights.dtype == getattr(torch, model.dtype), f"its weights are {weights.dtype}")
    _demand(
        weights.shape == (lift.width, len(classes)) and bool(torch.isfinite(weights).all()),
        f"its weights are {tuple(weights.shape)} numbers, or not all finite",
    )
    _demand(0 < embedding.epsilon < 1, f"its floor of probabilities is {embedding.epsilon}")
    landmarks = LANDMARKS
    if isinstance(lift, FeatureLift):
        p, m = weights.shape
        if statistics is not None:  # an approximation keeps none
            sums = (statistics.gram.shape, statistics.cross.shape)
            _demand(sums == ((p, p), (p, m)), "the sums over its rows do not fit its weights")
        landmarks = max(landmarks, p)
    for part in _parts(lift.features if isinstance(lift, FeatureLift) else lift.kernel):
        if isinstance(part, Nystroem) and part.points is not None:
            _demand(len(part.points) <= landmarks, f"it has {len(part.points)} landmarks")
    if isinstance(lift, FeatureLift):
        lift = dataclasses.replace(lift, state=lift.features.settle(weights))
        model.embedding_ = dataclasses.replace(embedding, lift=lift)
    if d is None:
        _demand(
            model.kernel_.takes not in VECTORS, "it does not say how many columns its rows have"
        )
    else:
        _demand(0 < d <= COLUMNS, f"it has {d} columns")
        _demand(
            "feature_names_in_" not in have or model.feature_names_in_.shape == (d,),
            "its columns are not named one by one",
        )
    if all(type(part).__module__.startswith("torte.") for part in _parts(model.kernel_)):
        _try(model.embedding_, d if model.kernel_.takes in VECTORS else None)


def _try(embedding: ConditionalEmbedding, d: int | None) -> None:
    """One row through the model: of d zeros, or its first anchor once more where rows are objects."""
    lift = embedding.lift
    if d is not None:
        embedding.decision_probabilities(embedding.weights.new_zeros(1, d))
    elif isinstance(lift, KernelLift):
        first = copy.deepcopy(cut(lift.anchors, slice(0, 1)))  # nothing is known of a copy
        K = lift.kernel.compare(first, lift.anchors)
        _demand(K.shape == (1, lift.width), f"its rows compare to {tuple(K.shape)} numbers")


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvalidInput(otherwise)


def _parts(value: Parametric) -> Iterator[Parametric]:
    """A kernel or map, and all that it is made of."""
    yield value
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        if isinstance(part, Parametric):
            yield from _parts(part)
