"""A learned model made cheaper: features or super-samples in the place of all its rows."""

from __future__ import annotations

import copy
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torte._arrays import admit_any, generator_from
from torte._targets import encode_targets, weigh
from torte._weights import admit_weights, resampled
from torte.conditioning import Description, condition
from torte.embedding import ConditionalEmbedding
from torte.errors import InvalidInput
from torte.features import Fourier, Nystroem
from torte.kernels import DEFAULT_KERNEL, Kernel, Linear
from torte.maps import FeatureMap

__all__ = ["Approximation", "Herding", "approximated"]

_JUDGED = 2000  # rows whose probabilities are compared
_GROUPS = 500  # that probabilities of all rows are kept in, for the bound


@dataclass(frozen=True)
class Herding:
    """Super-samples: ``n_samples`` rows chosen by kernel herding, with weights fitted to all rows.

    Each next row brings the mean embedding of those chosen nearest to that of all rows (of a
    random 20 000 where there are more); the weights are those of Nystroem features there.

    >>> from torte.approximations import Herding
    >>> Herding(100)
    Herding(n_samples=100)
    """

    n_samples: int

    def __post_init__(self) -> None:
        if not isinstance(self.n_samples, int) or self.n_samples < 1:
            raise InvalidInput(
                f"`n_samples` of Herding must be a whole number of at least 1, got {self.n_samples!r}."
            )


@dataclass(frozen=True)
class Approximation:
    """What an approximation changed: probabilities of some training rows, before and after.

    ``how`` names the kernel and the number of features or rows that were taken.
    ``agreement`` is the share of these rows whose most probable class stayed the same.
    """

    how: str
    n_components: int
    mean_change: float
    largest_change: float
    agreement: float
    rows: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Its fields, ready for JSON."""
        return asdict(self)


def _learned_kernel(kernel: Kernel | FeatureMap) -> Kernel:
    """The kernel that was learned: itself, the one inside its approximation, or the map's own."""
    if isinstance(kernel, (Fourier, Nystroem)):
        return kernel.kernel
    return kernel if isinstance(kernel, Kernel) else Linear() @ kernel


def _map_for(how: Any, learned: Kernel) -> Fourier | Nystroem:
    """The recipe of the features; a kernel left at its default is the learned one."""
    if isinstance(how, Herding):
        return Nystroem(learned, how.n_samples, landmarks="herding")
    if isinstance(how, (Fourier, Nystroem)):
        own = how.kernel != DEFAULT_KERNEL
        return how if own else how.substitute({("kernel",): learned})
    raise InvalidInput(
        f"`how` must be Fourier(n_components=...), Nystroem(n_components=...) or Herding(n_samples), got {how!r}."
    )


def _as_used(how: Any, recipe: Fourier | Nystroem, features: Any, size: int) -> Any:
    """What was asked for, with the kernel and the number of features or rows that were taken."""
    if isinstance(how, Herding):
        return Herding(size)
    return replace(recipe, kernel=features.kernel, n_components=size)


def _condensed(P: np.ndarray, weights: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Numbers p and weights w as few, with the same ``sum w`` and ``sum w log p``.

    What is at most 0, and what is at most epsilon, shares no group with what is above: so the risk
    is exact at epsilon, and at another as exact as one group of many is narrow.
    """
    if len(P) <= _GROUPS:
        return P, weights
    order = np.argsort(P, kind="stable")
    p, w = P[order].clip(0.0, 1.0), weights[order]
    even = np.linspace(0, len(p), _GROUPS + 1).astype(int)
    starts = np.unique([*even, *np.searchsorted(p, [0.0, epsilon], "right")])
    starts = starts[starts < len(p)]
    total = np.add.reduceat(w, starts)
    logs = np.add.reduceat(w * np.log(p.clip(min=np.finfo(float).tiny)), starts)
    return np.where(p[starts] > 0, np.exp(logs / total), 0.0), total


def _table(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Tensor, Tensor | None]:
    """The training rows, their labels and weights: given again, or kept by a model of all its rows."""
    if (X is None) != (y is None):
        raise InvalidInput("`X` and `y` must be given together, or neither.")
    if X is None:
        if sample_weight is not None:
            raise InvalidInput(
                "`sample_weight` must be given with `X` and `y`, or not at all: rows that the model keeps have their weights."
            )
        if estimator._table is None:
            raise InvalidInput(
                "approximate needs the training rows, and this model does not keep them (it is made of features, or was "
                "loaded from a file); give `X` and `y`."
            )
        kept: tuple[Any, Tensor, Tensor | None] = estimator._table
        return kept
    like = estimator.embedding_.weights
    rows = admit_any(estimator, X, estimator.kernel_.takes, like.device, reset=False)
    Y = encode_targets(y, len(rows), estimator.classes_)
    weights = admit_weights(sample_weight, len(rows))
    if weights is not None:  # rows of weight zero are not there
        there = np.flatnonzero(weights)
        rows, Y, weights = rows[there], Y[there], weights[there]
    Y, weights = weigh(Y, estimator.classes_, weights, estimator.class_weight)
    counted = None if weights is None else torch.as_tensor(weights).to(like)
    return rows, torch.as_tensor(Y).to(like), counted


def approximated(estimator: Any, how: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """A fitted copy of the estimator whose embedding holds features or landmarks alone."""
    began = time.perf_counter()
    recipe = _map_for(how, _learned_kernel(estimator.kernel_))
    rows, Y, weights = _table(estimator, X, y, sample_weight)
    generator = generator_from(estimator.random_state)
    names = getattr(estimator, "feature_names_in_", None)
    features = recipe.prepare(
        resampled(rows, weights), None if names is None else list(names), generator
    )
    description = Description(features, estimator.regularization_)
    fitted = condition(description, rows, Y, estimator.objective.epsilon, weights)
    lift, folded = fitted.embedding.lift.folded(fitted.embedding.weights)
    few = rows[torch.randperm(len(rows), generator=generator)[:_JUDGED]]
    before = estimator.embedding_.probabilities(few)
    cheaper = copy.copy(estimator)
    cheaper.embedding_ = ConditionalEmbedding(lift, folded, estimator.objective.epsilon)
    after = cheaper.embedding_.probabilities(few)
    change = (after - before).abs()
    size = fitted.solution.n_components or lift.width
    cheaper.approximation_ = Approximation(
        repr(_as_used(how, recipe, features, size)),
        size,
        float(change.mean()),
        float(change.max()),
        float((after.argmax(dim=1) == before.argmax(dim=1)).double().mean()),
        len(few),
        time.perf_counter() - began,
    )
    cheaper.kernel_ = features if isinstance(features, Fourier) else features.kernel
    cheaper.solution_, cheaper._statistics, cheaper._table = fitted.solution, None, None
    mass = Y if weights is None else Y * weights[:, None]
    own, counts = (values[mass > 0].double().cpu().numpy() for values in (fitted.P, mass))
    cheaper._own_probabilities, cheaper._own_weights = _condensed(
        own, counts, estimator.objective.epsilon
    )
    cheaper._norm = fitted.squared_norm**0.5
    alpha_squared = float(estimator.objective.alpha_squared(lambda: fitted.alpha_squared))
    cheaper.complexity_ = alpha_squared**0.5 * cheaper._norm
    return cheaper
