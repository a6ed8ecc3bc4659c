"""Define the names of kernels and functions that the check adds, and of mutants."""

from __future__ import annotations

from typing import Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.ir.memory_parts import scalar_count
from slangad.compiler.ir.nodes import Kernel, Memory

STAGE: Final = "slangad_stage_"
"""Begins the names of kernels that are checked launch by launch for a pipeline only."""
OF_STAGE: Final = "stage "
"""Begins the keys of functions of stages, where the check has changed the function of the same kernel."""


def is_stage(kernel: Kernel) -> bool:
    """Return True if a kernel exists for a pipeline only."""
    return kernel.name.startswith(STAGE)


VALUES_ONLY: Final = ("forward",)
"""The modes of kernels that are checked although nothing in them carries a gradient."""
LAUNCHED: Final = "launched "
"""Begins the keys of functions of kernels that are launched besides being checked thread by thread."""
_PER_THREAD: Final = (Memory.EACH, Memory.UNIFORM, Memory.PARAM, Memory.SUM, Memory.MEAN)


def is_launch(kernel: Kernel) -> bool:
    """Return True if threads share memory that no function takes by value, or compute together.

    A launch is one function then.
    """
    if is_stage(kernel) or kernel.in_step:
        return True
    memories = [*(param.memory for param in kernel.params), *(result.memory for result in kernel.results)]
    large = any(p.memory is Memory.PARAM and scalar_count(p.type) > tol.PARAM_BY_VALUE for p in kernel.params)
    return large or any(memory not in _PER_THREAD for memory in memories)


TWIN = " unclipped"
"""The suffix of the keys of functions whose callees have no clips."""
STANDING = "check "
"""Begins the keys of functions that call a method, or one with large parameters, and are checked in its place."""


def is_mutant(name: str) -> bool:
    """Return True if a subject's name is that of a mutant."""
    return ": " in name


def broken_of(name: str) -> str:
    """Return the name of the function that a mutant is made of; any other name unchanged."""
    return name.partition(": ")[0]
