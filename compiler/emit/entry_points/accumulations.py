"""Describe how each parameter's gradient is accumulated, in words for ``compile -v`` and the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.memory.tensors import has_gradient, is_scattered
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.layers import LEAST_IN_FLOAT, MOST_ON_SIMDGROUPS, MOST_ON_TILES, MOST_TOGETHER
from slangad.compiler.ir.targets import MMA, SIMDGROUPS, TILES
from slangad.compiler.ir.types import Tensor, carries_gradient

if TYPE_CHECKING:
    from collections.abc import Collection

WORDS: Final = {
    "store": "one thread for each element: a plain store",
    "sum": "summed over all threads: per thread, per wave, per group, then the groups in fixed order",
    "own": "every element belongs to one thread: a plain addition",
    "shared": (
        "all threads at one element at a time: waves add up, then groups, then atomic additions in a copy; "
        "on GPUs in float, doubles too"
    ),
    "together": ("the threads of a tile at one element at a time: waves add up, then an atomic addition for each wave"),
    "scatter": (
        "any element: waves and groups add up what they can, then atomic additions in a copy; "
        "on GPUs in float, doubles too"
    ),
    "block": (
        "every element belongs to one block of the domain: summed per thread, then the group in fixed order, then a "
        "plain addition"
    ),
    "matrix": (
        "products of a matrix and a vector: groups add up outer products in registers, then the groups in fixed order"
    ),
    "half_matrix": "``matrix`` with factors of half on matrix units; in float elsewhere",
    "exact": (
        "any element: sums without rounding, in integers, so that their order does not matter; doubles go in as "
        "floats. In a loop that a group runs for a tile, waves add up first, in a fixed order"
    ),
    "integers": "any element: atomic additions of integers",
    "adjoint": "read from the tensor's adjoint by the thread that stored it",
}
"""The meaning of each way."""


SCATTERED: Final = ("shared", "together", "scatter")
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


def products(macros: Collection[str], *, in_half: bool) -> str:
    """Return the form of the products of ``half_matrix``, or of ``matrix``, on a target with these macros, and why."""
    if MMA in macros:
        kind = "half" if in_half else "float, each as three products of numbers of 11 bits"
        return f"{kind}: on matrix units, in groups of up to 256 threads, to {MOST_TOGETHER} rows and columns together"
    where = "in groups of up to 256 threads, to {} rows and columns"
    if TILES in macros:
        kind = "half" if in_half else f"float, from {LEAST_IN_FLOAT} rows or columns on as three products of halfs"
        return f"{kind}: on matrix units, {where.format(MOST_ON_TILES)}"
    if SIMDGROUPS in macros:
        where = where.format(MOST_ON_SIMDGROUPS)
        return f"float: on matrix units, {where}; no Metal compiler and no GPU has seen such code"
    if "SLANGAD_HOST" in macros:
        return "float: the CPU has no matrix units"
    return "float: code for this target does not know whether a device has matrix units"


def accumulations(module: ir.Module, kernel: ir.Kernel) -> dict[str, str]:
    """Return the way for every parameter that has a gradient, or to which threads add: a key of ``WORDS``."""
    buffers_of_kernel = [b for b in module.buffers if b.kernel == kernel.name]
    ways = {buffer.name: _way_of_memory(buffer) for buffer in buffers_of_kernel}
    ways |= {param.name: _way(param) for param in ir.by_value(kernel, buffers_of_kernel)}
    order = [param.name for param in kernel.params]
    named = sorted((item for item in ways.items() if item[1]), key=lambda item: order.index(item[0].partition(".")[0]))
    return dict(named)


def deciding(module: ir.Module, kernel: ir.Kernel) -> dict[str, str]:
    """Return the expressions that decided how tensors are added to, and why products are loops or not in half."""
    ways = ("together", "scatter", "shared", "sum", "matrix")
    own = (b for b in module.buffers if b.kernel == kernel.name and _way_of_memory(b) in ways)
    return {buffer.name: buffer.why for buffer in own if buffer.why}


def _way_of_memory(buffer: ir.Buffer) -> str:
    if buffer.added:
        scattered = is_scattered(buffer)
        return "integers" if scattered and not carries_gradient(buffer.type) else buffer.accumulation.value
    if not has_gradient(buffer):
        return ""
    writes = isinstance(buffer.type, Tensor) and buffer.type.writes
    return "adjoint" if writes or buffer.accumulation is ir.Accumulation.NONE else buffer.accumulation.value


def _way(param: ir.KernelParam) -> str:
    if param.no_diff or not carries_gradient(param.type):
        return ""
    return {ir.Memory.EACH: "store", ir.Memory.PARAM: "sum"}.get(param.memory, "")
