"""Figures of fitted models, drawn with matplotlib in the manner of scikit-learn's displays.

Every display has ``from_estimator(estimator, ..., ax=None)``, which computes and draws, and
``plot(ax=None)``, which draws again; ``ax_`` and ``figure_`` are what was drawn on.
"""

from sklearn.metrics import ConfusionMatrixDisplay

from torte.plots.bounds import RiskBoundDisplay
from torte.plots.entropies import EntropyDisplay
from torte.plots.learning import LearningDisplay
from torte.plots.maps import DecisionMapDisplay
from torte.plots.relevance import PixelRelevanceDisplay, RelevanceDisplay
from torte.plots.reliability import ReliabilityDisplay

__all__ = [
    "ConfusionMatrixDisplay",
    "DecisionMapDisplay",
    "EntropyDisplay",
    "LearningDisplay",
    "PixelRelevanceDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "RiskBoundDisplay",
]
