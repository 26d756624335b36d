"""The embedding as a layer of a PyTorch network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

import naive
from torte.errors import InvalidInput
from torte.nn import ConditionalEmbeddingHead, ConditionalEmbeddingLoss
from torte.objectives import EmpiricalRisk, RademacherBound


@pytest.fixture
def features(points):
    X, y, Y = points
    return torch.cat([X, X.square()], dim=1), y, Y


def test_probabilities_are_those_of_algorithm_2(features):
    Z, y, Y = features
    head = ConditionalEmbeddingHead(6, 3, regularization=0.05, epsilon=0.01).double()
    head.condition([(Z[:10], y[:10]), (Z[10:], y[10:])])
    A = Z.mT @ Z + 23 * 0.05 * torch.eye(6, dtype=torch.float64)
    P = (Z @ torch.linalg.inv(A) @ (Z.mT @ Y)).numpy()
    np.testing.assert_allclose(head(Z).detach(), naive.clip_normalize(P, 0.01), rtol=1e-6)


@pytest.mark.parametrize(
    "objective",
    [
        RademacherBound(tau=0.3, risk="training", epsilon=1e-15, alpha=1.0),
        RademacherBound(tau=0.3, epsilon=0.02),
        EmpiricalRisk(),
    ],
    ids=repr,
)
def test_gradients_in_features_and_lambda(features, objective):
    Z, y, _ = features
    head = ConditionalEmbeddingHead(6, 3, regularization=0.05).double()
    criterion = ConditionalEmbeddingLoss(head, objective)
    Z = Z.clone().requires_grad_()
    criterion(Z, y).backward()

    def value(flat):
        with torch.no_grad():
            head.log_regularization.fill_(flat[-1])
            return float(criterion(torch.as_tensor(flat[:-1]).view(23, 6), y))

    at = np.append(Z.detach().numpy().ravel(), np.log(0.05))
    expected = naive.central_differences(value, at)
    got = np.append(Z.grad.numpy().ravel(), float(head.log_regularization.grad))
    assert np.abs(got - expected).max() <= 1e-6 * np.abs(expected).max()


def test_a_training_loop_learns_and_its_state_round_trips(features):
    X, y = features[0][:, :3].float(), features[1]
    torch.manual_seed(0)

    def model():
        return nn.Sequential(
            nn.Linear(3, 16), nn.Tanh(), nn.Dropout(0.1)
        ), ConditionalEmbeddingHead(16, 3)

    body, head = model()
    criterion = ConditionalEmbeddingLoss(head)
    adam = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.02)
    losses = []
    for _ in range(60):
        adam.zero_grad()
        loss = criterion(body(X), y)
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    head.condition(((x, t) for x, t in zip(X.split(7), y.split(7), strict=True)), body)
    assert body.training  # as it was before
    body.eval()
    probabilities = head(body(X))
    assert_close(probabilities.sum(dim=1), torch.ones(23))
    other_body, other_head = model()
    other_body.load_state_dict(body.state_dict())
    other_head.load_state_dict(head.state_dict())
    other_body.eval()
    assert_close(other_head(other_body(X)), probabilities)


def test_mistakes_are_named(features):
    Z, y, _ = features
    head = ConditionalEmbeddingHead(6, 3).double()
    with pytest.raises(InvalidInput, match=r"no weights yet; call head.condition\(loader, body\)"):
        head(Z)
    with pytest.raises(InvalidInput, match="`loader` must give at least one batch"):
        head.condition([])
    with pytest.raises(InvalidInput, match=r"must have shape \(n, 6\), got \(23, 5\); flatten"):
        ConditionalEmbeddingLoss(head)(Z[:, :5], y)
    with pytest.raises(InvalidInput, match="one label for each of 23 rows of features, got shape"):
        ConditionalEmbeddingLoss(head)(Z, y[:5])
    with pytest.raises(InvalidInput, match="`regularization` must be a positive number, got 0"):
        ConditionalEmbeddingHead(6, 3, regularization=0)
