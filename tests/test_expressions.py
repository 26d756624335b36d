"""Kernel expressions as text: what is printed can be read again, and nothing else is run."""

from __future__ import annotations

import pytest

from laws import KERNELS, Cosine
from torte.errors import InvalidInput
from torte.expressions import parse_kernel
from torte.features import Fourier, Network, Nystroem, Polynomials
from torte.kernels import Gaussian, Kernel

ITSELF = [kernel for kernel in KERNELS if "Cosine" not in repr(kernel)]
MAPS = [
    Fourier(Gaussian(ard=True), n_components=64),
    Nystroem(Gaussian(2.0), n_components=10),
    Network((16, 8), activation="relu"),
    Polynomials(2),
]


@pytest.mark.parametrize("value", [*ITSELF, *MAPS, Gaussian() @ Network((4,))], ids=repr)
def test_what_is_printed_is_read_as_the_same_value(value):
    assert parse_kernel(repr(value)) == value


def test_the_law_s_list_was_not_emptied():
    assert len(ITSELF) == sum("Cosine" not in repr(k) for k in KERNELS) > 15
    assert issubclass(Cosine, Kernel)


REFUSED = {
    "": "invalid syntax",
    "Gaussian(": "never closed",
    "Gaussian": r"write Gaussian\(\), with parentheses",
    "Gauss()": "Gauss is not known; known are .*Gaussian",
    "Cosine()": "Cosine is not known",
    "3": "3 is no kernel",
    "2 * 3": "one side of 2 and 3 must be a kernel",
    "9 ** 9 ** 9 ** 9": "must be a kernel",
    "Gaussian() ** 0.5": "exponent must be a whole number",
    "Gaussian() - Linear()": "'Gaussian.. - Linear..' is not allowed",
    "__import__('os').system('true')": "__import__.* is not allowed",
    "Gaussian().__class__": "is not allowed",
    "Gaussian().gram(1)": "is not allowed",
    "Gaussian(length_scale=open('x'))": "open is not known",
    "Gaussian(**{})": r"\*\* is not allowed in a call",
    "Gaussian(width=1.0)": "unexpected keyword argument 'width'",
    "Gaussian(-1.0)": "`length_scale` of Gaussian must be a positive number",
    "Module(1)": "Module is not known",
    "[Gaussian() for x in 'ab']": "is not allowed",
    "(lambda: Gaussian())()": "is not allowed",
    "Gaussian() + 'a'": "unsupported operand",
    "(" * 3000 + "Gaussian()" + ")" * 3000: "too many nested parentheses|nested too deeply",
    "Gaussian()" + " + Gaussian()" * 5000: "at most 10000 characters, got 65010",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidInput, match=REFUSED[text]):
        parse_kernel(text)
