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

from torte.embedding import clip_normalize
from torte.errors import InvalidInput
from torte.objectives import Objective, RademacherBound, square_root
from torte.primal import leave_one_out, primal_solve
from torte.statistics import Statistics

__all__ = ["ConditionalEmbeddingHead", "ConditionalEmbeddingLoss"]


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
        if not regularization > 0:
            raise InvalidInput(
                f"`regularization` must be a positive number, got {regularization!r}."
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
        if y.ndim != 1 or len(y) != len(like):
            raise InvalidInput(
                f"`y` must hold one label for each of {len(like)} rows of features, got shape {tuple(y.shape)}."
            )
        return nn.functional.one_hot(y.long(), self.n_classes).to(like)

    def checked(self, Z: Tensor) -> Tensor:
        """Features as rows of ``in_features`` numbers."""
        if Z.ndim != 2 or Z.shape[1] != self.in_features:
            raise InvalidInput(
                f"the features must have shape (n, {self.in_features}), got {tuple(Z.shape)}; flatten them with "
                f"Z.flatten(1), or make the head with another `in_features`."
            )
        return Z

    def forward(self, Z: Tensor) -> Tensor:
        """Probabilities (n x m) of the rows of features (n x p)."""
        if not bool(self.count > 0):
            raise InvalidInput(
                "the head has no weights yet; call head.condition(loader, body) when training has ended."
            )
        return clip_normalize(self.checked(Z) @ self.weight.to(Z), self.epsilon)

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
                    part = Statistics(wide.mT @ wide, wide.mT @ Y.to(wide), float(len(Z)))
                    total = part if total is None else total + part
        finally:
            if body is not None:
                body.train(was_training)
        if total is None:
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
        `RademacherBound` with any risk, or `EmpiricalRisk`. The paper's convolutional run is
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
        self.head = head
        self.objective = RademacherBound(epsilon=head.epsilon) if objective is None else objective

    def forward(self, Z: Tensor, y: Tensor) -> Tensor:
        """The objective of a batch: features (n x p) and labels (n)."""
        head, objective, n = self.head, self.objective, len(Z)
        Y = head.one_hot(y, head.checked(Z))
        shift = n * head.regularization.to(Z)
        P, W, h = primal_solve(Z, Y, shift, leverages=objective.leaves_out)
        if objective.leaves_out:
            P = leave_one_out(P, Y, h)
        alpha_squared = objective.alpha_squared(lambda: Z.square().sum(dim=1).max())
        complexity = square_root(alpha_squared * W.square().sum())
        value = objective(P, Y, complexity, n).objective
        assert isinstance(value, Tensor)
        return value
