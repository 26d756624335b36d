"""Tables in files: what a file is, reading it whole or in pieces, writing all or nothing."""

from torte._files import atomic, check_writable
from torte.tabular.reading import as_frame, batches, read_table
from torte.tabular.sources import FORMATS, Source, open_source
from torte.tabular.writing import TableWriter

__all__ = [
    "FORMATS",
    "Source",
    "TableWriter",
    "as_frame",
    "atomic",
    "batches",
    "check_writable",
    "open_source",
    "read_table",
]
