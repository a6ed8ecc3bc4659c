"""Define diagnostics, slangad's messages about the user's program. They are data; the terminal and JSON render them.

``SlangadError`` has three families: ``CompileError`` (the user's program), ``ToolchainError`` (Slang, a C++ compiler or
a device), ``CheckFailed`` (a gradient is wrong). Anything else that escapes is a defect of slangad.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from slangad.compiler.errors.cells import with_cell_names
from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.errors.tracebacks import users_frames

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from slangad.compiler.errors.examples import Example

MAX_DIAGNOSTICS = 20


class Severity(str, Enum):
    """The severity of a diagnostic. Only errors stop a compile."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message about one place.

    Attributes:
        code: Stable, ``SA`` and three digits; ``slangad explain CODE`` and docs/errors.md tell more.
        message: One line: what is wrong.
        span: The token one would edit.
        label: Short text under the caret, may be empty.
        help: The remedy; may be empty.
        notes: Further facts, one line each.
    """

    code: str
    message: str
    span: Span = NOWHERE
    label: str = ""
    help: str = ""
    notes: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR


class SlangadError(Exception):
    """Base of all errors meant for users; ``exit_code`` is the documented one."""

    exit_code = 70

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: the user's own lines, then the message."""
        frames = traceback.format_tb(users_frames(self.__traceback__))
        return [with_cell_names(text) for text in (*frames, f"{type(self).__name__}: {self}")]


class CompileError(SlangadError):
    """The user's program was rejected."""

    exit_code = 1

    def __init__(self, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(f"{d.span}: {d.severity.value}[{d.code}]: {d.message}" for d in self.diagnostics))

    def __reduce__(self) -> tuple[type[CompileError], tuple[tuple[Diagnostic, ...]]]:
        """Return what rebuilds the error, because errors come from worker processes too."""
        return type(self), (self.diagnostics,)


class ToolchainError(SlangadError):
    """A compiler, validator or device is missing or failed; the user's program may be fine."""

    exit_code = 4

    def __init__(self, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(f"{d.severity.value}[{d.code}]: {d.message}" for d in self.diagnostics))

    def __reduce__(self) -> tuple[type[ToolchainError], tuple[tuple[Diagnostic, ...]]]:
        """Return what rebuilds the error, because errors come from worker processes too."""
        return type(self), (self.diagnostics,)


class CheckFailed(SlangadError):  # noqa: N818  (reads as what happened)
    """A gradient check found a wrong derivative."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Explanation:
    """The meaning of a code, as ``slangad explain`` and docs/errors.md show it.

    Attributes:
        title: One line: what is wrong.
        text: One or more paragraphs: why it is wrong, and what to do.
        wrong: A program and a command that give the code.
        right: The same without the mistake: it gives no diagnostic.
        no_example: The reason why no program gives the code; empty if there is an example.
    """

    title: str
    text: str
    wrong: Example | None = None
    right: Example | None = None
    no_example: str = ""


def with_helps(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Return lines of text: each diagnostic, and its help below it. Repeated diagnostics are left out."""
    lines: list[str] = []
    for d in dict.fromkeys(diagnostics):
        lines.append(f"{d.span}: {d.severity.value}[{d.code}]: {d.message}")
        lines += [f"help: {d.help}"] if d.help else []
    return lines


def nearest_of(name: str, known: Iterable[str]) -> str:
    """Return a help for an unknown name: the nearest known one, then all of them."""
    from difflib import get_close_matches

    names = [*known]
    near = get_close_matches(name, names, n=1)
    there = f"it has: {', '.join(names) or 'none'}"
    return f"did you mean {near[0]}? {there}" if near and len(names) > 1 else there


def similar_file(path: Path) -> str:
    """Return a help for a file that is not there: one of a similar name in its folder, empty if there is none."""
    from difflib import get_close_matches

    try:
        names = [] if path.exists() else [other.name for other in path.parent.iterdir()]
    except OSError:
        names = []
    near = get_close_matches(path.name, names, n=1)
    return f"did you mean {path.with_name(near[0])}?" if near else ""
