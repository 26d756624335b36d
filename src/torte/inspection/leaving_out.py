"""Honest figures from training rows: each predicted by the model of all the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from torte.dual import solve_dual
from torte.embedding import KernelLift, clip_normalize
from torte.inspection.models import Inspected
from torte.primal import leave_one_out, primal_solve

__all__ = ["leave_one_out_probabilities"]

MOST_ROWS = 3000  # of a kernel model: an inverse of so many rows
MOST_FEATURES = 2 * 10**7  # rows times features of a feature map


def _of_kernel(lift: KernelLift, regularization: float, Y: Tensor) -> tuple[Tensor, Tensor]:
    """``V`` and ``P_loo = Y - V / diag(A^-1)``."""
    factor, V, _ = solve_dual(lift.kernel, regularization, lift.anchors, Y)
    return V, Y - V / factor.inverse_columns(None).diagonal()[:, None]


def leave_one_out_probabilities(
    inspected: Inspected, rows: Any, codes: np.ndarray
) -> np.ndarray | None:
    """Clip-normalized probabilities (n x m) of training rows, each left out of the embedding.

    In closed form, with the hyperparameters that all rows chose. None where the rows are not
    those of the model, counted unequally, or too many.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import inspect_model, leave_one_out_probabilities
    >>> X, y = load_iris(return_X_y=True)
    >>> found = inspect_model(MCEClassifier(random_state=0).fit(X, y))
    >>> leave_one_out_probabilities(found, found.rows(X), y).shape
    (150, 3)
    """
    engine = inspected.engine
    embedding, regularization = engine.embedding_, engine.regularization_
    lift, weights = embedding.lift, embedding.weights
    Y = torch.eye(len(engine.classes_)).to(weights)[torch.as_tensor(codes)]
    with torch.no_grad():
        if isinstance(lift, KernelLift):
            if len(Y) != lift.width or len(Y) > MOST_ROWS:
                return None
            solved, P = _of_kernel(lift, regularization, Y)
        else:
            if lift.width * len(Y) > MOST_FEATURES:
                return None
            Z = lift(rows)
            shift = torch.as_tensor(len(Y) * regularization).to(weights)
            fitted, solved, h = primal_solve(Z, Y, shift, None, True)
            P = leave_one_out(fitted, Y, h)
        # Other rows, other labels or weights of rows would have given another solution.
        scale = float(weights.abs().max())
        if solved.shape != weights.shape or float((solved - weights).abs().max()) > 1e-3 * scale:
            return None
        return clip_normalize(P, embedding.epsilon).double().cpu().numpy()
