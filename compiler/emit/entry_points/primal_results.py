"""Print a function whose reverse mode keeps the primal result, for kernels that sum it.

    float loss64_keep(float value)             // its derivative: loss64_value = value
    float loss64_kept(float x[16], …)          // return loss64_keep(loss64(x, …))

Backward mode of a sum needs the result of each element besides its gradients. A call of the kernel's function before
``bwd_diff`` computes all of it a second time: no compiler merges what has barriers inside, nor, on CUDA, what it loads
from memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.emit.print.differentials import spell_differential
from slangad.compiler.emit.print.functions import new_context, signature, thread_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.emit.print.context import ModuleNames
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Function


@dataclass(frozen=True, slots=True)
class KeptResult:
    """Names in Slang: the function to differentiate, and the variable that has the result after that."""

    function: str
    value: str


def print_kept_result(
    names: ModuleNames, writer: Writer, function: Function, dims: int, fresh: Callable[[str], str]
) -> KeptResult:
    """Print such a function for one that is no method and has no outputs but its result."""
    name, result = function.name, function.result
    kept = KeptResult(fresh(f"{name}_kept"), fresh(f"{name}_value"))
    keep, spelled = fresh(f"{name}_keep"), names.spell(result)
    pair = f"DifferentialPair<{names.spell.generic(result)}> value"
    writer.gap()
    writer.line(f"static {names.spell.declare(result, kept.value)};")
    writer.gap()
    writer.line(f"[BackwardDerivative({keep}_bwd)]")
    writer.line(f"{spelled} {keep}({names.spell.declare(result, 'value')})")
    with writer.block():
        writer.line("return value;")
    writer.gap()
    writer.line(f"void {keep}_bwd(inout {pair}, {spell_differential(names, result)} d_out)")
    with writer.block():
        writer.line(f"{kept.value} = value.p;")
        writer.line("value = diffPair(value.p, d_out);")
    writer.gap()
    ctx = new_context(names, writer, function, dims)
    arguments = [ctx.local(param.name) for param in function.params]
    arguments += [ctx.local(f" {value}") for value in thread_values(function)]
    writer.line("[Differentiable]")
    writer.line(f"{spelled} {kept.function}({', '.join(signature(ctx, function))})")
    with writer.block():
        writer.line(f"return {keep}({names.call(function)}({', '.join(arguments)}));")
    return kept
