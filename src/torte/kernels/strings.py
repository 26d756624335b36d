"""The spectrum kernel: substrings that two strings, or sequences of anything, have in common."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from torte._forms import savable
from torte.errors import InvalidInput
from torte.kernels.counts import Counting, Counts, Pieces, count_pieces
from torte.parameters import positive

__all__ = ["Spectrum", "encode"]

_END = ""  # the mark before and after a string: no character, and not allowed as a token


def encode(items: Sequence[Any], ends: bool = False) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Sequences as whole numbers one after another, where each begins (n + 1), and the symbols.

    >>> from torte.kernels.strings import encode
    >>> encode(["ab", "cab"])
    (array([0, 1, 2, 0, 1]), array([0, 2, 5]), ['a', 'b', 'c'])
    """
    for row, item in enumerate(items):
        if not isinstance(item, (str, list, tuple, np.ndarray)):
            raise InvalidInput(
                f"X must hold strings or sequences of symbols, got {item!r} in row {row}; fill or drop rows without one."
            )
        if len(item) == 0:
            raise InvalidInput(
                f"X must hold strings or sequences that are not empty, got {item!r} in row {row}; drop such rows, "
                f"or put a word of your own in their place."
            )
    begins = np.concatenate([[0], np.cumsum([len(item) for item in items], dtype=np.int64)])
    if all(isinstance(item, str) for item in items):
        text = "".join(items).encode("utf-32-le", "surrogatepass")
        points, codes = np.unique(np.frombuffer(text, dtype="<u4"), return_inverse=True)
        symbols: list[Any] = [chr(point) for point in points]
    else:
        known: dict[Any, int] = {}
        try:
            codes = np.array([known.setdefault(s, len(known)) for item in items for s in item])
        except TypeError as error:
            raise InvalidInput(
                f"X must hold sequences of symbols that can be told apart (hashable ones: text, numbers), got {error}; "
                f"turn each into text first."
            ) from None
        symbols = list(known)
    if ends:
        if _END in symbols:
            raise InvalidInput(
                "X must hold no empty text as a symbol where `ends` marks them with it."
            )
        codes = np.insert(codes, np.repeat(begins, 2)[1:-1], len(symbols))
        begins = begins + 2 * np.arange(len(begins))
        symbols.append(_END)
    return codes, begins, symbols


_LONGEST = 1000


@savable
@dataclass(frozen=True, eq=False)
class Substrings(Pieces):
    """Substrings as a tree: one of length l is one of length l - 1, its stem, and a symbol.

    ``levels[l - 1]`` holds the sorted numbers ``stem * len(symbols) + symbol`` of all substrings of
    length l; a stem is a place in the level before. Exact for any length and any symbols.
    """

    symbols: list[Any]
    levels: tuple[np.ndarray, ...]
    lengths: tuple[int, ...]

    def places(self, other: Self) -> list[np.ndarray]:
        theirs = {symbol: place for place, symbol in enumerate(other.symbols)}
        alike = np.array([theirs.get(symbol, -1) for symbol in self.symbols])
        place, found = alike, {1: alike}
        for length in range(2, max(self.lengths) + 1):
            mine, known = self.levels[length - 1], other.levels[length - 1]
            stem, symbol = place[mine // len(self.symbols)], alike[mine % len(self.symbols)]
            wanted = stem * len(other.symbols) + symbol
            at = np.searchsorted(known, wanted)
            there = (stem >= 0) & (symbol >= 0) & (at < len(known))
            there[there] = known[at[there]] == wanted[there]
            place = np.where(there, at, -1)
            found[length] = place
        return [found[length] for length in self.lengths]


@dataclass(frozen=True)
class Spectrum(Counting):
    """Common substrings: ``k(x, y) ~ sum_l w_l <c_l(x), c_l(y)>``, with ``k(x, x) = 1``.

    ``c_l(x)`` counts the substrings of length l, scaled to length one; the weight of each
    length is learned, and they count up to a common factor only. Rows are strings, or lists
    of any hashable symbols, words for instance.

    Parameters
    ----------
    lengths : int or sequence of int
        Lengths of substrings; a number k is 1, ..., k.
    weights : numbers or None
        One for each length; None starts them equal.
    ends : bool
        Whether the beginning and the end of a string count as symbols, so that "^un" and
        "ng$" are pieces of their own.

    >>> from torte.kernels import Spectrum
    >>> Spectrum(lengths=2)(["abab", "ab", "xyz"]).round(3)
    array([[1.   , 0.947, 0.   ],
           [0.947, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    lengths: int | tuple[int, ...] = (1, 2, 3)
    weights: float | tuple[float, ...] | None = positive(None, from_data=True)
    ends: bool = False

    def __post_init__(self) -> None:
        lengths: Any = self.lengths
        if isinstance(lengths, (int, np.integer)) and not isinstance(lengths, bool):
            lengths = range(1, min(int(lengths), _LONGEST + 1) + 1)
        try:
            lengths = tuple(int(length) for length in lengths)
        except (TypeError, ValueError):
            lengths = ()
        different = len(set(lengths)) == len(lengths)
        if not lengths or min(lengths) < 1 or max(lengths) > _LONGEST or not different:
            raise InvalidInput(
                f"`lengths` of Spectrum must be a whole number of at least 1, or different ones, got {self.lengths!r}; "
                f"{_LONGEST} is the most."
            )
        object.__setattr__(self, "lengths", lengths)
        self._spread_weights(len(lengths))
        super().__post_init__()

    def _told(self) -> Hashable:
        return self.lengths, self.ends

    def _makes(self, pieces: Pieces) -> bool:
        if not isinstance(pieces, Substrings) or pieces.lengths != self.lengths:
            return False
        return len(pieces.levels) == max(pieces.lengths)

    def tally(self, items: Sequence[Any]) -> Counts:
        codes, begins, symbols = encode(items, self.ends)
        lengths: tuple[int, ...] = self.lengths  # type: ignore[assignment]
        start = np.arange(len(codes))
        row = np.repeat(np.arange(len(items)), np.diff(begins))
        left = begins[row + 1] - start  # symbols from here to the end of the row
        levels, layers = [np.arange(len(symbols))], {}
        piece = codes.astype(np.int64)
        for length in range(1, max(lengths) + 1):
            if length > 1:
                here = left >= length
                row, left, start = row[here], left[here], start[here]
                number = piece[here] * len(symbols) + codes[start + length - 1]
                level, piece = np.unique(number, return_inverse=True)
                levels.append(level)
            layers[length] = count_pieces(row, piece, (len(items), max(1, len(levels[-1]))))
        pieces = Substrings(symbols, tuple(levels), lengths)
        return Counts(tuple(layers[length] for length in lengths), pieces)
