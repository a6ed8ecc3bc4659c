"""What a kernel can be run for, and the entry points that this takes."""

from __future__ import annotations

from enum import Enum

from slangad.compiler.emit.model import Mode


class RunMode(str, Enum):
    """What ``slangad run --mode`` takes."""

    FORWARD = "forward"
    BACKWARD = "backward"
    JVP = "jvp"
    JTJVP = "jtjvp"
    """The Gauss-Newton product: the tangents of the results, sent back as cotangents."""

    @property
    def steps(self) -> tuple[Mode, ...]:
        """The modes of the entry points that run, in order."""
        return (Mode.JVP, Mode.BACKWARD) if self is RunMode.JTJVP else (Mode(self.value),)
