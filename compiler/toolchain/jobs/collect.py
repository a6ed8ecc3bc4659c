"""Collect the events of running compiles into results, job by job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.errors.spans import Span
from slangad.compiler.toolchain.jobs.finishing import finished
from slangad.compiler.toolchain.jobs.reflection import corrected
from slangad.compiler.toolchain.jobs.request import Artefact, CompileJob, CompileResult
from slangad.compiler.toolchain.jobs.staging import real_dependencies, unstage
from slangad.compiler.toolchain.messages.messages import SlangMessage, parse_messages
from slangad.compiler.toolchain.workers.events import Event, Front, UnitCode, UnitReflection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.toolchain.workers.processes import ProcessDiedError


class Collector:
    """Everything known so far of one job; ``result`` puts it in the job's order, whatever order it came in."""

    def __init__(self, job: CompileJob, staged: Path) -> None:
        self.job = job
        self.staged = staged
        self._code: dict[tuple[str, str], bytes] = {}
        self._reflection: dict[tuple[str, str], str] = {}
        self._messages: dict[SlangMessage, set[str]] = {}
        self._printed = ""
        self._dependencies: set[str] = set()
        self._deaths: dict[tuple[str, str, bool], tuple[ProcessDiedError, list[str]]] = {}

    def add(self, event: Event) -> None:
        """Take in one event. Code that Slang delivers along with an error is not code."""
        if isinstance(event, Front):
            self._say(event.output, "")
            self._dependencies.update(event.dependencies)
            folders = {Path(path).parent for path in event.dependencies}  # Slang may leave out the file itself
            self._dependencies.update(path for path in self.job.installed if Path(path).parent in folders)
            self._printed = event.output or self._printed
        elif isinstance(event, UnitReflection):
            self._reflection[event.target, event.entry] = corrected(event.target, event.text)
        elif isinstance(event, UnitCode):
            failed = self._say(event.output, event.target)
            if event.data is not None and not failed:
                self._code[event.target, event.entry] = finished(event.target, event.data)

    def blame(self, death: ProcessDiedError, units: Iterable[tuple[str, str]], *, while_checking: bool) -> None:
        """Remember what the compiler's process died of, and over which units."""
        for target, entry in units:
            key = (death.how, "" if while_checking else entry, while_checking)
            self._deaths.setdefault(key, (death, []))[1].append(target)

    def result(self) -> CompileResult:
        """Return the result of the job."""
        units = self.job.units()
        return CompileResult(
            artefacts=tuple(Artefact(*unit, self._code[unit]) for unit in units if unit in self._code),
            reflection=tuple((*unit, self._reflection[unit]) for unit in units if unit in self._code),
            messages=tuple(replace(m, targets=self._in_order(targets)) for m, targets in self._messages.items()),
            diagnostics=(*(self._death_notice(*key) for key in sorted(self._deaths)), *self._unexplained()),
            dependencies=real_dependencies(self._dependencies),
        )

    def _say(self, output: str, target: str) -> bool:
        """Store Slang's messages, once for all targets; return True if one is an error."""
        messages = [unstage(message, self.staged, self.job) for message in parse_messages(output)]
        for message in messages:
            self._messages.setdefault(message, set()).update([target] if target else [])
        return any(message.is_error for message in messages)

    def _in_order(self, targets: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(targets, key=self.job.targets.index))

    def _unexplained(self) -> Iterator[Diagnostic]:
        """Return the error for a Slang compiler that gives neither code nor an error."""
        silent = [unit for unit in self.job.units() if unit not in self._code]
        if silent and not self._deaths and not any(message.is_error for message in self._messages):
            notes = tuple(self._printed.splitlines()[-3:])
            yield Diagnostic(
                "SA247", "the Slang compiler returned neither code nor an error", notes=notes, help=_SILENT_HELP
            )

    def _death_notice(self, how: str, entry: str, while_checking: bool) -> Diagnostic:  # noqa: FBT001  (part of the key)
        death, targets = self._deaths[how, entry, while_checking]
        work = "checking the program" if while_checking else f"generating code for {entry or 'all entry points'}"
        where = "" if while_checking else f" ({', '.join(self._in_order(targets))})"
        span = Span(self.job.name, 0, 0, 0, 0)
        notes = tuple(death.tail.splitlines()[-3:])
        if how:
            message = f"the Slang compiler crashed ({how}) on {self.job.name} while {work}{where}"
            return Diagnostic("SA240", message, span, help="see `slangad explain SA240` for known causes", notes=notes)
        message = f"the Slang compiler was still {work} of {self.job.name}{where} after {self.job.time_limit:g} s"
        return Diagnostic("SA241", message.replace("program of", "program"), span, help=_TIME_HELP, notes=notes)


_SILENT_HELP = "check --slangc or SLANGAD_SLANG_LIBRARY; `slangad doctor` tries the compiler"
_TIME_HELP = "look for recursion in differentiable functions, or allow more time with --time-limit"
