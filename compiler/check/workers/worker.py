"""Check subjects in separate processes: a kernel that crashes or does not end costs one subject, not the check.

The parent sends libraries once, then tasks; the child answers with results. This module is both sides.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from slangad.compiler.check import tolerances as tol
from slangad.compiler.errors.diagnostics import SlangadError
from slangad.compiler.toolchain.workers.kept_children import BorrowedChild
from slangad.compiler.toolchain.workers.processes import ProcessDiedError

if TYPE_CHECKING:
    from slangad.compiler.check.model.task import PipelineTask, SubjectTask
    from slangad.compiler.check.run.libraries import Libraries, LibraryFiles
    from slangad.compiler.report.model import Result


class CrashedWorker(NamedTuple):
    """The process died over a task; ``how`` is empty when it took too long."""

    how: str


class BrokenCheck(NamedTuple):
    """The check itself failed at a task; other tasks are not affected."""

    error: str


class Worker:
    """A child that checks, with the libraries of one file. It starts at once, so that it is ready when they are."""

    def __init__(self, limit: float = tol.RUN_LIMIT) -> None:
        self.limit = limit
        self.files: LibraryFiles | None = None
        self._loaded: LibraryFiles | None = None
        self._child: BorrowedChild | None = None
        self.start()

    def start(self) -> None:
        """Start the child unless it runs."""
        if self._child is None:
            paths = tuple(path for path in sys.path if path)
            self._child = BorrowedChild(__name__, paths=paths, is_last=lambda _: True)
            self._loaded = None

    def take(self, files: LibraryFiles) -> None:
        """Set the libraries that hold the kernels of the next tasks. The child loads them with the first."""
        self.files = files

    def check(self, task: SubjectTask | PipelineTask) -> Result | CrashedWorker | BrokenCheck:
        """Check one subject."""
        try:
            self.start()
            if self._loaded is not self.files:
                self._ask(self.files)
                self._loaded = self.files
            return self._ask(task)  # type: ignore[return-value]  # the child answers a task with a result
        except ProcessDiedError as death:
            self.close()
            return CrashedWorker(death.how)

    def close(self) -> None:
        """End the child, or keep it if it is idle; see ``kept_children``."""
        child, self._child, self._loaded = self._child, None, None
        if child is not None:
            child.close()

    def _ask(self, request: object) -> object:
        assert self._child is not None  # noqa: S101  (check starts it)
        with closing(self._child.talk(request, self.limit, patience=tol.RUN_PATIENCE)) as answers:
            answer = next(answers)
        if isinstance(answer, SlangadError):
            raise answer
        if isinstance(answer, Exception):
            return BrokenCheck(f"{type(answer).__name__}: {answer}")
        return answer


def main() -> None:
    """Serve one parent: take libraries, then check tasks until stdin ends."""
    from slangad.compiler.check.run.libraries import Libraries, LibraryFiles
    from slangad.compiler.toolchain.workers.frames import private_stdout, requests, send

    libraries = Libraries(LibraryFiles())
    with private_stdout() as pipe:
        for request in requests():
            try:
                if isinstance(request, LibraryFiles):
                    libraries = Libraries(request)
                    answer: object = "loaded"
                else:
                    answer = answer_to(request, libraries)  # type: ignore[arg-type]  # our own parent sends tasks
            except Exception as error:
                answer = error
            send(pipe, answer)


def answer_to(task: SubjectTask | PipelineTask, libraries: Libraries) -> Result:
    """Return the result of one task."""
    from slangad.compiler.check.method import check_subject
    from slangad.compiler.check.model.budget import OutOfTimeError, budget_of
    from slangad.compiler.check.model.outcomes import CheckOutcome, Reason
    from slangad.compiler.check.verdict.decide import without_numbers
    from slangad.compiler.check.workers.subject_functions import functions_of

    with budget_of(task.plan.run_limit) as time:
        try:
            with time.until(tol.TIME_SHARE):
                functions = functions_of(task, libraries)
            if isinstance(functions, Reason):
                return without_numbers(task.plan, functions)
            return check_subject(task.plan, functions)
        except OutOfTimeError:
            words = time.over("the samples themselves, so nothing is compared")
            result = without_numbers(task.plan, Reason(CheckOutcome.TOO_MUCH_WORK, words))
            return replace(result, seconds=time.passed, seed=task.plan.seed)
