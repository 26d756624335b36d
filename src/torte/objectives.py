"""What learning minimizes: a data fit and the Rademacher complexity, each term by name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torte._numbers import demand_epsilon, is_number, is_whole
from torte._weights import weighted_mean
from torte.embedding import clip_normalize
from torte.errors import InvalidInput
from torte.parameters import Parametric

__all__ = [
    "CrossValidation",
    "EmpiricalRisk",
    "MedianHeuristic",
    "Objective",
    "RademacherBound",
    "Terms",
    "cross_entropy",
]

_TAU = re.compile(r"(\d+(?:\.\d+)?)e(/n)?")
RISKS = ("leave-one-out", "training")


class Terms(NamedTuple):
    """One value of an objective: ``objective = risk + multiplier * complexity`` (+ penalty)."""

    risk: Any
    complexity: Any
    objective: Any


def cross_entropy(P: Tensor, Y: Tensor, epsilon: float, weights: Tensor | None = None) -> Tensor:
    """The paper's modified cross entropy, ``mean -log [f_y(x)]`` clipped to ``[epsilon, 1]``.

    Of a row whose label is a distribution it is the expected one, ``-sum_c y_c log [f_c(x)]``.

    >>> import torch
    >>> from torte.objectives import cross_entropy
    >>> cross_entropy(torch.tensor([[0.5, 0.7], [1.2, -0.2]]), torch.eye(2), 1e-3)
    tensor(3.8005)
    """
    return weighted_mean(-(Y * P.clamp(epsilon, 1.0).log()).sum(dim=1), weights)


def square_root(value: Tensor) -> Tensor:
    """``sqrt(value)``, with a gradient of zero instead of infinity at zero."""
    return value.clamp(min=torch.finfo(value.dtype).tiny).sqrt()


def multiplier(tau: float | str, n: float) -> float:
    """``tau`` as a number: itself, or a named multiple of e, such as ``4e`` or ``4e/n``.

    >>> from torte.objectives import multiplier
    >>> round(multiplier("4e", 100), 4), round(multiplier("4e/n", 100), 4), multiplier(0.5, 100)
    (10.8731, 0.1087, 0.5)
    """
    if not isinstance(tau, str):
        return float(tau)
    name = _TAU.fullmatch(tau)
    assert name is not None  # checked when the objective was made
    return float(name[1]) * math.e / (n if name[2] else 1)


@dataclass(frozen=True)
class Objective(Parametric):
    """How hyperparameters are judged. ``epsilon`` is the floor of losses and probabilities."""

    epsilon: float = 1e-3

    learns = True  # False: hyperparameters stay at their start
    leaves_out = False  # True: judged rows are left out of the embedding in closed form
    folds = 1  # more than 1: an average over held-out folds

    def __post_init__(self) -> None:
        super().__post_init__()
        demand_epsilon(self.epsilon, f" of {type(self).__name__}")

    @property
    def effective_shrinkage(self) -> float:
        """The multiplier of the spread of ARD length scales that learning adds."""
        return 0.0

    def alpha_squared(self, supremum: Callable[[], Any]) -> Any:
        """The paper's ``alpha^2``: the kernel's supremum, or what the objective was given."""
        return supremum()

    def __call__(
        self, P: Tensor, Y: Tensor, complexity: Tensor, n: float, weights: Tensor | None = None
    ) -> Terms:
        """The named terms, given ``p_hat`` on the judged rows and the complexity on n rows.

        ``weights`` are those of the judged rows.
        """
        risk = cross_entropy(P, Y, self.epsilon, weights)
        return Terms(risk, complexity, risk)


@dataclass(frozen=True)
class RademacherBound(Objective):
    """``q = risk + tau * r`` with ``r = alpha * sqrt(trace(V' K V))`` (eq. 8).

    Parameters
    ----------
    tau : number, "4e", "4e/n" or another multiple of e
        Multiplier of the complexity; n is the number of rows of the batch. "4e" is the
        theorem's, "4e/n" made the paper's table, the default a tenth of it: a risk measured
        on rows left out needs less of a penalty (eq. 10; measured in docs/defaults.md).
    risk : "leave-one-out" or "training"
        Every row judged by the embedding of all the others, in closed form
        (``p_loo = y - v / diag(A^-1)``), as clip-normalized cross entropy; or the paper's
        modified cross entropy of the training rows.
    epsilon : float
        Floor of losses and of predicted probabilities.
    left_out : int or None
        How many random rows leave-one-out judges in a step; None lets the plan decide.
    shrinkage : float or None
        ``shrinkage / n * sum_d (delta_d - mean delta)^2`` is added, where ``delta_d`` is how
        far the logarithm of the d-th ARD length scale moved: columns are weighted
        differently only where the data say so. None is 1 for leave-one-out, and 0, the
        paper's, for the training risk.
    alpha : float or None
        The factor of ``r``; None is the kernel's own, ``sqrt(sup k(x, x))``, or, where it
        has no supremum, the largest on the rows at hand. The paper's networks have 1.

    >>> from torte.objectives import RademacherBound
    >>> RademacherBound(tau="4e/n", risk="training", epsilon=1e-15)  # the paper's own
    RademacherBound(epsilon=1e-15, tau='4e/n', risk='training', left_out=None, shrinkage=None, alpha=None)
    """

    tau: float | str = "0.4e/n"
    risk: str = "leave-one-out"
    left_out: int | None = None
    shrinkage: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.risk, str) or self.risk not in RISKS:
            raise InvalidInput(f"`risk` must be 'leave-one-out' or 'training', got {self.risk!r}.")
        if isinstance(self.tau, str):
            known = _TAU.fullmatch(self.tau) is not None
        else:
            known = is_number(self.tau) and self.tau >= 0
        if not known:
            raise InvalidInput(
                f"`tau` must be a number of at least 0, '4e' or '4e/n' (n: rows of the batch), got {self.tau!r}."
            )
        if self.left_out is not None and not (is_whole(self.left_out) and self.left_out >= 1):
            raise InvalidInput(
                f"`left_out` must be a whole number of rows of at least 1, or None, got {self.left_out!r}."
            )
        if self.shrinkage is not None and not (is_number(self.shrinkage) and self.shrinkage >= 0):
            raise InvalidInput(
                f"`shrinkage` must be a number of at least 0, or None for the default of the risk, got {self.shrinkage!r}."
            )
        if self.alpha is not None and not (is_number(self.alpha) and self.alpha > 0):
            raise InvalidInput(
                f"`alpha` must be a positive number, or None for the kernel's own supremum, got {self.alpha!r}."
            )

    @property
    def effective_shrinkage(self) -> float:
        if self.shrinkage is None:
            return 1.0 if self.leaves_out else 0.0
        return float(self.shrinkage)

    def alpha_squared(self, supremum: Callable[[], Any]) -> Any:
        return supremum() if self.alpha is None else float(self.alpha) ** 2

    @property
    def leaves_out(self) -> bool:  # type: ignore[override]
        return self.risk == "leave-one-out"

    def __call__(
        self, P: Tensor, Y: Tensor, complexity: Tensor, n: float, weights: Tensor | None = None
    ) -> Terms:
        if self.leaves_out:
            losses = -(Y * clip_normalize(P, self.epsilon).log()).sum(dim=1)
            risk = weighted_mean(losses, weights)
        else:
            risk = cross_entropy(P, Y, self.epsilon, weights)
        return Terms(risk, complexity, risk + multiplier(self.tau, n) * complexity)


@dataclass(frozen=True)
class EmpiricalRisk(Objective):
    """The modified cross entropy of the training rows alone: ``tau = 0``, the paper's ERM.

    >>> from torte.objectives import EmpiricalRisk
    >>> EmpiricalRisk()
    EmpiricalRisk(epsilon=1e-15)
    """

    epsilon: float = 1e-15


@dataclass(frozen=True)
class CrossValidation(Objective):
    """The modified cross entropy of held-out folds, averaged: the paper's CV, by gradients.

    >>> from torte.objectives import CrossValidation
    >>> CrossValidation(folds=10)
    CrossValidation(epsilon=1e-15, folds=10)
    """

    epsilon: float = 1e-15
    folds: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_whole(self.folds) or self.folds < 2:
            raise InvalidInput(
                f"`folds` of CrossValidation must be a whole number of at least 2, got {self.folds!r}."
            )


@dataclass(frozen=True)
class MedianHeuristic(Objective):
    """No learning: length scales at the median distance, the rest as given; the paper's MED.

    >>> from torte.objectives import MedianHeuristic
    >>> MedianHeuristic()
    MedianHeuristic(epsilon=1e-15)
    """

    epsilon: float = 1e-15

    learns = False
