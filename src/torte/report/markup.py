"""HTML as a tree, so that every text is escaped by whoever writes the tree down."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

__all__ = [
    "E",
    "Element",
    "data_table",
    "figure",
    "fitted",
    "number",
    "percent",
    "render",
    "shortened",
]


def E(tag: str, *children: Element | str | None, **attributes: Any) -> Element:
    """An element: ``E("p", "text", E("b", "bold"), class_="note", aria_label="...")``.

    An underscore in an attribute's name is a hyphen, the last one is dropped; an attribute that
    is None is left out, and so is a child that is None.
    """
    node = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            text = f"{value:.5g}" if isinstance(value, float) else str(value)
            node.set(name.rstrip("_").replace("_", "-"), text)
    last: Element | None = None
    for child in children:
        if isinstance(child, str):
            if last is None:
                node.text = (node.text or "") + child
            else:
                last.tail = (last.tail or "") + child
        elif child is not None:
            node.append(child)
            last = child
    return node


def render(node: Element) -> str:
    """The element as HTML."""
    return ET.tostring(node, encoding="unicode", method="html")


def number(value: float, digits: int = 3) -> str:
    """A number for reading: three significant digits, thousands separated."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A share with one digit behind the point."""
    return f"{100 * share:.1f} %"


def shortened(text: str, length: int) -> str:
    """The text, cut with an ellipsis where it is longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _width(text: str) -> float:
    """The width of a text in units of its font's size, about."""
    narrow, wide = set("fijlrtI.,:;|!'()[] -"), set("mwMW@%—…<>=+")
    return sum(0.36 if c in narrow else 0.92 if c in wide else 0.62 for c in text)


def fitted(text: str, width: float, size: float = 13.0) -> str:
    """The text, cut with an ellipsis where a drawing has no room for it.

    >>> from torte.report.markup import fitted
    >>> fitted("sepal length", 200.0), fitted("sepal length", 50.0)
    ('sepal length', 'sepal…')
    """
    if size * _width(text) <= width:
        return text
    length = len(text) - 1
    while length > 1 and size * _width(text[:length] + "…") > width:
        length -= 1
    return text[:length].rstrip() + "…"


def figure(drawing: Element, title: str, note: str | None = None, wide: bool = False) -> Element:
    """A drawing below its title, and what one should know to read it."""
    caption = E("figcaption", E("strong", title), E("span", note) if note else None)
    return E("figure", caption, drawing, class_="wide" if wide else None)


def data_table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    sortable: bool = True,
    identity: str | None = None,
) -> Element:
    """A table whose columns sort on a click; a cell is a text, a number, or (value, how it is shown)."""

    def cell(value: Any) -> Element:
        key, shown = value if isinstance(value, tuple) else (value, value)
        is_number = isinstance(key, (int, float))
        whole = None
        if isinstance(shown, (int, float)):
            shown = number(shown) if isinstance(shown, float) else f"{shown:,}"
        if sortable and len(shown) > 40:
            shown, whole = shortened(shown, 40), shown
        return E(
            "td",
            shown,
            title=whole,
            data_value=repr(key) if is_number else str(key),
            class_="number" if is_number else None,
        )

    def header(i: int, name: str) -> Element:
        first = rows[0][i] if rows else ""
        key = first[0] if isinstance(first, tuple) else first
        kind = "number" if isinstance(key, (int, float)) else None
        short = shortened(name, 32)
        label = E("button", short, type="button") if sortable else short
        return E("th", label, scope="col", class_=kind, title=name if short != name else None)

    body = E(
        "table",
        E("caption", caption, class_="hidden"),
        E("thead", E("tr", *[header(i, name) for i, name in enumerate(head)])),
        E("tbody", *[E("tr", *map(cell, row)) for row in rows]),
        class_="sortable" if sortable else None,
        id=identity,
    )
    # A scrolling region takes the keyboard's focus, so that it scrolls without a mouse.
    return E("div", body, class_="scroll", tabindex="0", role="region", aria_label=caption)
