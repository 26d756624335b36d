"""Tables of any library as pandas data frames, and the kind of each of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torte.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_of", "kind_of", "pandas"]

_OBJECTS = {  # what pandas.api.types.infer_dtype says of a column of Python objects
    "boolean": "boolean",
    "integer": "numeric",
    "floating": "numeric",
    "mixed-integer-float": "numeric",
    "decimal": "numeric",
    "datetime": "date",
    "datetime64": "date",
    "date": "date",
    "string": "categorical",
    "mixed-integer": "categorical",
    "categorical": "categorical",
    "empty": "categorical",
}


def pandas() -> Any:
    """The pandas module; tables of mixed columns need it, arrays of numbers do not."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "tables of mixed columns need pandas; install it with pip install 'torte[frames]'."
        ) from error
    return pandas


def frame_of(table: Any) -> pd.DataFrame:
    """A pandas, polars or pyarrow table, or anything pandas makes a data frame of, by column names."""
    pd = pandas()
    if isinstance(table, pd.DataFrame):
        frame = table.copy(deep=False)
    elif type(table).__module__.split(".")[0] in ("polars", "pyarrow"):
        whole = table.collect() if type(table).__name__ == "LazyFrame" else table
        frame = whole.to_pandas()
    else:
        try:
            frame = pd.DataFrame(table).infer_objects()
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"X must be a table: a pandas, polars or pyarrow data frame, or rows of cells, got "
                f"{type(table).__name__} ({error})."
            ) from error
    frame.columns = [str(name) for name in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InvalidInput(
            f"the table must name each column once, got {twice[0]!r} more than once; rename or drop one."
        )
    return frame


def kind_of(column: Any) -> str:
    """ "numeric", "boolean", "categorical", "ordinal" or "date", by its dtype, or by its objects."""
    pd = pandas()
    types, dtype = pd.api.types, column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordinal" if dtype.ordered else "categorical"
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return "date"
    if types.is_complex_dtype(dtype):
        raise InvalidInput(f"column {column.name!r} must hold real numbers, got complex ones.")
    if types.is_numeric_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        return "numeric"
    if isinstance(dtype, pd.StringDtype):
        return "categorical"
    inferred = types.infer_dtype(column, skipna=True)
    if inferred not in _OBJECTS:
        cell = column.dropna().iloc[0]
        raise InvalidInput(
            f"column {column.name!r} must hold numbers, text, truth values or dates, got {type(cell).__name__} "
            f"({inferred}); turn its cells into one of these, or drop the column."
        )
    return _OBJECTS[inferred]
