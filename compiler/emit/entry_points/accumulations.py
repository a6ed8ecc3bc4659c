"""Describe how each parameter's gradient is accumulated, in words for ``compile -v`` and the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.memory.tensors import has_gradient
from slangad.compiler.ir.nodes import Accumulation, Memory
from slangad.compiler.ir.types import Tensor, Texture, carries_gradient

if TYPE_CHECKING:
    from collections.abc import Collection

    from slangad.compiler.ir.nodes import Kernel, KernelParam, Module

WORDS: Final = {
    "store": "one thread for each element: a plain store",
    "sum": "summed over all threads: per thread, per wave, per group, then the groups in fixed order",
    "own": "every element belongs to one thread: a plain addition",
    "shared": (
        "all threads at one element at a time: waves add up, then groups, then atomic additions in a copy; "
        "on GPUs in float, doubles too"
    ),
    "scatter": (
        "any element: waves and groups add up what they can, then atomic additions in a copy; "
        "on GPUs in float, doubles too"
    ),
    "exact": (
        "any element: sums without rounding, in integers, so that their order does not matter; doubles go in as floats"
    ),
    "adjoint": "read from the tensor's adjoint by the thread that stored it",
}
"""The meaning of each way."""


SCATTERED: Final = ("shared", "scatter")
"""The ways that targets implement differently."""


def means(macros: Collection[str]) -> str:
    """Return the implementation on a target with these macros for each way in ``SCATTERED``."""
    if "SLANGAD_HOST" in macros:
        return "every worker adds to a copy of its own, in double; the copies are added up in fixed order"
    steps = {
        "waves add up": "SLANGAD_WAVES" in macros,
        "groups add up in memory of their own": "SLANGAD_GROUP_ATOMICS" in macros,
        "atomic additions of floats": "SLANGAD_FLOAT_ATOMICS" in macros,
        "compare-and-exchange": "SLANGAD_FLOAT_ATOMICS" not in macros,
    }
    return ", then ".join(step for step, has in steps.items() if has)


def accumulations(module: Module, kernel: Kernel) -> dict[str, str]:
    """Return the way for every parameter that has a gradient: a key of ``WORDS``."""
    ways = {param.name: _way(module, kernel, param) for param in kernel.params}
    return {name: way for name, way in ways.items() if way}


def _way(module: Module, kernel: Kernel, param: KernelParam) -> str:
    if isinstance(param.type, (Tensor, Texture)):
        buffer = next(b for b in module.buffers if (b.kernel, b.param) == (kernel.name, param.name))
        if not has_gradient(buffer) or buffer.accumulation is Accumulation.NONE:
            return "adjoint" if has_gradient(buffer) else ""
        return "adjoint" if isinstance(param.type, Tensor) and param.type.writes else buffer.accumulation.value
    if param.no_diff or not carries_gradient(param.type):
        return ""
    return {Memory.EACH: "store", Memory.PARAM: "sum"}.get(param.memory, "")
