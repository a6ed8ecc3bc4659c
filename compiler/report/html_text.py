"""Text of a report inside HTML: any string goes in, one that is nothing but text there comes out."""

from __future__ import annotations

from html import escape

from slangad.compiler.report.figures import encodable
from slangad.compiler.report.text import display


def html(text: str) -> str:
    """Return the text escaped for elements and quoted attributes, on one line, without characters that steer."""
    return escape(encodable(display(text)))
