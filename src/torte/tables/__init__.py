"""Tables with columns of every kind: encoded to numbers, and classified by a kernel of columns."""

from torte.tables.classifier import TableClassifier
from torte.tables.encoder import TableEncoder

__all__ = ["TableClassifier", "TableEncoder"]
