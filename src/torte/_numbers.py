"""What counts as a number in an argument: Python's and NumPy's, finite, and no booleans."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import Tensor

from torte.errors import InvalidInput

__all__ = ["demand_epsilon", "is_number", "is_whole", "numbers_in"]


def is_number(value: Any) -> bool:
    """Whether it is one finite number.

    >>> import numpy as np
    >>> from torte._numbers import is_number
    >>> is_number(np.float32(0.5)), is_number(float("inf")), is_number(True), is_number("1")
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False


def is_whole(value: Any) -> bool:
    """Whether it is one whole number, of a type for whole numbers.

    >>> import numpy as np
    >>> from torte._numbers import is_whole
    >>> is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def numbers_in(value: Any) -> np.ndarray | None:
    """One number (no dimension) or a sequence of them (one), in float64; None where it is neither.

    >>> from torte._numbers import numbers_in
    >>> numbers_in([1, 2.5]), numbers_in([[1.0]]), numbers_in([True]), numbers_in("1")
    (array([1. , 2.5]), None, None, None)
    """
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    try:
        cells = np.asarray(value, dtype=object)
        if cells.ndim > 1 or any(isinstance(cell, (bool, np.bool_, str)) for cell in cells.flat):
            return None
        numbers = cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if numbers.size and np.isfinite(numbers).all() else None


def demand_epsilon(epsilon: Any, owner: str = "") -> None:
    """Raise `InvalidInput` unless the floor of losses is in (0, 1/e), as Theorem 3 asks."""
    if not is_number(epsilon) or not 0 < epsilon < math.exp(-1):
        raise InvalidInput(
            f"`epsilon`{owner} must be a number between 0 and 1/e = 0.3679, got {epsilon!r}."
        )
