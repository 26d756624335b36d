"""The Weisfeiler-Lehman kernel: neighborhoods of nodes that two graphs have in common.

A neighborhood's name is a digest (128 bits) of what it is made of and of nothing else, so graphs
that are never seen together, in fit and in predict, are still compared exactly.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from torte._forms import savable
from torte.errors import InvalidInput
from torte.kernels.counts import Counting, Counts, Pieces, count_pieces
from torte.parameters import positive

__all__ = ["WeisfeilerLehman"]


@savable
@dataclass(frozen=True, eq=False)
class Neighborhoods(Pieces):
    """The sorted names of all neighborhoods of each depth."""

    names: tuple[np.ndarray, ...]

    def places(self, other: Self) -> list[np.ndarray]:
        found = []
        for mine, known in zip(self.names, other.names, strict=True):
            at = np.searchsorted(known, mine).clip(max=len(known) - 1)
            found.append(np.where(known[at] == mine, at, -1))
        return found


@dataclass(frozen=True)
class WeisfeilerLehman(Counting):
    """Common subtrees: ``k(G, H) ~ sum_h w_h <c_h(G), c_h(H)>`` for depths h = 0, ..., depth.

    ``c_h(G)`` counts the nodes of each kind, scaled to length one; two nodes are of one kind
    at depth 0 if they have the same label, and at depth h + 1 if they and their neighbors
    are of the same kinds at depth h (Shervashidze et al., 2011). The weight of each depth is
    learned, and ``k(G, G) = 1``. Rows of X are networkx graphs; this needs networkx.

    Parameters
    ----------
    depth : int
        How far a neighborhood reaches.
    weights : numbers or None
        One for each of the depths 0, ..., depth; None starts them equal.
    label, edge_label : str or None
        Attribute of nodes and of edges that tells their kind; without a label of nodes it is
        their degree.

    >>> import networkx as nx
    >>> from torte.kernels import WeisfeilerLehman
    >>> WeisfeilerLehman(1)([nx.path_graph(4), nx.path_graph(5), nx.cycle_graph(4)]).round(3)
    array([[1.   , 0.962, 0.354],
           [0.962, 1.   , 0.583],
           [0.354, 0.583, 1.   ]])
    """

    depth: int = 3
    weights: float | tuple[float, ...] | None = positive(None, from_data=True)
    label: str | None = None
    edge_label: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.depth, (int, np.integer)) or not 0 <= self.depth <= 1000:
            raise InvalidInput(
                f"`depth` of WeisfeilerLehman must be a whole number of at least 0, got {self.depth!r}; 1000 is the most."
            )
        self._spread_weights(self.depth + 1)
        super().__post_init__()

    def _told(self) -> Hashable:
        return self.depth, self.label, self.edge_label

    def _makes(self, pieces: Pieces) -> bool:
        return isinstance(pieces, Neighborhoods) and len(pieces.names) == self.depth + 1

    def tally(self, items: Sequence[Any]) -> Counts:
        graphs = [self._names(row, graph) for row, graph in enumerate(items)]
        row = np.repeat(np.arange(len(items)), [len(nodes) for nodes in graphs])
        layers, names = [], []
        for depth in range(self.depth + 1):
            kinds = np.array([node[depth] for nodes in graphs for node in nodes])
            known, kind = np.unique(kinds, return_inverse=True)
            layers.append(count_pieces(row, kind, (len(items), len(known))))
            names.append(known)
        return Counts(tuple(layers), Neighborhoods(tuple(names)))

    def _names(self, row: int, graph: Any) -> list[list[str]]:
        """For each node the names of its neighborhoods, from depth 0 on."""
        try:
            import networkx
        except ImportError as error:
            raise ImportError(
                "WeisfeilerLehman needs networkx: pip install 'torte[graphs]'."
            ) from error
        if not isinstance(graph, networkx.Graph):
            raise InvalidInput(
                f"X must hold networkx graphs, got {type(graph).__name__} in row {row}; networkx.from_numpy_array and "
                f"its like make one of most things."
            )
        if len(graph) == 0:
            raise InvalidInput(
                f"X must hold graphs with at least one node each, got an empty graph in row {row}; drop such rows."
            )
        kinds = {node: self._label(row, graph, node) for node in graph}
        names = [kinds]
        for _ in range(self.depth):
            kinds = {
                node: _name(kinds[node], *self._around(row, graph, node, kinds)) for node in graph
            }
            names.append(kinds)
        return [[each[node] for each in names] for node in graph]

    def _label(self, row: int, graph: Any, node: Any) -> str:
        if self.label is None:
            return _name(graph.degree(node))
        return _name(
            _attribute(graph.nodes[node], self.label, f"node {node!r} of the graph in row {row}")
        )

    def _around(self, row: int, graph: Any, node: Any, kinds: dict[Any, str]) -> list[str]:
        """Sorted names of edges and neighbors: first those it points to, then those that point to it."""
        sides = [graph.adj[node]] + ([graph.pred[node]] if graph.is_directed() else [])
        found: list[str] = []
        for side in sides:
            near = []
            for neighbor, data in side.items():
                for edge in data.values() if graph.is_multigraph() else [data]:
                    where = f"edge {node!r} - {neighbor!r} of the graph in row {row}"
                    kind = (
                        ""
                        if self.edge_label is None
                        else _name(_attribute(edge, self.edge_label, where))
                    )
                    near.append(kind + kinds[neighbor])
            found += ["|", *sorted(near)]
        return found


def _name(*parts: Any) -> str:
    """A digest of the text of some parts: equal for equal parts, on every machine."""
    return blake2b("\0".join(map(str, parts)).encode(), digest_size=16).hexdigest()


def _attribute(data: Any, name: str, where: str) -> Any:
    """The label of a node or an edge, known by its text; what is not hashable has no single one."""
    if name not in data:
        raise InvalidInput(
            f"X must hold graphs with a label {name!r} on all nodes or edges, got none on {where}."
        )
    try:
        hash(data[name])
    except TypeError:
        raise InvalidInput(
            f"X must hold graphs with labels that can be told apart (hashable ones: text, numbers, tuples), got "
            f"{data[name]!r} on {where}; turn it into a tuple or text."
        ) from None
    return data[name]
