"""Every format of a check's report by its name on the command line: a ``Report`` goes in, a text comes out.

A format is imported when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from slangad.compiler.report.model import Report

FORMATS: Final[dict[str, str]] = {
    "text": "slangad.compiler.report.check_text:render_check",
    "json": "slangad.compiler.report.check_json:check_json",
}
"""Names of ``--format`` and the functions that write them, ``Report -> str``."""


def render(report: Report, name: str) -> str:
    """The report in one format."""
    module, _, function = FORMATS[name].partition(":")
    text = getattr(import_module(module), function)(report)
    assert isinstance(text, str)  # noqa: S101  (the table above is ours)
    return text
