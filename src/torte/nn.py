"""A conditional embedding as the last layer of any network, in anyone's PyTorch training loop.

head = ConditionalEmbeddingHead(1024, 10)            # instead of nn.Linear(1024, 10)
criterion = ConditionalEmbeddingLoss(head)           # instead of nn.CrossEntropyLoss()
loss = criterion(body(x), y)                         # as before
head.condition(loader, body)                         # once, when training has ended
probabilities = head(body(x))
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from torte.embedding import ordered_probabilities
from torte.errors import InvalidInput
from torte.objectives import EmpiricalRisk, Objective, RademacherBound, square_root
from torte.primal import leave_one_out, primal_solve
from torte.statistics import Statistics

__all__ = ["ConditionalEmbeddingHead", "ConditionalEmbeddingLoss"]


_HALVES = (torch.float16, torch.bfloat16)


def _exactly(device: torch.device) -> torch.autocast:
    """Where torch casts nothing: a factorization in half precision is none."""
    return torch.autocast(device.type, enabled=False)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class ConditionalEmbeddingHead(nn.Module):
    """``p_hat(z) = W'z`` with ``W = (Z'Z + n lambda I)^-1 Z'Y``, clip-normalized.

    Its only learned parameter is ``log lambda``; the weights W come from `condition`, which
    reads the training set once. `forward` gives probabilities (n x m), not logits.

    Parameters
    ----------
    in_features, n_classes : int
    regularization : float
        Where ``lambda`` starts.
    epsilon : float
        Floor of the probabilities.

    Features in half precision, as autocast makes them, are computed with in float32.

    >>> import torch
    >>> from torte.nn import ConditionalEmbeddingHead
    >>> Z, y = torch.eye(4).repeat(5, 1), torch.arange(4).repeat(5)
    >>> head = ConditionalEmbeddingHead(4, 4, regularization=0.01).condition([(Z, y)])
    >>> head(Z[:4]).argmax(dim=1)
    tensor([0, 1, 2, 3])
    """

    weight: Tensor
    count: Tensor

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        *,
        regularization: float = 1e-2,
        epsilon: float = 1e-3,
    ):
        super().__init__()
        for name, value, least in (("in_features", in_features, 1), ("n_classes", n_classes, 2)):
            if not _is_whole(value, least):
                raise InvalidInput(
                    f"`{name}` must be a whole number of at least {least}, got {value!r}."
                )
        if not _is_number(regularization) or not 0 < regularization < math.inf:
            raise InvalidInput(
                f"`regularization` must be a positive number, got {regularization!r}."
            )
        if not _is_number(epsilon) or not 0 < epsilon < math.exp(-1):
            raise InvalidInput(
                f"`epsilon` must be a number between 0 and 1/e = 0.3679, got {epsilon!r}."
            )
        self.in_features, self.n_classes, self.epsilon = in_features, n_classes, epsilon
        self.log_regularization = nn.Parameter(torch.tensor(math.log(regularization)))
        self.register_buffer("weight", torch.zeros(in_features, n_classes))
        self.register_buffer("count", torch.zeros(()))

    @property
    def regularization(self) -> Tensor:
        """``lambda``, on the tape."""
        return self.log_regularization.exp()

    def one_hot(self, y: Tensor, like: Tensor) -> Tensor:
        """Labels 0 ... m - 1 as rows of ones and zeros (n x m)."""
        if not isinstance(y, Tensor) or y.ndim != 1 or len(y) != len(like):
            got = f"shape {tuple(y.shape)}" if isinstance(y, Tensor) else f"a {type(y).__name__}"
            raise InvalidInput(
                f"`y` must hold one label for each of {len(like)} rows of features, got {got}."
            )
        labels = y.long()
        wrong = (labels != y) | (labels < 0) | (labels >= self.n_classes)
        if bool(wrong.any()):
            raise InvalidInput(
                f"`y` must hold whole numbers from 0 to {self.n_classes - 1}, one for each class, got "
                f"{y[wrong][0].item()}; number the classes from 0, or make the head with another `n_classes`."
            )
        return nn.functional.one_hot(labels, self.n_classes).to(like)

    def checked(self, Z: Tensor) -> Tensor:
        """Features as rows of ``in_features`` finite numbers; half precision is widened."""
        if not isinstance(Z, Tensor) or Z.ndim != 2 or Z.shape[1] != self.in_features:
            got = tuple(Z.shape) if isinstance(Z, Tensor) else f"a {type(Z).__name__}"
            raise InvalidInput(
                f"the features must have shape (n, {self.in_features}), got {got}; flatten them with "
                f"Z.flatten(1), or make the head with another `in_features`."
            )
        Z = Z.float() if Z.dtype in _HALVES else Z
        if not bool(torch.isfinite(Z.detach().sum())):
            raise InvalidInput(
                "the features must be finite numbers, got NaN or infinity; scale the inputs of the network, or train "
                "it with a smaller learning rate."
            )
        return Z

    def forward(self, Z: Tensor) -> Tensor:
        """Probabilities (n x m) of the rows of features (n x p)."""
        if not bool(self.count > 0):
            raise InvalidInput(
                "the head has no weights yet; call head.condition(loader, body) when training has ended."
            )
        Z = self.checked(Z)
        with _exactly(Z.device):
            return ordered_probabilities(Z @ self.weight.to(Z), self.epsilon)

    def condition(
        self, loader: Iterable[Any], body: nn.Module | None = None
    ) -> ConditionalEmbeddingHead:
        """Fix the weights on all training rows, batch by batch in one pass.

        ``loader`` gives pairs of inputs and labels; ``body`` maps inputs to features in
        evaluation mode, without it the inputs are features already.
        """
        total: Statistics | None = None
        was_training = body is not None and body.training
        if body is not None:
            body.eval()
        try:
            with torch.no_grad():
                for x, y in loader:
                    Z = self.checked(x if body is None else body(x))
                    Y = self.one_hot(y, Z)
                    # Sums over many batches are kept in float64, where the device has it.
                    wide = Z.float() if Z.device.type == "mps" else Z.double()
                    with _exactly(Z.device):
                        part = Statistics(wide.mT @ wide, wide.mT @ Y.to(wide), float(len(Z)))
                    total = part if total is None else total + part
        finally:
            if body is not None:
                body.train(was_training)
        if total is None or total.count == 0:
            raise InvalidInput(
                "`loader` must give at least one batch of (inputs, labels), got none."
            )
        with torch.no_grad():
            self.weight.copy_(total.solve(float(self.regularization)))
            self.count.fill_(total.count)
        return self


class ConditionalEmbeddingLoss(nn.Module):
    """An objective on the features of one batch, differentiable in features and ``lambda``.

    The batch embeds itself: ``W = (Z'Z + n lambda I)^-1 Z'Y``, and the objective judges it:
    risk + tau * alpha * |W|_F, by leave-one-out or on the batch itself. One p x p Cholesky
    a step, and no derivative of it.

    Parameters
    ----------
    head : ConditionalEmbeddingHead
        Its ``lambda`` is learned with the network.
    objective : Objective
        `RademacherBound` with any risk of all rows, or `EmpiricalRisk`. The paper's convolutional run is
        ``RademacherBound(tau="4e", risk="training", epsilon=1e-15, alpha=1.0)``.

    >>> import torch
    >>> from torte.nn import ConditionalEmbeddingHead, ConditionalEmbeddingLoss
    >>> criterion = ConditionalEmbeddingLoss(ConditionalEmbeddingHead(3, 2))
    >>> Z = torch.randn(8, 3, requires_grad=True, generator=torch.Generator().manual_seed(0))
    >>> criterion(Z, torch.arange(8) % 2).backward()
    >>> Z.grad.shape
    torch.Size([8, 3])
    """

    def __init__(self, head: ConditionalEmbeddingHead, objective: Objective | None = None):
        super().__init__()
        if not isinstance(head, ConditionalEmbeddingHead):
            raise InvalidInput(f"`head` must be a ConditionalEmbeddingHead, got {head!r}.")
        bound = isinstance(objective, RademacherBound) and objective.left_out is None
        if not (objective is None or bound or isinstance(objective, EmpiricalRisk)):
            raise InvalidInput(
                f"`objective` must be RademacherBound() with left_out=None, EmpiricalRisk() or None, got {objective!r}; a "
                f"batch judges itself as a whole, and has no folds."
            )
        self.head = head
        self.objective = RademacherBound(epsilon=head.epsilon) if objective is None else objective

    def forward(self, Z: Tensor, y: Tensor) -> Tensor:
        """The objective of a batch: features (n x p) and labels (n)."""
        head, objective, n = self.head, self.objective, len(Z)
        Z = head.checked(Z)
        if n == 0:
            raise InvalidInput(
                "the batch must hold at least one row of features, got none; drop empty batches."
            )
        Y = head.one_hot(y, Z)
        with _exactly(Z.device):
            shift = n * head.regularization.to(Z)
            P, W, h = primal_solve(Z, Y, shift, leverages=objective.leaves_out)
            if objective.leaves_out:
                P = leave_one_out(P, Y, h)
            alpha_squared = objective.alpha_squared(lambda: Z.square().sum(dim=1).max())
            complexity = square_root(alpha_squared * W.square().sum())
            value = objective(P, Y, complexity, n).objective
        assert isinstance(value, Tensor)
        return value
