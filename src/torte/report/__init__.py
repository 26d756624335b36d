"""One self-contained HTML page about a fitted model."""

from torte.report.page import build_page, write_report

__all__ = ["build_page", "write_report"]
