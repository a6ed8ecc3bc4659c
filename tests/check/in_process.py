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
        self._files = LibraryFiles()
        self._libraries = Libraries(self._files)

    def start(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to end."""

    def has_loaded(self, files: LibraryFiles) -> bool:
        """Return True if the last task had these libraries."""
        return self._files is files

    def check(self, task: SubjectTask | PipelineTask, files: LibraryFiles) -> Result:
        """Check one subject."""
        if not self.has_loaded(files):
            self._files, self._libraries = files, Libraries(files)
        return worker.answer_to(task, self._libraries)
