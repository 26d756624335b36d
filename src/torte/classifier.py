"""The estimator: scikit-learn's contract around learning, conditioning and prediction."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from torte import bounds, persistence
from torte._arrays import admit_any, compute_device, generator_from
from torte._labels import encode_labels, numbers_of_classes
from torte._models import check_classifier, savable_estimator
from torte._settings import check_settings
from torte._targets import admit
from torte._threads import suited_threads
from torte._weights import resampled
from torte.approximations import approximated
from torte.conditioning import Description, condition
from torte.entropy import clip_normalized_entropy, embedding_entropy
from torte.errors import InvalidInput, NotConverged
from torte.incremental import add_rows, remove_rows, warn_if_wide
from torte.kernels import Kernel
from torte.maps import FeatureMap
from torte.objectives import Objective, RademacherBound
from torte.plans import DEFAULT_KERNEL, kernel_inside, run, wants_lambda_again
from torte.progress import tell
from torte.routes import plan_after, plan_features, plan_solution
from torte.streams import Rows, as_rows, fit_rows, over_chunks
from torte.widths import told_width

__all__ = ["MCEClassifier"]


def _has_feature_map(estimator: MCEClassifier) -> bool:
    if isinstance(estimator.kernel, FeatureMap):
        return True
    raise AttributeError(
        "partial_fit and forget need a feature map as `kernel`, such as Fourier(Gaussian()); a kernel's "
        "embedding changes as a whole with every row, so fit anew."
    )


class MCEClassifier(ClassifierMixin, BaseEstimator):
    """Multiclass conditional embedding with learned hyperparameters.

    ``p_hat(x) = Y' (K + n lambda I)^-1 k(x)`` estimates all class probabilities at once; the
    kernel's hyperparameters and ``lambda`` minimize a data fit plus ``tau * r``, where ``r =
    alpha * sqrt(trace(V' K V))`` bounds the Rademacher complexity.

    Parameters
    ----------
    kernel : Kernel, FeatureMap or None
        Any kernel expression, or a feature map: `torte.features`. None is a Gaussian beside a
        Laplacian kernel, each with one length scale a column, started from the data.
    regularization : float
        ``lambda``, where learning starts.
    objective : Objective
        What learning minimizes: `RademacherBound`, `EmpiricalRisk`, `CrossValidation` or
        `MedianHeuristic`. Its ``epsilon`` is also the floor of predicted probabilities.
    optimizer : Optimizer, "auto" or None
        `LBFGS`, `Adam`; "auto" is L-BFGS on all rows of a small table, and Adam on random
        batches, then a few steps of L-BFGS on all rows, of a larger one. None keeps every
        hyperparameter as given.
    batch_size : int or None
        Rows of one step of learning; None is all rows, or the plan's choice under "auto".
    validation_fraction : float
        Share of each batch that measures the risk instead of forming the embedding (eq. 10), at
        least one row of it and not all.
    solver : "auto", "cholesky", "conjugate-gradients" or "features"
        How the final system of a kernel is solved: a factorization in place (in float32, refined
        to float64 accuracy, where that fits better); iterations that never form the n x n
        matrix; or at most 4096 Nystroem features of the learned kernel, with ``lambda`` chosen
        again on all rows. "auto" estimates memory and time of each first; see ``plan_``.
    device : str
        "cpu", "cuda", "mps" or "auto".
    dtype : "float64" or "float32"
        Precision of everything behind the border.
    random_state : int, RandomState, Generator or None
        Source of batches and subsets. The global generators are never touched.
    verbose : int
        1 shows a progress bar on standard error.
    class_weight : dict, "balanced" or None
        A factor for the weights of each class's rows; "balanced" gives every class the same
        total.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    kernel_, regularization_
        What was learned, as a new kernel and a number.
    complexity_
        ``r`` of the fitted model on its training rows.
    objective_value_, history_, n_iter_
        The objective where learning ended; one record a step (risk, complexity, objective,
        seconds since learning began, scores where ``monitor`` was given, and ``run`` from the
        second run of the plan on); the number of records.
    embedding_
        The conditional embedding that predicts.
    plan_, solution_
        Which solver was chosen, why, and from what estimates; how the final system was solved:
        iterations, residual, a bound on the error of any probability, seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCEClassifier(random_state=0).fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[1., 0., 0.]])
    """

    def __init__(
        self,
        kernel: Kernel | FeatureMap | None = None,
        *,
        regularization: float = 1.0,
        objective: Objective = RademacherBound(),  # noqa: B008 - a frozen value
        optimizer: Any = "auto",
        batch_size: int | None = None,
        validation_fraction: float = 0.0,
        solver: str = "auto",
        device: str = "cpu",
        dtype: str = "float64",
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Any = None,
    ):
        self.kernel = kernel
        self.regularization = regularization
        self.objective = objective
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.device = device
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        monitor: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn the hyperparameters, then condition the embedding on all rows.

        ``y`` is one label a row, or the probabilities of m classes in each (n x m, sums of
        one): ``classes_`` is then 0 ... m - 1. A row of ``sample_weight`` w counts as w rows,
        in the embedding and in learning; 0 is a row that is not there.

        ``monitor=(X_test, y_test)`` adds ``test_accuracy`` and ``test_log_loss`` to every
        record of ``history_``, at the price of one more solve a step.

        X may be a stream of `torte.streams`, which brings its labels, or an array mapped to
        memory: with a feature map, hyperparameters are then learned on a stratified random
        sample, and all rows are read once for the sums that the embedding needs.
        """
        rows = as_rows(X, y, arrays=isinstance(self.kernel, FeatureMap))
        if rows is not None:
            fit_rows(self, rows, sample_weight, monitor)
            return self
        check_settings(self)
        # Also where the caller has switched gradients off.
        with torch.inference_mode(False), torch.enable_grad():
            return self._fit(X, y, sample_weight, monitor)

    def _fit(self, X: Any, y: Any, sample_weight: Any, monitor: tuple[Any, Any] | None) -> Self:
        generator = generator_from(self.random_state)
        recipe = DEFAULT_KERNEL if self.kernel is None else self.kernel
        device = compute_device(self.device)
        rows, Y, weights, classes = admit(
            self, X, y, recipe.takes, device, sample_weight, self.class_weight
        )
        names = getattr(self, "feature_names_in_", None)
        columns = None if names is None else list(names)
        counted = resampled(rows, weights)
        inside = kernel_inside(self, recipe, len(rows))
        if isinstance(recipe, FeatureMap):  # before it is prepared: that can be large, too
            plan_features(told_width(recipe, len(rows)), len(rows), Y.dtype, device)
        kernel = (recipe if inside is None else inside).prepare(counted, columns, generator)
        self.plan_ = plan_solution(self.solver, recipe if inside else kernel, rows, Y)
        tell(str(self.plan_), self.verbose)
        again = wants_lambda_again(self, recipe, self.plan_.solver, len(rows))
        score = None if monitor is None else self._scorer(rows, Y, weights, classes, *monitor)
        start = Description(kernel, float(self.regularization))
        with suited_threads(len(rows) if self.batch_size is None else self.batch_size):
            learned = run(self, start, rows, Y, generator, score, weights, finish=not again)
        description = learned.description
        if inside is not None:
            features = recipe.substitute({("kernel",): description.kernel})
            features = features.prepare(rows, columns, generator)
            description = dataclasses.replace(description, kernel=features)
        self.history_, self.n_iter_ = learned.history, len(learned.history)
        self.objective_value_ = learned.objective_value
        fitted = None
        while fitted is None:
            try:
                fitted = condition(
                    description,
                    rows,
                    Y,
                    self.objective.epsilon,
                    weights,
                    plan=self.plan_,
                    generator=generator,
                    choose_lambda=again,
                    verbose=self.verbose,
                )
            except NotConverged as error:
                self.plan_ = plan_after(self.plan_, error)
                again = wants_lambda_again(self, recipe, self.plan_.solver, len(rows))
        self.kernel_, self.regularization_ = description.kernel, fitted.regularization
        self.solution_ = fitted.solution
        self.embedding_, self._statistics = fitted.embedding, fitted.statistics
        # An embedding of all rows keeps them in its kernel's form; `approximate` needs them as they came.
        self._table = (rows, Y, weights) if self.plan_.solver != "features" else None
        if fitted.statistics is not None:
            warn_if_wide(fitted.embedding.lift.width, len(rows), stacklevel=4)
        # What the bound sums over: every row's classes, each as often as it counts.
        mass = Y if weights is None else Y * weights[:, None]
        self._own_probabilities = _to_numpy(fitted.P[mass > 0])
        self._own_weights = _to_numpy(mass[mass > 0])
        self._norm = fitted.squared_norm**0.5
        alpha_squared = float(self.objective.alpha_squared(lambda: fitted.alpha_squared))
        self.complexity_ = alpha_squared**0.5 * self._norm
        self.classes_ = classes
        return self

    @available_if(_has_feature_map)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a chunk of rows to the model, exactly; for feature maps only.

        The map is fixed by the first chunk, or by `fit`; nothing is learned but the weights,
        from sums over rows, so chunks of any size give the model of all rows at once.
        ``classes``, all labels that will ever come, is needed in the first call. ``y`` and
        ``sample_weight`` are as in `fit`.
        """
        first = not hasattr(self, "embedding_")
        add_rows(self, X, y, classes, sample_weight, first=first)
        return self

    @available_if(_has_feature_map)  # type: ignore[untyped-decorator]
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out of the model again, exactly; for feature maps only."""
        check_is_fitted(self)
        remove_rows(self, X, y, sample_weight)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.kernel, Kernel):
            tags.input_tags.pairwise = self.kernel.pairwise
            tags.input_tags.two_d_array = self.kernel.takes != "objects"
        return tags

    def approximate(
        self, how: Any, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> MCEClassifier:
        """The same learned model with a cheaper embedding, as a new fitted estimator.

        ``how`` is `Fourier(n_components=p)`, `Nystroem(n_components=p)` or `Herding(n_samples)`
        (from `torte.approximations`), each of the learned kernel. Predictions then cost p kernel
        values or features a row. ``approximation_`` of the result tells how far probabilities
        moved on a sample. ``X, y`` and ``sample_weight`` are those of `fit`, for a model that does
        not keep them.

        >>> from sklearn.datasets import load_iris
        >>> from torte import MCEClassifier
        >>> from torte.approximations import Herding
        >>> model = MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))
        >>> small = model.approximate(Herding(40))
        >>> small.approximation_.agreement > 0.95, len(small.embedding_.weights)
        (True, 40)
        """
        check_is_fitted(self)
        return approximated(self, how, X, y, sample_weight)

    def _scorer(
        self,
        rows: Any,
        Y: Tensor,
        weights: Tensor | None,
        classes: np.ndarray,
        X: Any,
        y: Any,
    ) -> Callable[[Description], dict[str, float]]:
        kernel = DEFAULT_KERNEL if self.kernel is None else self.kernel
        others = admit_any(self, X, kernel.takes, Y.device, reset=False)
        truth = torch.as_tensor(encode_labels(y, len(others), classes), device=Y.device)

        def score(description: Description) -> dict[str, float]:
            fitted = condition(description, rows, Y, self.objective.epsilon, weights)
            P = fitted.embedding.probabilities(others)
            own = P[torch.arange(len(truth)), truth]
            hits = (P.argmax(dim=1) == truth).double().mean()
            return {"test_accuracy": float(hits), "test_log_loss": float(-own.log().mean())}

        return score

    # -- prediction -------------------------------------------------------------------

    def _admitted(self, X: Any) -> Any:
        check_is_fitted(self)
        device = self.embedding_.weights.device
        return admit_any(self, X, self.kernel_.takes, device, reset=False)

    def _streamed(self, stream: Rows, method: Callable[[Any], np.ndarray]) -> np.ndarray:
        check_is_fitted(self)
        parts = [P for _, P in over_chunks(self, stream, method)]
        if not parts:
            raise InvalidInput("X must hold at least 1 row, got a stream of none.")
        return np.concatenate(parts)

    def decision_probabilities(self, X: Any) -> np.ndarray:
        """The raw ``p_hat`` (n x m): consistent as the data grow, neither clipped nor normalized."""
        if (stream := as_rows(X)) is not None:
            return self._streamed(stream, self.decision_probabilities)
        rows = self._admitted(X)
        return _to_numpy(self.embedding_.decision_probabilities(rows))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Clip-normalized probabilities (n x m); rows sum to one, nothing is exactly zero."""
        if (stream := as_rows(X)) is not None:
            return self._streamed(stream, self.predict_proba)
        rows = self._admitted(X)
        P = _to_numpy(self.embedding_.probabilities(rows))
        return P / P.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba` (n x m), always finite."""
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        winners = self.predict_proba(X).argmax(
            axis=1
        )  # before classes_: unfitted use is told first
        return self.classes_[winners]

    def decision_function(self, X: Any) -> np.ndarray:
        """``p_hat`` (n, m); for two classes the difference of their probabilities (n,).

        As everywhere in scikit-learn it is positive where the second class is predicted.
        """
        P = self.decision_probabilities(X)
        if P.shape[1] > 2:
            return P
        P = self.predict_proba(X)
        return P[:, 1] - P[:, 0]

    def predict_entropy(self, X: Any, estimator: str = "clip-normalized") -> np.ndarray:
        """Entropy of the label in nats (n numbers), by one of the paper's two estimators.

        "clip-normalized": ``-sum p log p`` of the probabilities. "embedding": ``<mu, u>`` with
        ``u = -log p_hat`` where ``p_hat > 0`` and 0 elsewhere, which may be slightly negative
        where the model is certain.
        """
        estimators = {"clip-normalized": clip_normalized_entropy, "embedding": embedding_entropy}
        if estimator not in estimators:
            raise InvalidInput(
                f"`estimator` must be 'clip-normalized' or 'embedding', got {estimator!r}."
            )
        P = (
            self.predict_proba(X)
            if estimator == "clip-normalized"
            else self.decision_probabilities(X)
        )
        return estimators[estimator](P)

    def expectation(self, g: Any, X: Any) -> np.ndarray:
        """``E[g(Y) | X = x]`` as ``<mu(x), g> = sum_c g(c) p_hat_c(x)`` (n numbers).

        ``g`` is one number a class in the order of ``classes_``, or a function of a label.
        """
        check_is_fitted(self)
        values = numbers_of_classes(g, self.classes_)
        return self.decision_probabilities(X) @ values

    def risk_bound(
        self, confidence: float = 0.95, *, domain: Any = None, epsilon: float | None = None
    ) -> bounds.RiskBound:
        """Theorem 4 for the fitted model, every term by name.

        With weights n is their sum, so it speaks of weighted risk, and rests on weights that
        are counts of independent rows. ``domain=(low, high)``, each one number a column, is the
        box that inputs stay in: a kernel without a supremum everywhere has one there.
        """
        check_is_fitted(self)
        if self._own_probabilities is None:
            raise InvalidInput(
                "risk_bound needs the probabilities of all training rows, which partial_fit, forget and streams "
                "do not keep; call fit on all rows at once."
            )
        if domain is not None:
            like = self.embedding_.weights
            ends = bounds.box(domain, getattr(self, "n_features_in_", None))
            domain = tuple(torch.as_tensor(end).to(like) for end in ends)
        alpha = float(self.kernel_.supremum(domain)) ** 0.5
        return bounds.risk_bound(
            self._own_probabilities,
            alpha * self._norm,
            confidence,
            self.objective.epsilon if epsilon is None else epsilon,
            self._own_weights,
        )

    # -- files ------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the fitted model in one file, whole or not at all; `torte.load` reads it.

        The file holds arrays and JSON, no pickle and no code: what predicts, what was learned
        and the history of learning, the settings, and for feature maps the sums that
        `partial_fit` continues. The same model gives the same bytes.
        """
        check_is_fitted(self)
        persistence.save(self, path)


savable_estimator(MCEClassifier, check_classifier)


def _to_numpy(P: Tensor) -> np.ndarray:
    return P.double().cpu().numpy()
