"""Kernel expressions as text: ``parse_kernel`` reads what ``repr`` of a kernel prints."""

from __future__ import annotations

import ast
import operator
from typing import Any, NoReturn

from torte import features, kernels
from torte.errors import InvalidInput
from torte.kernels import Kernel
from torte.maps import FeatureMap
from torte.parameters import Parametric

__all__ = ["parse_kernel"]

LONGEST = 10_000  # characters
OPERATORS = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.MatMult: operator.matmul,
    ast.Pow: operator.pow,
}
METHODS = ("on", "fix")


def _names() -> dict[str, type[Parametric]]:
    """The kernels and maps that an expression may call; a module of code is none of them."""
    found = {
        name: value
        for room in (kernels, features)
        for name in room.__all__
        if isinstance(value := getattr(room, name), type) and issubclass(value, Parametric)
    }
    return {n: v for n, v in found.items() if n not in ("Kernel", "FeatureMap", "Module")}


def parse_kernel(text: str) -> Kernel | FeatureMap:
    """A kernel or feature map from its expression; nothing but kernels, maps and numbers is run.

    >>> from torte.expressions import parse_kernel
    >>> parse_kernel("Matern32() * Gaussian(2.0).on('age') + 0.1 * Linear()")
    Matern32() * Gaussian(length_scale=2.0).on('age') + 0.1 * Linear()
    """
    if len(text) > LONGEST:
        raise InvalidInput(
            f"`kernel` must be an expression of at most {LONGEST} characters, got {len(text)}."
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
        value = _Reader(text).value(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, InvalidInput):
            raise
        _refuse(text, getattr(error, "msg", None) or "it is nested too deeply")
    except TypeError as error:  # a call with arguments that the class does not have
        _refuse(text, str(error).replace("__init__()", "").replace("  ", " "))
    if not isinstance(value, (Kernel, FeatureMap)):
        _refuse(text, f"{value!r} is no kernel")
    return value


def _refuse(text: str, reason: str) -> NoReturn:
    raise InvalidInput(
        f"`kernel` must be an expression of kernels and numbers such as 0.5 * Gaussian(ard=True) + Linear(), got "
        f"{text[:80]!r}: {reason}."
    ) from None


class _Reader:
    """Walks a syntax tree of which only numbers, texts, calls of kernels and +, *, @, ** count."""

    def __init__(self, text: str):
        self.text, self.names = text, _names()

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() | str() | None as plain):
                return plain
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return self._combined(self.value(left), sign, self.value(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                if name not in self.names:
                    _refuse(
                        self.text, f"{name} is not known; known are {', '.join(sorted(self.names))}"
                    )
                return self.names[name](*self._each(args), **self._named(keywords))
            case ast.Call(func=ast.Attribute(value=inner, attr=method), args=args, keywords=[]) if (
                method in METHODS
            ):
                kernel = self.value(inner)
                if not isinstance(kernel, Kernel):
                    _refuse(self.text, f".{method}() is for kernels, got {kernel!r}")
                return getattr(kernel, method)(*self._each(args))
            case ast.Name(id=name) if name in self.names:
                _refuse(self.text, f"write {name}(), with parentheses")
        _refuse(self.text, f"{ast.unparse(node)[:60]!r} is not allowed in it")

    def _each(self, nodes: list[ast.expr]) -> list[Any]:
        return [self.value(node) for node in nodes]

    def _named(self, keywords: list[ast.keyword]) -> dict[str, Any]:
        if any(word.arg is None for word in keywords):
            _refuse(self.text, "** is not allowed in a call")
        return {str(word.arg): self.value(word.value) for word in keywords}

    def _combined(self, left: Any, sign: ast.operator, right: Any) -> Any:
        if not isinstance(left, Kernel) and not isinstance(right, Kernel):
            _refuse(self.text, f"one side of {left!r} and {right!r} must be a kernel")
        if isinstance(sign, ast.Pow) and not isinstance(right, int):
            _refuse(self.text, f"the exponent must be a whole number, got {right!r}")
        return OPERATORS[type(sign)](left, right)
