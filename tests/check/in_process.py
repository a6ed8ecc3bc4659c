"""A worker of the check without a process of its own, so that a test can break what it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check import worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.check.build.libraries import Library
    from slangad.compiler.check.run.device import DeviceJob
    from slangad.compiler.report.model import Result


class InProcess:
    """Stands for ``check.worker.Worker``."""

    def __init__(self, limit: float = 0.0) -> None:
        self.limit = limit
        self._libraries = worker._Libraries()

    def start(self) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to end."""

    def load(self, wide: Sequence[Library], narrow: Sequence[Library], device: DeviceJob | None = None) -> None:
        """Say which libraries tasks mean."""
        self._libraries = worker._Libraries(worker._Load(tuple(wide), tuple(narrow), device))

    def judge(self, task: worker.Task) -> Result:
        """Judge one subject."""
        return self._libraries.judge(task)
