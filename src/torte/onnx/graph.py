"""A graph under construction, and the tables of what can be written into one.

As in torte.kernels a kernel works in two acts, and a feature map in one; a class of your own
joins with functions of your own:

    @represents(Tent)  # rows X -> their representation; left out, it is the rows themselves
    def tent_rows(graph, kernel, X): ...

    @compares(Tent)  # representation A, anchors (a tensor, or tuples of them) -> k(x, x_i), n x N
    def tent(graph, kernel, A, anchors): ...

    @maps(Spline)  # rows X -> features, n x p
    def spline(graph, features, X): ...

Rows and results are names of values in the graph; constants are arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from torte.errors import InvalidInput

__all__ = ["Graph", "compares", "library", "maps", "represents"]

OPSET, IR = 17, 8  # of 2022: any runtime of the last years reads them
F = TypeVar("F", bound=Callable[..., Any])
Table = dict[type, Callable[..., Any]]
_REPRESENTS: Table = {}
_COMPARES: Table = {}
_MAPS: Table = {}


def library() -> Any:
    """The onnx package, imported when a graph is made."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "torte.onnx needs the library onnx; install it with: pip install 'torte[onnx]'"
        ) from error
    return onnx


def _entering(table: Table, classes: tuple[type, ...]) -> Callable[[F], F]:
    def enter(function: F) -> F:
        table.update(dict.fromkeys(classes, function))
        return function

    return enter


def represents(*classes: type) -> Callable[[F], F]:
    """The function writes the representation of rows by kernels of exactly these classes."""
    return _entering(_REPRESENTS, classes)


def compares(*classes: type) -> Callable[[F], F]:
    """The function writes the comparison with the anchors of kernels of exactly these classes."""
    return _entering(_COMPARES, classes)


def maps(*classes: type) -> Callable[[F], F]:
    """The function writes feature maps of exactly these classes."""
    return _entering(_MAPS, classes)


class Graph:
    """Nodes and constants of one precision; `op` adds a node and returns its result's name.

    It begins with rows ``X`` (n x d). ``like`` is a tensor of the model's own precision.
    """

    def __init__(self, dtype: str, d: int, like: Tensor):
        self.dtype, self.like = np.dtype(dtype), like
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._onnx, self._d = library(), d
        self._widths = {"X": d}

    def _info(self, name: str, kind: Any, shape: list[Any] | None) -> Any:
        number = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self._onnx.helper.make_tensor_value_info(name, number, shape)

    def model(self, outputs: dict[str, tuple[Any, list[Any] | None]]) -> Any:
        """The whole as an ONNX model; outputs by name, each with its type and shape."""
        graph = self._onnx.helper.make_graph(
            self.nodes,
            "torte",
            [self._info("X", self.dtype, ["n", self._d])],
            [self._info(name, kind, shape) for name, (kind, shape) in outputs.items()],
            self.constants,
        )
        opsets = [self._onnx.helper.make_opsetid("", OPSET)]
        return self._onnx.helper.make_model(
            graph, opset_imports=opsets, ir_version=IR, producer_name="torte"
        )

    def width(self, X: str) -> int:
        """The number of columns of rows."""
        if X not in self._widths:
            known = self._onnx.shape_inference.infer_shapes(self.model({X: (self.dtype, None)}))
            shape = known.graph.output[0].type.tensor_type.shape
            self._widths[X] = int(shape.dim[1].dim_value)
        return self._widths[X]

    def constant(self, value: Any) -> str:
        """The name of a constant: integers as indices, other numbers in the graph's precision."""
        array = value.cpu().double().numpy() if isinstance(value, Tensor) else np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        name = f"c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(self, kind: str, *inputs: Any, name: str = "", **attributes: Any) -> str:
        """A node; inputs that are not names become constants."""
        names = [part if isinstance(part, str) else self.constant(part) for part in inputs]
        result = name or f"v{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, names, [result], **attributes))
        return result

    def cast(self, X: str, dtype: Any) -> str:
        """The same numbers in another precision."""
        return self.op("Cast", X, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def columns(self, X: str, positions: Any) -> str:
        """Some columns of rows, in this order."""
        chosen = self.op("Gather", X, np.asarray(positions, dtype=np.int64), axis=1)
        self._widths[chosen] = len(positions)
        return chosen

    def row_sums(self, X: str) -> str:
        """Sums over the columns (n x 1)."""
        return self.op("ReduceSum", X, np.array([1]), keepdims=1)

    def represent(self, kernel: Any, X: str) -> Any:
        """The representation of rows: a name, or tuples of names."""
        write = _REPRESENTS.get(type(kernel))
        return X if write is None else write(self, kernel, X)

    def compare(self, kernel: Any, A: Any, anchors: Any) -> str:
        """``k(x, x_i)`` of represented rows and anchors (n x N)."""
        return _known(_COMPARES, kernel, "compares")(self, kernel, A, anchors)

    def features(self, features: Any, X: str) -> str:
        """``phi(x)`` of rows (n x p)."""
        return _known(_MAPS, features, "maps")(self, features, X)


def _known(table: Table, value: Any, decorator: str) -> Callable[..., Any]:
    if type(value) in table:
        return table[type(value)]
    have = ", ".join(sorted(cls.__name__ for cls in table))
    raise InvalidInput(
        f"`model` holds {type(value).__name__}, which cannot be written as ONNX; known are {have}. Enter a function of "
        f"your own with torte.onnx.{decorator}({type(value).__name__})."
    )
