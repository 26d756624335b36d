"""Model files: one file a model, versioned and checked; no pickle, no code.

What can be stored is told in _forms.py, how it lies in the file in _container.py.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from typing import Any

import torch

from torte import _container
from torte._arrays import compute_device
from torte._forms import Decoder, Encoder, NeedsMore, savable
from torte.errors import ModelFileError, TorteError

__all__ = ["load", "savable", "save"]


def save(value: Any, path: str | os.PathLike[str]) -> None:
    """Store a value in one file: whole or not at all, the same bytes for the same value.

    >>> import tempfile, torte
    >>> from torte import persistence
    >>> from torte.kernels import Gaussian
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     persistence.save(2.0 * Gaussian(0.5), f"{folder}/kernel.torte")
    ...     torte.load(f"{folder}/kernel.torte")
    2.0 * Gaussian(length_scale=0.5)
    """
    encoder = Encoder()
    form = encoder.form(value)
    contents = {
        "torte": importlib.metadata.version("torte"),
        "torch": torch.__version__,
        "device": encoder.device,
        "modules": dict(sorted(encoder.modules.items())),
        "value": form,
    }
    _container.write(path, encoder.arrays, contents)


def load(
    path: str | os.PathLike[str],
    *,
    device: str | None = None,
    recipe: Callable[[], Any] | None = None,
) -> Any:
    """What `MCEClassifier.save` stored, ready to predict; nothing in the file is executed.

    Parameters
    ----------
    path : path of a model file
    device : str or None
        "cpu", "cuda", "mps" or "auto"; None is the device that the model was fitted on.
    recipe : callable or None
        For a model with the feature map `Module`, whose network is code: the function that
        makes it. The weights are in the file.

    Raises `ModelFileError` for a file that is truncated, altered, foreign or of a newer format,
    and where a class or recipe is missing that the file needs.

    >>> import tempfile, torte
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = torte.MCEClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/iris.torte")
    ...     same = torte.load(f"{folder}/iris.torte")
    >>> bool((same.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    wanted = None if device is None else compute_device(device)
    arrays, contents = _container.read(path)
    try:
        there = wanted or compute_device(contents["device"])
        return Decoder(arrays, contents["modules"], there, recipe).value(contents["value"], 0)
    except NeedsMore as error:
        raise ModelFileError(f"{path} {error}") from error
    except Exception as error:  # the parts do not make a model, in whatever way
        said = str(error) if isinstance(error, TorteError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{path} cannot be made into a model: {said[:300]}") from error
