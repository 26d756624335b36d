"""torte: conditional kernel mean embeddings on PyTorch, behind scikit-learn's contract."""

from torte.classifier import MCEClassifier

__all__ = ["MCEClassifier"]
__version__ = "0.1.0"
