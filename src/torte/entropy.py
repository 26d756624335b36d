"""The paper's two estimators of the entropy of a label (appendix A)."""

from __future__ import annotations

import numpy as np

__all__ = ["clip_normalized_entropy", "embedding_entropy"]


def clip_normalized_entropy(P: np.ndarray) -> np.ndarray:
    """``-sum_c p_c log p_c`` of clip-normalized probabilities (n x m), n numbers in nats.

    >>> import numpy as np
    >>> from torte.entropy import clip_normalized_entropy
    >>> clip_normalized_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3)
    array([0.693, 0.   ])
    """
    return embedding_entropy(P)


def embedding_entropy(P: np.ndarray) -> np.ndarray:
    """``<mu, u> = sum_c p_hat_c u_c`` of raw ``p_hat`` (n x m), n numbers in nats.

    ``u_c = -log p_hat_c`` where ``p_hat_c > 0``, and 0 elsewhere.

    >>> import numpy as np
    >>> from torte.entropy import embedding_entropy
    >>> embedding_entropy(np.array([[0.5, 0.6], [1.1, -0.1]])).round(3)
    array([ 0.653, -0.105])
    """
    positive = np.where(P > 0, P, 1.0)
    return 0.0 - (positive * np.log(positive)).sum(axis=1)  # 0.0 - 0.0 is 0.0, where -0.0 is not
