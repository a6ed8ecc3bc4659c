"""Make twins that record the range of a kernel's indices into its tensors.

A twin computes the same as its kernel, but passes every index through a function. That function records the smallest
and the largest index of each axis and clamps the index. So a twin runs with tensors of any shape, and shows which shape
they need:

    w[i, j]        ->        w[reach(i, w.shape[0], 0), reach(j, w.shape[1], 1)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.names import is_launch, is_stage
from slangad.compiler.check.twins.group_accesses import with_accesses
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import reached
from slangad.compiler.ir.subset import using
from slangad.compiler.ir.types import INT, Tensor, Texture
from slangad.compiler.ir.walk import body_exprs, map_exprs_of, rewrite, statements
from slangad.compiler.passes.name_tensors import name_tensors

if TYPE_CHECKING:
    from collections.abc import Mapping

REACH: Final = "check_reach"
"""The buffer. It has the number of indices, and from entry 2 on the smallest and the largest of each axis."""
_HELPER: Final = "check:reach"
PRELUDE: Final = f"RWStructuredBuffer<int> {REACH};\n\n"
"""Text before a module with twins."""


@dataclass(frozen=True, slots=True)
class IndexTwins:
    """A module with twins that record indices, their names by kernel, and the axes whose extents a kernel reads."""

    module: ir.Module
    twins: dict[str, str]
    asked: dict[str, frozenset[tuple[str, int]]]


def axes_of(kernel: ir.Kernel) -> list[tuple[str, int]]:
    """Return the axes of a kernel's tensors and textures, in the order of ``check_reach``."""
    return [(p.name, axis) for p in kernel.params for axis in range(rank_of(p.type))]


def rank_of(type_: object) -> int:
    """Return the number of axes of a tensor or texture; 0 for anything else."""
    if isinstance(type_, Tensor):
        return type_.rank
    return 2 if isinstance(type_, Texture) else 0


def add_index_twins(module: ir.Module, kernels: tuple[ir.Kernel, ...]) -> IndexTwins:
    """Add twins of these kernels, and name every tensor (see ``passes.name_tensors``)."""
    functions = {f.key: f for f in module.functions}
    launches = [
        kernel
        for kernel in kernels
        if is_launch(kernel) and (axes_of(kernel) or not is_stage(kernel) or _picks(kernel.function, functions))
    ]
    twins = [_twin(functions[kernel.function], kernel) for kernel in launches]
    made = replace(
        module,
        functions=(*module.functions, *(function for function, _ in twins)),
        kernels=(*module.kernels, *(kernel for _, kernel in twins)),
    )
    named = name_tensors(made)
    asked = {kernel.name: _asked(named, kernel) for kernel in launches}
    if launches:
        slots = {
            f"{twin.name}.{name}": number
            for _, twin in twins
            for number, (name, axis) in enumerate(axes_of(twin))
            if axis == 0
        }
        helper = ir.Function(_HELPER, REACH + "es", _PARAMS, INT, ir.SlangBody(_BODY), differentiable=False)
        named = _only_values(named)
        named = replace(named, functions=(helper, *(_written_down(f, slots) for f in named.functions)))
        named = with_accesses(named, (twin for _, twin in twins))
    return IndexTwins(named, {kernel.name: twin.name for kernel, (_, twin) in zip(launches, twins, strict=True)}, asked)


def _picks(key: str, functions: Mapping[str, ir.Function]) -> bool:
    """Return True if a function or one of its callees uses an index that is only known at run time."""
    exprs = (expr for other in reached(functions, [key]) for expr in body_exprs(statements(functions[other])))
    return any(isinstance(expr, ir.Index) and not isinstance(expr.index, ir.Const) for expr in exprs)


_PARAMS: Final = (ir.Param("index", INT), ir.Param("extent", INT), ir.Param("slot", INT))
_BODY: Final = f"""{REACH}[0] += 1;
{REACH}[2 * slot + 2] = min({REACH}[2 * slot + 2], index);
{REACH}[2 * slot + 3] = max({REACH}[2 * slot + 3], index);
return clamp(index, 0, extent - 1);"""


def has_index_twins(module: ir.Module) -> bool:
    """Return True if the text of a module needs the prelude."""
    return any(function.key == _HELPER for function in module.functions)


def _only_values(module: ir.Module) -> ir.Module:
    """Return the module without derivatives of the twins' callees, since memory of twins has no gradient."""
    memory = {buffer.key for buffer in module.named_memory if buffer.kernel.startswith("oracle_")}
    plain = using(module, memory)
    return replace(
        module,
        functions=tuple(
            replace(f, differentiable=False, derivative=ir.Automatic(), prefer="") if f.key in plain else f
            for f in module.functions
            if f.role is ir.Role.PLAIN or f.key not in plain
        ),
    )


def _twin(function: ir.Function, kernel: ir.Kernel) -> tuple[ir.Function, ir.Kernel]:
    made = replace(
        function,
        key=f"reach {function.key}",
        name=f"{function.name}_reach",
        differentiable=False,
        derivative=ir.Automatic(),
        prefer="",
        doc=(),
        ranges=(),
    )
    return made, replace(kernel, name=f"oracle_reach_{kernel.name}", function=made.key, modes=("forward",))


def _asked(module: ir.Module, kernel: ir.Kernel) -> frozenset[tuple[str, int]]:
    """Return the extents that a kernel or its callees read."""
    keys = {f"{kernel.name}.{p.name}": p.name for p in kernel.params}
    return frozenset(
        (keys[expr.source.name], expr.axis)
        for function in module.functions
        for expr in body_exprs(statements(function))
        if isinstance(expr, ir.Extent) and isinstance(expr.source, ir.Var) and expr.source.name in keys
    )


def _written_down(function: ir.Function, slots: dict[str, int]) -> ir.Function:
    """Return the function with all indices into the tensors of twins recorded."""

    def kept(expr: ir.Expr) -> ir.Expr:
        if not isinstance(expr, ir.Read) or not isinstance(expr.source, ir.Var) or expr.source.name not in slots:
            return expr
        first = slots[expr.source.name]
        indices = tuple(_kept(index, expr, axis, first + axis) for axis, index in enumerate(expr.indices))
        return replace(expr, indices=indices)

    if not any(isinstance(e, ir.Read) for e in body_exprs(statements(function))):
        return function
    return map_exprs_of(function, lambda expr: rewrite(expr, kept))


def _kept(index: ir.Expr, read: ir.Read, axis: int, slot: int) -> ir.Expr:
    integer = index if index.type == INT else ir.Cast(index, INT)
    return ir.Call(_HELPER, (integer, ir.Extent(read.source, axis, INT), ir.Const(slot, INT)), INT)
