"""Which features a step of learning leaves out of a row: drawn for the row's numbers, not its place."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["row_masks"]

# The finalizer of MurmurHash3: every bit of a word changes every other.
_ODD = (0xFF51AFD7ED558CCD - 2**64, 0xC4CEB9FE1A85EC53 - 2**64)
_BITS = 31


def row_masks(X: Tensor, p: int, share: float, seed: int) -> Tensor:
    """What is kept of p features in each row (n x p, boolean), all but a ``share`` of them.

    The mask is a hash of the row's numbers and the seed: as good as drawn, independent between
    rows that differ, and the same wherever a row comes again. So a row given twice is one of
    weight two, and the rest of a batch has no say.
    """
    source = torch.Generator().manual_seed(seed)

    def words(count: int) -> Tensor:
        return torch.randint(-(2**63), 2**63 - 1, (count,), generator=source).to(X.device)

    whole = torch.int64 if X.element_size() == 8 else torch.int32
    bits = (X.detach() + 0.0).contiguous().view(whole).long()  # + 0.0: there are two zeros
    bits = bits ^ _upper(bits)  # the lower ones of round numbers are zero, and would stay it
    # Sums of whole numbers wrap around exactly, in whatever order: no rounding enters.
    mixed = (bits * words(X.shape[1])).sum(dim=1, keepdim=True) ^ words(p)
    for odd in _ODD:
        mixed = (mixed ^ _upper(mixed)) * odd
    return _upper(mixed) >= share * 2**_BITS


def _upper(word: Tensor) -> Tensor:
    """The upper 31 of 64 bits, as a number of at least 0."""
    return (word >> 33) & (2**_BITS - 1)
