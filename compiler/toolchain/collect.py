"""Events of running compiles are gathered, job by job, into results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.toolchain.events import Code, Event, Front, Reflection
from slangad.compiler.toolchain.messages import SlangMessage, parse_messages
from slangad.compiler.toolchain.request import Artefact, CompileJob, CompileResult
from slangad.compiler.toolchain.staging import real_dependencies, unstage

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.diagnostics import Diagnostic


class Collector:
    """Everything known so far of one job; ``result`` puts it in the job's order, whatever order it came in."""

    def __init__(self, job: CompileJob, staged: Path) -> None:
        self.job = job
        self.staged = staged
        self.code: dict[tuple[str, str], bytes] = {}
        self.reflection: dict[tuple[str, str], str] = {}
        self.messages: dict[SlangMessage, None] = {}
        self.dependencies: set[str] = set()
        self.diagnostics: list[Diagnostic] = []

    def add(self, event: Event) -> None:
        """Take in one event."""
        if isinstance(event, Front):
            self._say(event.output)
            self.dependencies.update(event.dependencies)
        elif isinstance(event, Reflection):
            self.reflection[event.target, event.entry] = event.text
        elif isinstance(event, Code):
            self._say(event.output)
            if event.data is not None:
                self.code[event.target, event.entry] = event.data

    def result(self) -> CompileResult:
        """What became of the job."""
        units = self.job.units()
        return CompileResult(
            artefacts=tuple(Artefact(*unit, self.code[unit]) for unit in units if unit in self.code),
            reflection=tuple((*unit, self.reflection[unit]) for unit in units if unit in self.reflection),
            messages=tuple(self.messages),
            diagnostics=tuple(self.diagnostics),
            dependencies=real_dependencies(self.dependencies, self.staged),
        )

    def _say(self, output: str) -> None:
        for message in parse_messages(output):
            self.messages.setdefault(unstage(message, self.staged, self.job))
