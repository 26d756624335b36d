"""Rows that are not in memory: Parquet files, Arrow datasets and memory-mapped arrays."""

from torte.streams.arrow import ArrowRows
from torte.streams.fitting import as_rows, fit_rows
from torte.streams.predicting import Predicted, over_chunks, predictions, write_predictions
from torte.streams.rows import ArrayRows, Chunk, Rows

__all__ = [
    "ArrayRows",
    "ArrowRows",
    "Chunk",
    "Predicted",
    "Rows",
    "as_rows",
    "fit_rows",
    "over_chunks",
    "predictions",
    "write_predictions",
]
