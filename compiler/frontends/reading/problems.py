"""Collect the errors of a description, so that all are reported at once."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import MAX_DIAGNOSTICS, CompileError, Diagnostic, Severity
from slangad.compiler.frontends.reading.wording import PYTHON, Wording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.errors.spans import Span


class Rejected(Exception):  # noqa: N818  (control flow, not an error users see)
    """An expression was reported and has no meaning."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a help that names the nearest known word, empty if none is near."""
    near = difflib.get_close_matches(word, [*known], n=1, cutoff=0.72)
    return f"did you mean '{near[0]}'?" if near else ""


class Problems:
    """The diagnostics of one description, in the words of its language. Sorted by location, without repeats."""

    def __init__(self, wording: Wording = PYTHON) -> None:
        self.wording = wording
        self._diagnostics: dict[Diagnostic, None] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        """Add one."""
        self._diagnostics.setdefault(diagnostic)

    def error(self, code: str, span: Span, message: str, *, label: str = "", help: str = "") -> Rejected:  # noqa: A002
        """Add an error and return the exception to raise if the expression can't be lowered further."""
        self.add(Diagnostic(code, message, span, label, help))
        return Rejected(message)

    def __len__(self) -> int:
        return len(self._diagnostics)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return all of them, by file, line and column."""
        return tuple(sorted(self._diagnostics, key=lambda d: (d.span, d.code, d.message)))

    def raise_if_any(self) -> None:
        """Raise ``CompileError`` when there is an error.

        Raises:
            CompileError: with all errors so far. After ``MAX_DIAGNOSTICS`` the last one counts the rest.
        """
        if any(d.severity is Severity.ERROR for d in self._diagnostics):
            shown = list(self.sorted()[:MAX_DIAGNOSTICS])
            if len(self) > len(shown):
                shown[-1] = replace(shown[-1], notes=(*shown[-1].notes, f"and {len(self) - len(shown)} more"))
            raise CompileError(shown)
