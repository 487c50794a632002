"""Displays of results in notebooks."""

from __future__ import annotations

import html
import os
from pathlib import Path

SHOWN = 40
"""The most rows of a table in a notebook."""


class Report:
    """A page of HTML that a notebook shows inline. The page works without a network.

    Parameters
    ----------
    page
        The whole page, as HTML.
    height
        The height of the frame in a notebook, in pixels.
    """

    def __init__(self, page: str, height: int = 700) -> None:
        self.html = page
        """The whole page."""
        self.height = height
        """The height of the frame in pixels."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to the file ``path``."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # A page of Markdown takes HTML without blank lines.
        source = html.escape(self.html, quote=True).replace("\n", "&#10;")
        return (
            f'<iframe srcdoc="{source}" width="100%" height="{self.height}" '
            'style="border:0" sandbox="allow-scripts"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<broadleaf.Report: {len(self.html)} characters of HTML>"


def html_table(header: list[str], rows: list[list[str]], total: int | None = None) -> str:
    """The first rows of a table of ``total`` rows."""

    def cells(of: list[str], tag: str) -> str:
        return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in of)

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows[:SHOWN])
    hidden = (len(rows) if total is None else total) - SHOWN
    more = f"<p>{hidden:,} more rows</p>" if hidden > 0 else ""
    return f"<table><thead><tr>{cells(header, 'th')}</tr></thead><tbody>{body}</tbody></table>{more}"


def html_list(sentences: list[str]) -> str:
    """The sentences as a list; nothing without a sentence."""
    if not sentences:
        return ""
    return "<ul>" + "".join(f"<li>{html.escape(text)}</li>" for text in sentences) + "</ul>"
