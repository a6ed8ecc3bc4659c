"""Define the input and output of the toolchain as plain values: a job (Slang text, entry points, targets), its result.

The cache compares and hashes jobs. Jobs are sent to workers and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.toolchain.messages.messages import SlangMessage

DEFAULT_TIME_LIMIT = 120.0
"""Seconds one job may take; Slang needs well under one."""


@dataclass(frozen=True, slots=True)
class CompileJob:
    """One Slang text to be compiled for some targets.

    Attributes:
        name: The text's file name, as in ``fit.slang``: names the module, and appears in messages.
        source: The Slang text.
        entry_points: Compute entry points, in the order of the results.
        targets: Names from ``targets.TARGETS``, without repetition.
        modules: Further files that ``source`` may import: file name and text.
        include_dirs: Further folders for ``import`` and ``#include``.
        defines: Preprocessor macros: name and value.
        optimization: 0 to 3, as slangc's ``-O``.
        whole: True for one artefact per target with all entry points; else one per entry point and target.
        extra_arguments: Further slangc arguments, given last.
        declarations: Instead of code, reflect what the module declares (see ``declarations``), with these functions
            looked up by name. Needs one target and ``whole``.
        without: Targets with entry points that are not wanted for them.
        installed: Module files that the job imports and that seldom change. They may be read in binary form.
        time_limit: Seconds until the job counts as hanging.
    """

    name: str
    source: str
    entry_points: tuple[str, ...]
    targets: tuple[str, ...]
    modules: tuple[tuple[str, str], ...] = ()
    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    optimization: int = 1
    whole: bool = False
    extra_arguments: tuple[str, ...] = ()
    declarations: tuple[str, ...] | None = None
    without: tuple[tuple[str, str], ...] = ()
    installed: tuple[str, ...] = field(default=(), compare=False)
    time_limit: float = field(default=DEFAULT_TIME_LIMIT, compare=False)

    def units(self) -> tuple[tuple[str, str], ...]:
        """Return every (target, entry) to be produced; the entry is empty for an artefact of all entry points."""
        entries = ("",) if self.whole else self.entry_points
        units = ((target, entry) for target in self.targets for entry in entries)
        return tuple(unit for unit in units if unit not in self.without)


Macros = tuple[tuple[str, str], ...]
"""Names and texts."""
ModuleKey = tuple[str, str, Macros]
"""A module that a job imports: its name or file, its text (empty if installed), and the macros that it sees."""


def module_of(name: str, text: str, job: CompileJob) -> ModuleKey:
    """Return the key of a module that a job imports."""
    return name, text, job.defines


@dataclass(frozen=True, slots=True)
class Artefact:
    """Code for one target: of one entry point, or (``entry`` empty) of all."""

    target: str
    entry: str
    data: bytes

    @property
    def text(self) -> str:
        """The code of a text target."""
        return self.data.decode("utf-8")


@dataclass(frozen=True, slots=True)
class CompileResult:
    """The result of one job.

    Attributes:
        artefacts: The artefacts in the order of ``CompileJob.units``, without those that failed.
        reflection: Target and entry (as in the artefacts) with Slang's reflection of it, a JSON text.
        messages: Slang's messages, in positions of the Slang text, without repetition.
        diagnostics: Errors around Slang: a crash, a time limit, a missing tool.
        dependencies: Files on disk that the source imported or included, absolute, sorted.
        cached: True if it comes from the cache.
    """

    artefacts: tuple[Artefact, ...] = ()
    reflection: tuple[tuple[str, str, str], ...] = ()
    messages: tuple[SlangMessage, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    dependencies: tuple[str, ...] = ()
    cached: bool = False

    def artefact(self, target: str, entry: str = "") -> Artefact | None:
        """Return the code for one target and entry point, if it was produced."""
        return next((a for a in self.artefacts if a.target == target and a.entry == entry), None)

    def reflection_text(self, target: str, entry: str = "") -> str | None:
        """Return Slang's reflection JSON for one target and entry point."""
        return next((text for t, e, text in self.reflection if t == target and e == entry), None)

    @property
    def ok(self) -> bool:
        """Return True if nothing went wrong: no error from Slang, none around it."""
        return not self.diagnostics and not any(message.is_error for message in self.messages)
