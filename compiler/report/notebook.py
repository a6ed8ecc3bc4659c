"""Show results in notebooks: tables, Slang in colours, pages in a frame."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.html_text import html

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_CELL: Final = "text-align:left;padding:2px 12px 2px 0;font-family:monospace;white-space:pre-wrap"
_COLOURS: Final = {
    "comment": "#6a737d",
    "text": "#0a6640",
    "attribute": "#8250df",
    "word": "#cf222e",
    "type": "#0550ae",
    "number": "#953800",
}
_TOKEN: Final = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<text>\"[^\"\n]*\")"
    r"|(?P<attribute>\[[A-Z]\w*(?:\([^\]]*\))?\](?=\s))"
    r"|(?P<word>\b(?:struct|if|else|for|while|return|break|continue|import|module|public|static|const|inout|in|out|no_diff|extension|interface|This|this)\b)"
    r"|(?P<type>\b(?:void|bool|DifferentialPair|(?:RW)?(?:StructuredBuffer|ByteAddressBuffer|Texture2D)|(?:float|half|double|u?int)(?:[1-4](?:x[1-4])?)?)\b)"
    r"|(?P<number>\b\d+(?:\.\d*)?(?:[eE][-+]?\d+)?[a-zA-Z]?)",
    re.DOTALL,
)


def html_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    head = "".join(f'<th style="{_CELL}">{html(title)}</th>' for title in titles)
    lines = ("".join(f'<td style="{_CELL}">{html(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_slang(text: str, title: str = "") -> str:
    """Return Slang, or a shading language like it, in colours; under a title it is folded."""
    code = f'<pre style="line-height:1.35;overflow-x:auto"><code>{"".join(_coloured(text))}</code></pre>'
    return f"<details><summary>{html(title)}</summary>{code}</details>" if title else code


def _coloured(text: str) -> Iterator[str]:
    end = 0
    for token in _TOKEN.finditer(text):
        yield escape(text[end : token.start()])
        yield f'<span style="color:{_COLOURS[token.lastgroup or ""]}">{escape(token.group())}</span>'
        end = token.end()
    yield escape(text[end:])


def html_frame(page: str) -> str:
    """Return a page as a frame, so that its styles stay inside."""
    return f'<iframe srcdoc="{escape(page)}" style="width:100%;height:520px;border:1px solid #ccc"></iframe>'
