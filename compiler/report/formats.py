"""List every format of a check's report by its name on the command line.

A format is imported when it is used. ``slangad check --format NAME --output FILE`` needs only
``publish(report, NAME, write)``. To add a format: add a row here, a file beside it, and a row in docs/ci.md.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.report.model import Report

FORMATS: Final[dict[str, str]] = {
    "text": "slangad.compiler.report.check_text:render_check",
    "json": "slangad.compiler.report.check_json:check_json",
    "junit": "slangad.compiler.report.junit:junit_xml",
    "sarif": "slangad.compiler.report.sarif:sarif_json",
    "github": "slangad.compiler.report.github:workflow_commands",
    "html": "slangad.compiler.report.html:html_page",
    "svg": "slangad.compiler.report.picture:svg_picture",
}
"""Names of ``--format`` and the functions that write them, ``Report -> str``."""
SUFFIXES: Final[dict[str, str]] = {
    ".sarif.json": "sarif",
    ".json": "json",
    ".xml": "junit",
    ".sarif": "sarif",
    ".html": "html",
    ".svg": "svg",
    ".txt": "text",
}
"""Ends of file names, and the format of such a file if none is named."""


def format_of(file: str) -> str:
    """Return the format of a file by its ending; text if no format has that ending."""
    return next((name for suffix, name in SUFFIXES.items() if file.lower().endswith(suffix)), "text")


def render(report: Report, name: str, *, detail: bool = False) -> str:
    """Return the report in one format; ``detail`` is of text, the others have it all."""
    module, _, function = FORMATS[name].partition(":")
    write = getattr(import_module(module), function)
    text = write(report, detail=True) if detail and name == "text" else write(report)
    assert isinstance(text, str)  # noqa: S101  (the table above is ours)
    return text


def publish(
    report: Report,
    name: str,
    write: Callable[[str], object],
    environment: Mapping[str, str] = os.environ,
    *,
    detail: bool = False,
) -> None:
    """Give the report in one format to ``write``; ``github`` also adds to the summary of the step, if there is one.

    Raises:
        OSError: The summary can't be written.
    """
    write(render(report, name, detail=detail))
    if name == "github":
        from slangad.compiler.report.github import add_step_summary

        add_step_summary(report, environment)
