"""The same classifier over dask arrays and dataframes, on any cluster of dask.distributed."""

from importlib import import_module

try:
    for _name in ("dask.array", "dask.dataframe", "pandas"):
        import_module(_name)
except ImportError as error:
    raise ImportError(
        "torte.dask needs dask, distributed and pandas: pip install 'torte[dask]'"
    ) from error

from torte.dask.classifier import DaskMCEClassifier
from torte.dask.partitions import tree as _tree  # noqa: F401 - benchmarks/rates.py times both
from torte.dask.workers import added as _added  # noqa: F401

__all__ = ["DaskMCEClassifier"]
