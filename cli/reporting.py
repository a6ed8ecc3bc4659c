"""Write the reports of a check: one in the wanted format, others to files."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slangad.compiler.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.cli.console import Progress, Session
    from slangad.compiler.report.model import Report, Result
    from slangad.compiler.report.text import Line


class ReportFile(click.ParamType[tuple[str, Path]]):
    """``format=file``."""

    name = "format=file"

    def convert(
        self, value: str | tuple[str, Path], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """Parse the word."""
        if isinstance(value, tuple):
            return value
        name, _, file = value.partition("=")
        if name not in FORMATS or not file or Path(file).is_dir():
            self.fail(f"{value!r} is not a format ({', '.join(FORMATS)}) and a file, such as junit=a.xml.", param, ctx)
        return name, Path(file)


class LiveRows:
    """Print the rows of a check on stdout as they are decided, in colour on a terminal.

    Args:
        session: The session.
        progress: Its progress line.
    """

    def __init__(self, session: Session, progress: Progress | None) -> None:
        from slangad.compiler.report.check_text import RowLines

        self._session = session
        self._pause = nullcontext if progress is None else progress.paused
        self._rows = RowLines(detail=session.verbosity > 0)

    def plan(self, names: Sequence[str], notes: Sequence[str]) -> None:
        """Set the names of the next rows, and the notes on their file."""
        self._rows.plan(names, notes)

    def show(self, result: Result) -> None:
        """Print one row."""
        with self._pause():
            self._print(self._rows.of(result))

    def finish(self, report: Report) -> None:
        """Print failures and summary, after the progress line is gone."""
        from slangad.compiler.report.check_text import lines_after_rows

        self._print(lines_after_rows(report))

    def _print(self, lines: Iterable[Line]) -> None:
        from slangad.compiler.report.check_text import joined

        if not (self._session.colored and sys.stdout.isatty()):
            with _write_errors(None):
                self._session.write(joined(lines))
            return
        from rich.console import Console

        from slangad.compiler.report.terminal import text_of

        console = Console(markup=False, highlight=False, force_terminal=True, color_system="standard")
        for line in lines:
            console.print(text_of(line), soft_wrap=True)


def publish_all(
    session: Session,
    report: Report,
    name: str,
    output: Path | None,
    others: Sequence[tuple[str, Path]],
    rows: LiveRows | None,
) -> None:
    """Write every wanted report; those in ``rows`` are on stdout already.

    Raises:
        ToolchainError: A report can't be written; the reports after it are not written.
    """
    summarized = False
    for kind, file in others:
        _publish(session, report, kind, file, summarized=summarized)
        summarized |= kind == "github"
    if rows is not None:
        rows.finish(report)
        return
    _publish(session, report, name, output, summarized=summarized)


def _publish(session: Session, report: Report, name: str, output: Path | None, *, summarized: bool) -> None:
    from slangad.compiler.report.formats import publish

    with _write_errors(output):
        environment = {} if summarized else os.environ
        write = partial(_write_to, session, output)
        publish(report, name, write, environment, detail=session.verbosity > 0)


def write_text(session: Session, text: str, output: Path | None) -> None:
    """Write a text to a file, or to stdout for None and ``-``.

    Raises:
        ToolchainError: It can't be written.
    """
    with _write_errors(output):
        _write_to(session, output, text)


def _write_to(session: Session, output: Path | None, text: str) -> None:
    if output is None or str(output) == "-":
        session.write(text)
    else:
        _write(output, text)


@contextmanager
def _write_errors(output: Path | None) -> Iterator[None]:
    """Turn errors of writing into diagnostics that name the output."""
    from slangad.compiler.toolchain.messages.failures import failed

    try:
        yield
    except OSError as error:
        where = output if output is not None else "the report"
        raise failed("SA405", f"can't write {where}: {error.strerror}", help="choose another location") from None


def _write(path: Path, text: str) -> None:
    """Write a file atomically; write to a device or pipe directly."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        path.write_text(text, encoding="utf-8")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
