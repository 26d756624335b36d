"""Names of results: an ending that promises something else is refused before the work begins."""

from __future__ import annotations

from pathlib import Path

__all__ = ["STANDARD", "check_output"]

STANDARD = "-"  # standard output, for every command that writes a result
TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".arrow", ".feather", ".ipc")
PLAIN = ("", ".txt", ".dat", ".out")  # they promise no format
# What each kind of result is, the endings that it may have, and those to propose.
KINDS = {
    "predictions": ((*TABLES, *PLAIN), "a table", ".csv, .tsv, .parquet or .feather"),
    "model": (("", ".torte", ".safetensors", ".model"), "a model file of torte", ".torte"),
    "page": (("", ".html", ".htm"), "a page of HTML", ".html"),
}


def check_output(path: str, kind: str) -> None:
    """Raise `InvalidInput` where a result of this kind could not, or should not, be at ``path``.

    >>> from torte.cli.outputs import check_output
    >>> check_output("out.xlsx", "predictions")
    Traceback (most recent call last):
    torte.errors.InvalidInput: `out.xlsx` ends in .xlsx, but what is written is a table; give a name that ends in .csv, .tsv, .parquet or .feather, each also with .gz.
    """
    from torte.errors import InvalidInput
    from torte.tabular import check_writable

    if path == STANDARD:
        return
    check_writable(path)
    allowed, what, proposed = KINDS[kind]
    name, packed = Path(path), ""
    if kind == "predictions":
        name, packed = Path(path.removesuffix(".gz")), ", each also with .gz"
    if name.suffix.lower() not in allowed:
        raise InvalidInput(
            f"`{path}` ends in {name.suffix}, but what is written is {what}; give a name that ends in {proposed}"
            f"{packed}."
        )
