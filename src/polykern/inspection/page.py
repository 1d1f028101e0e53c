"""One HTML page that needs nothing else: no script, no request, readable on a phone and on paper."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from html import escape
from os import PathLike
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The fonts of the page and of its figures: what the reader's machine has.
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
_ANY_FONT = re.compile(r"'DejaVu Sans'[^;\"]*")
_STYLE = Path(__file__).with_name("page.css")
_FRAME = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<header>
<p class="mark">polykern</p>
<h1>$title</h1>
<p class="lead">$lead</p>
</header>
<main>
$body
</main>
<footer>$footer</footer>
</body>
</html>
""")


class Page:
    """A page that is filled from top to bottom and written to one file; every method returns the page itself."""

    def __init__(self, title: str, lead: str = "", footer: str = "") -> None:
        self._title, self._lead, self._footer = title, lead, footer
        self._parts: list[str] = []

    def heading(self, text: str) -> Page:
        """A heading."""
        return self._add(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> Page:
        """A paragraph."""
        return self._add(f"<p>{escape(text)}</p>")

    def numbers(self, numbers: Sequence[tuple[str, str]]) -> Page:
        """A row of large (figure, what it is)."""
        cells = (f"<div><dt>{escape(what)}</dt><dd>{escape(figure)}</dd></div>" for figure, what in numbers)
        return self._add(f'<dl class="numbers">{"".join(cells)}</dl>')

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> Page:
        """A table; the first column is text on the left, the others are numbers on the right."""
        head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
        body = "\n".join(_row(row) for row in rows)
        caption = f'<p class="note">{escape(note)}</p>' if note else ""
        table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
        return self._add(f'<div class="wide">{table}</div>{caption}')

    def figures(self, figures: Sequence[tuple[Figure, str]]) -> Page:
        """Figures with their captions, side by side where there is room."""
        return self._add(f'<div class="figures">{"".join(_figure(*figure) for figure in figures)}</div>')

    def code(self, code: str) -> Page:
        """Lines of code or plain text, as they are."""
        return self._add(f"<pre><code>{escape(code.strip())}</code></pre>")

    def details(self, summary: str, text: str) -> Page:
        """Plain text that opens on a click."""
        inner = f"<summary>{escape(summary)}</summary><pre><code>{escape(text.strip())}</code></pre>"
        return self._add(f"<details>{inner}</details>")

    def render(self) -> str:
        """The page as HTML."""
        return _FRAME.substitute(
            title=escape(self._title),
            lead=escape(self._lead),
            style=_STYLE.read_text(encoding="utf-8"),
            body="\n".join(self._parts),
            footer=escape(self._footer),
        )

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page to `path`, and return where it is."""
        target = Path(path)
        target.write_text(self.render(), encoding="utf-8")
        return target.resolve()

    def _add(self, part: str) -> Page:
        self._parts.append(part)
        return self


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    return f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in others)}</tr>'


def _figure(figure: Figure, caption: str) -> str:
    picture = f'<img src="{_data_address(figure)}" alt="{escape(caption)}">'
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def _data_address(figure: Figure) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(_svg(figure).encode("utf-8")).decode("ascii")


def _svg(figure: Figure) -> str:
    """The figure as SVG: sharp on paper and at any zoom, in the font of the page, and the same for the same figure."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "polykern"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _ANY_FONT.sub(_FONT, buffer.getvalue())
