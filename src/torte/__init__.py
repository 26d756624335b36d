"""torte: conditional kernel mean embeddings on PyTorch, behind scikit-learn's contract."""

from torte.classifier import MCEClassifier
from torte.persistence import load

__all__ = ["MCEClassifier", "load"]
__version__ = "0.1.0"
