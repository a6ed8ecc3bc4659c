"""A worker of the check without a process of its own, so that a test can break what it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.run.libraries import Libraries, LibraryFiles
from slangad.compiler.check.workers import worker

if TYPE_CHECKING:
    from slangad.compiler.check.model.task import PipelineTask, SubjectTask
    from slangad.compiler.report.model import Result


class InProcess:
    """Stands for ``check.workers.worker.Worker``."""

    def __init__(self, limit: float = 0.0) -> None:
        self.limit = limit
        self.files = LibraryFiles()
        self._libraries = Libraries(self.files)

    def start(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to end."""

    def take(self, files: LibraryFiles) -> None:
        """Set the libraries of the next tasks."""
        if self.files is not files:
            self.files, self._libraries = files, Libraries(files)

    def check(self, task: SubjectTask | PipelineTask) -> Result:
        """Check one subject."""
        return worker.answer_to(task, self._libraries)
