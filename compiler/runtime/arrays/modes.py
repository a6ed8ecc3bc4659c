"""The modes that a kernel can be run in, and the entry points that each mode uses."""

from __future__ import annotations

from enum import Enum

from slangad.compiler.emit.model import Mode


class RunMode(str, Enum):
    """A mode of ``slangad run --mode``."""

    FORWARD = "forward"
    BACKWARD = "backward"
    JVP = "jvp"
    JTJVP = "jtjvp"
    """The Gauss-Newton product: the tangents of results from which no others follow, sent back as cotangents."""
    HVP = "hvp"
    """The product of the Hessian with tangents, by the kernel that ``passes.differentiate_twice`` adds."""

    @property
    def steps(self) -> tuple[Mode, ...]:
        """Return the modes of the entry points that run, in order."""
        match self:
            case RunMode.JTJVP:
                return (Mode.JVP, Mode.BACKWARD)
            case RunMode.HVP:
                return (Mode.BACKWARD,)
            case _:
                return (Mode(self.value),)
