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
from torte.objectives import CrossValidation, EmpiricalRisk, MedianHeuristic, RademacherBound


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


@pytest.mark.parametrize("name", ["in_features", "n_classes"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True, "3"])
def test_sizes_are_checked(name, value):
    least = {"in_features": 1, "n_classes": 2}[name]
    with pytest.raises(
        InvalidInput, match=f"`{name}` must be a whole number of at least {least}, got {value!r}"
    ):
        ConditionalEmbeddingHead(**({"in_features": 3, "n_classes": 2} | {name: value}))


def test_numbers_are_checked():
    with pytest.raises(InvalidInput, match="`n_classes` must be a whole number of at least 2, got"):
        ConditionalEmbeddingHead(3, 1)
    for epsilon in (0, -1, 0.4, "small"):
        with pytest.raises(InvalidInput, match="`epsilon` must be a number between 0 and 1/e"):
            ConditionalEmbeddingHead(3, 2, epsilon=epsilon)
    for regularization in ("1", float("inf"), float("nan")):
        with pytest.raises(InvalidInput, match="`regularization` must be a positive number, got"):
            ConditionalEmbeddingHead(3, 2, regularization=regularization)


def test_batches_are_checked(features):
    Z, y, _ = features
    head = ConditionalEmbeddingHead(6, 3).double()
    criterion = ConditionalEmbeddingLoss(head)
    for label in (3, -1):
        with pytest.raises(
            InvalidInput, match=f"`y` must hold whole numbers from 0 to 2.*{label};"
        ):
            criterion(Z, y.clone().index_fill_(0, torch.tensor([4]), label))
    with pytest.raises(
        InvalidInput, match=r"`y` must hold whole numbers from 0 to 2.* got 0\.5; nu"
    ):
        criterion(Z, y + 0.5)
    with pytest.raises(InvalidInput, match=r"`y` must hold one label for each of 23.* got a list"):
        criterion(Z, y.tolist())
    assert_close(criterion(Z, y.double()), criterion(Z, y))  # whole, whatever their type
    spoiled = Z.clone()
    spoiled[2, 1] = torch.nan
    with pytest.raises(InvalidInput, match="features must be finite numbers, got NaN or infinity"):
        criterion(spoiled, y)
    with pytest.raises(InvalidInput, match="features must be finite numbers, got NaN or infinity"):
        head.condition([(spoiled, y)])
    with pytest.raises(
        InvalidInput, match="batch must hold at least one row of features, got none"
    ):
        criterion(Z[:0], y[:0])
    with pytest.raises(InvalidInput, match="`loader` must give at least one batch"):
        head.condition([(Z[:0], y[:0])])


@pytest.mark.parametrize(
    "objective",
    [CrossValidation(), MedianHeuristic(), RademacherBound(left_out=2), "risk"],
    ids=repr,
)
def test_objectives_that_a_batch_does_not_have_are_refused(objective):
    with pytest.raises(
        InvalidInput, match=r"`objective` must be RademacherBound\(\) with left_out=None, Empirical"
    ):
        ConditionalEmbeddingLoss(ConditionalEmbeddingHead(3, 2), objective)
    with pytest.raises(InvalidInput, match="`head` must be a ConditionalEmbeddingHead, got Linear"):
        ConditionalEmbeddingLoss(nn.Linear(3, 2))


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_is_widened(half, features):
    Z, y, _ = features
    head = ConditionalEmbeddingHead(6, 3)
    criterion = ConditionalEmbeddingLoss(head)
    narrow = Z.to(half).requires_grad_()
    loss = criterion(narrow, y)
    assert loss.dtype == torch.float32
    assert_close(loss, criterion(narrow.detach().float(), y))
    loss.backward()
    assert narrow.grad.dtype == half
    head.condition([(narrow.detach(), y)])
    assert head(narrow).dtype == torch.float32
    assert_close(head(narrow), head(narrow.float()))


def test_a_training_step_under_autocast(features):
    X, y = features[0][:, :3].float(), features[1]
    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(3, 16), nn.Tanh()), ConditionalEmbeddingHead(16, 3)
    parameters = [*body.parameters(), *head.parameters()]
    adam, criterion = torch.optim.Adam(parameters, lr=0.02), ConditionalEmbeddingLoss(head)
    losses = []
    for step in range(40):
        adam.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            Z = body(X)
            assert Z.dtype == torch.bfloat16
            loss = criterion(Z, y)
            if step % 2:  # where it is called makes no difference
                loss.backward()
        if not step % 2:
            loss.backward()
        assert all(torch.isfinite(p.grad).all() for p in parameters)
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        head.condition([(X, y)], body)
        probabilities = head(body(X))
    assert_close(probabilities.sum(dim=1), torch.ones(23))


def test_far_from_the_data_the_winner_is_that_of_the_raw_numbers():
    head = ConditionalEmbeddingHead(2, 2)
    head.condition([(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1]))])
    far = torch.tensor([[1e-20, 2e-20], [2e-20, 1e-20]])
    assert head(far).argmax(dim=1).tolist() == [1, 0]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "device",
    [
        pytest.param(
            name, marks=pytest.mark.skipif(not there(), reason=f"no {name} device on this machine")
        )
        for name, there in (
            ("cuda", torch.cuda.is_available),
            ("mps", torch.backends.mps.is_available),
        )
    ],
)
@pytest.mark.parametrize("cast", [False, True], ids=["float32", "autocast"])
def test_the_head_on_an_accelerator(features, device, cast):
    X, y = features[0][:, :3].float().to(device), features[1].to(device)
    torch.manual_seed(0)
    body = nn.Sequential(nn.Linear(3, 16), nn.Tanh()).to(device)
    head = ConditionalEmbeddingHead(16, 3).to(device)
    criterion = ConditionalEmbeddingLoss(head)
    adam = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.02)
    losses = []
    for _ in range(30):
        adam.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16, enabled=cast):
            loss = criterion(body(X), y)
        loss.backward()
        adam.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    head.condition([(X[:12], y[:12]), (X[12:], y[12:])], body)
    near = ConditionalEmbeddingHead(16, 3)
    near.load_state_dict(head.state_dict())
    probabilities = head(body(X))
    assert probabilities.device.type == device
    assert_close(probabilities.cpu(), near(body(X).cpu()), atol=1e-4, rtol=0)
