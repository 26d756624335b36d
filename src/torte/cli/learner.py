"""The classifier that the commands fit: a table's, with what the options ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torte.tables import TableClassifier

__all__ = ["new_classifier"]


def new_classifier(
    *,
    kernel: str | None = None,
    class_weight: str | None = None,
    seed: int = 0,
    verbose: int = 0,
    **settings: Any,
) -> TableClassifier:
    """An unfitted `TableClassifier` from the texts of a command line."""
    from torte._settings import SOLVERS
    from torte.classifier import MCEClassifier
    from torte.errors import InvalidInput
    from torte.expressions import parse_kernel
    from torte.tables import TableClassifier

    if (solver := settings.get("solver", "auto")) not in SOLVERS:
        raise InvalidInput(f"`--solver` must be {', '.join(SOLVERS)}, got {solver!r}.")
    if class_weight not in (None, "balanced"):
        raise InvalidInput(f"`--class-weight` must be 'balanced', got {class_weight!r}.")
    parsed = None if kernel is None else parse_kernel(kernel)
    estimator = MCEClassifier(
        parsed, class_weight=class_weight, random_state=seed, verbose=verbose, **settings
    )
    return TableClassifier(estimator)
