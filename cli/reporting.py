"""Write the reports of a check: one in the wanted format, others to files."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from slangad.cli.parameters import NamedFile
from slangad.compiler.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from slangad.cli.console import Progress, Session
    from slangad.compiler.report.model import Report, Result
    from slangad.compiler.report.text import Line


class ReportFile(NamedFile):
    """``format=file``."""

    name = "format=file"
    form = f"a format ({', '.join(FORMATS)}) and a file, such as junit=a.xml"

    def accepts(self, name: str, file: Path) -> bool:
        """Return True for a known format, and a file that is no folder."""
        return name in FORMATS and not file.is_dir()


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
        from slangad.compiler.toolchain.atomic import write_atomically

        write_atomically(output, text.encode())


@contextmanager
def _write_errors(output: Path | None) -> Iterator[None]:
    """Turn errors of writing into diagnostics that name the output."""
    from slangad.compiler.toolchain.messages.failures import failed

    try:
        yield
    except OSError as error:
        where = output if output is not None else "the report"
        raise failed("SA405", f"can't write {where}: {error.strerror}", help="choose another location") from None
