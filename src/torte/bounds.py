"""Theorem 4: what the training risk and the complexity say about the risk on new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from torte._numbers import demand_epsilon, is_number, numbers_in
from torte.errors import InvalidInput

__all__ = ["RiskBound", "box", "risk_bound"]


@dataclass(frozen=True)
class RiskBound:
    """Every term of the paper's Theorem 4.

    With probability ``confidence`` over samples of n rows, the expected cross entropy clipped
    at ``1/e``, a number in [0, 1], is at most ``total = empirical_risk + complexity_term +
    confidence_term``, where ``complexity_term = 4e * complexity`` and ``confidence_term =
    sqrt(8/n * log(2/(1 - confidence)))``. A total of 1 or more says nothing: `vacuous`.
    """

    empirical_risk: float
    complexity: float
    complexity_term: float
    confidence_term: float
    total: float
    confidence: float
    epsilon: float
    n: float

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no better than 1, which the bounded loss never exceeds."""
        return self.total >= 1.0

    def __str__(self) -> str:
        verdict = (
            "vacuous: the loss it bounds never exceeds 1"
            if self.vacuous
            else f"holds with probability {self.confidence:g}"
        )
        return (
            f"expected risk <= {self.total:.4g} = {self.empirical_risk:.4g} (training risk at epsilon={self.epsilon:g}) + "
            f"{self.complexity_term:.4g} (4e x complexity {self.complexity:.4g}) + {self.confidence_term:.4g} (n = {self.n:g}); {verdict}"
        )


def box(domain: Any, columns: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the box that inputs stay in, each one number a column, the lower one first.

    >>> from torte.bounds import box
    >>> box(([0, 0], [1, 2.5]), columns=2)
    (array([0., 0.]), array([1. , 2.5]))
    """
    if columns is None:
        raise InvalidInput(
            "`domain` must be None where rows of X are objects: they have no columns of numbers whose range it could give."
        )
    try:
        low, high = map(numbers_in, domain)
    except (TypeError, ValueError):
        low = high = None
    if low is None or high is None or not low.shape == high.shape == (columns,):
        raise InvalidInput(
            f"`domain` must be (low, high), each {columns} finite numbers, one for each column of X, got {domain!r}."
        )
    if (low > high).any():
        i = int(np.argmax(low > high))
        raise InvalidInput(
            f"`domain` must be (low, high) with low <= high in each column, got low {low[i]:g} and high {high[i]:g} in "
            f"column {i}."
        )
    return low, high


def risk_bound(
    P_own: np.ndarray,
    complexity: float,
    confidence: float,
    epsilon: float,
    weights: np.ndarray | None = None,
) -> RiskBound:
    """The bound from ``p_hat`` of each training row's own class (n numbers).

    With ``weights`` each of them counts as often as it weighs.

    >>> import numpy as np
    >>> from torte.bounds import risk_bound
    >>> bound = risk_bound(np.full(100, 0.9), complexity=2.0, confidence=0.95, epsilon=0.01)
    >>> bound.vacuous, round(bound.total, 2)
    (True, 22.39)
    """
    if not is_number(confidence) or not 0 < confidence < 1:
        raise InvalidInput(f"`confidence` must be a number between 0 and 1, got {confidence!r}.")
    demand_epsilon(epsilon)
    confidence, epsilon = float(confidence), float(epsilon)
    n = len(P_own) if weights is None else float(weights.sum())
    risk = float(-np.average(np.log(np.clip(P_own, epsilon, 1.0)), weights=weights))
    complexity_term = 4 * math.e * complexity
    confidence_term = math.sqrt(8 / n * math.log(2 / (1 - confidence)))
    return RiskBound(
        empirical_risk=risk,
        complexity=complexity,
        complexity_term=complexity_term,
        confidence_term=confidence_term,
        total=risk + complexity_term + confidence_term,
        confidence=confidence,
        epsilon=epsilon,
        n=n,
    )
