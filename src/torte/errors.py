"""Errors and warnings: one root each, every one also the type a caller already catches."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning as _ConvergenceWarning

__all__ = [
    "BrokenDataset",
    "ConvergenceWarning",
    "DoesNotFit",
    "FallbackWarning",
    "InterruptedWarning",
    "InvalidInput",
    "JitterWarning",
    "MissingClassWarning",
    "ModelFileError",
    "NoSupremum",
    "NotConverged",
    "NotPositiveDefinite",
    "PrecisionWarning",
    "TorteError",
    "TorteWarning",
    "UnwritableFile",
    "WideFeaturesWarning",
    "WrongType",
]


class TorteError(Exception):
    """Root of every error that torte raises itself."""


class InvalidInput(TorteError, ValueError):
    """An argument or a table is not what was expected; the text says what to do."""


class WrongType(InvalidInput, TypeError):
    """A cell of a table holds neither a number nor text that could be one."""


class UnwritableFile(InvalidInput, OSError):
    """The path given for a result cannot be written, or the disk took only a part of it."""


class BrokenDataset(TorteError, OSError):
    """A dataset could not be read or fetched, or is not the one that is recorded."""


class ModelFileError(TorteError, ValueError):
    """A file is not a model of torte, or not a whole one, or needs something that is not there."""


class NoSupremum(TorteError, ValueError):
    """The kernel has no finite ``sup k(x, x)`` on the domain that was asked for."""


class NotPositiveDefinite(TorteError, np.linalg.LinAlgError):
    """``K + n lambda I`` cannot be factorized, not even with the largest jitter."""


class NotConverged(TorteError, RuntimeError):
    """An iteration ended before its answer was as accurate as it has to be."""


class DoesNotFit(TorteError, MemoryError):
    """What was asked for needs more memory than there is; nothing was allocated."""


class TorteWarning(UserWarning):
    """Root of every warning of torte."""


class JitterWarning(TorteWarning):
    """A factorization needed more on its diagonal than ``n lambda``."""


class ConvergenceWarning(TorteWarning, _ConvergenceWarning):  # type: ignore[misc]
    """Learning stopped before its tolerance was reached."""


class FallbackWarning(TorteWarning):
    """The solver that "auto" chose did not converge, and another one did the work."""


class InterruptedWarning(TorteWarning):
    """Ctrl-C ended learning; the best hyperparameters so far are kept."""


class MissingClassWarning(TorteWarning):
    """Some batches hold no row of some class."""


class PrecisionWarning(TorteWarning):
    """A float32 factorization failed and was done in float64 instead."""


class WideFeaturesWarning(TorteWarning):
    """A feature map has more features than there are rows: the kernel form costs less."""
