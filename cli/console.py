"""Print a command's output to stdout and everything else to stderr; load rich only for colour."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.status import Status

    from slangad.compiler.errors.diagnostics import Diagnostic

MOST_NAMES = 3
"""Names in one line: of subjects that run, or of files that changed. Larger: longer lines."""
BROKEN_PIPE = 141
"""Exit code after the reader of stdout closed it; a shell shows the same code for SIGPIPE."""


def gets_colour(stream: TextIO, *, asked: bool | None) -> bool:
    """Return True if a stream gets colour: by the user's option, else NO_COLOR, else FORCE_COLOR, else a terminal."""
    if asked is not None:
        return asked
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


@dataclass(frozen=True)
class Progress:
    """The line on a terminal that says how far a command is."""

    status: Status
    label: str

    def __call__(self, done: int, total: int, names: Sequence[str] = ()) -> None:
        """Show the numbers and what runs now."""
        shown = ", ".join((*names[:MOST_NAMES], *(["…"] if len(names) > MOST_NAMES else [])))
        self.status.update(f"{self.label} {done}/{total}" + (f": {shown}" if shown else ""))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Remove the line while other text is printed."""
        self.status.stop()
        try:
            yield
        finally:
            self.status.start()


@dataclass
class Session:
    """One run of the command line: verbosity, colour, document. Click passes it to every command."""

    verbosity: int = 0
    color: bool | None = None
    debug: bool = False
    document: dict[str, object] | None = None
    """Fields of the document on stdout besides the outcome; a command sets it under ``--format json``."""
    start: float = field(default_factory=time.perf_counter)
    """The time when the command began."""

    @cached_property
    def console(self) -> Console:
        """Return the console on stderr, without markup, because compiler messages contain brackets."""
        from rich.console import Console

        return Console(
            stderr=True,
            markup=False,
            highlight=False,
            force_terminal=self.color,
            no_color=None if self.color is None else not self.color,
            color_system="standard" if self.color else "auto",
        )

    @property
    def colored(self) -> bool:
        """Return True if stderr gets colour."""
        return gets_colour(sys.stderr, asked=self.color)

    def say(self, text: str, level: int = 0) -> None:
        """Print a line to stderr if the verbosity is at least ``level``: 0 for the summary, 1 for details."""
        if self.verbosity >= level:
            click.echo(text, err=True)

    def elapsed(self) -> str:
        """Return the time since the command began, to end its summary with, on a terminal or under ``-v``."""
        if self.verbosity < 1 and not sys.stderr.isatty():
            return ""
        from slangad.compiler.report.figures import duration

        return f" in {duration(time.perf_counter() - self.start)}"

    def show(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Print diagnostics to stderr, or add them to the document; print only errors under ``-q``."""
        if self.document is not None:
            from slangad.compiler.report.json import diagnostic_records

            known = self.document.setdefault("diagnostics", [])
            assert isinstance(known, list)  # noqa: S101  (only this method sets it)
            known += diagnostic_records(diagnostics)
            return
        shown = [d for d in diagnostics if self.verbosity >= 0 or d.severity.value == "error"]
        if not self.colored:
            from slangad.compiler.report.text import render

            click.echo(render(shown), err=True, nl=False)
            return
        from slangad.compiler.report.terminal import texts_of

        for text in texts_of(shown):
            self.console.print(text, soft_wrap=True)

    def finish(self, exit_code: int) -> None:
        """Print the document under ``--format json``."""
        if self.document is not None:
            from slangad.compiler.report import json

            outcome = {"ok": exit_code == 0, "exit_code": exit_code}
            self.write(json.document({**outcome, "diagnostics": [], **self.document}))

    def write(self, content: str | bytes) -> None:
        """Write the command's output to stdout; exit silently if the reader has closed it.

        Raises:
            ToolchainError: Stdout can't be written, for example on a full disk.
        """
        data = content.encode() if isinstance(content, str) else content
        stream = sys.stdout.buffer
        try:
            stream.write(data)
            stream.flush()
        except BrokenPipeError:
            discard_stdout()
            raise click.exceptions.Exit(BROKEN_PIPE) from None
        except OSError as error:
            from slangad.compiler.toolchain.messages.failures import failed

            discard_stdout()
            raise failed(
                "SA405", f"can't write to stdout: {error.strerror}", help="make room, or name a file"
            ) from None

    @contextmanager
    def progress(self, label: str) -> Iterator[Progress | None]:
        """Yield the progress line, or None without a terminal or under ``-q``."""
        if self.verbosity < 0 or self.document is not None or not sys.stderr.isatty():
            yield None
            return
        with self.console.status(label) as status:
            yield Progress(status, label)


def discard_stdout() -> None:
    """Redirect stdout to the null device, so that the flush at exit can't fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
