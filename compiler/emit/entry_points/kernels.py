"""Print kernels: the body as a device function, then forward, backward and JVP entry points around it.

Each memory of an annotation has a class in ``memory_classes`` or ``shared_values``, and a row of ``PLACES`` here. An
entry point asks every parameter for its buffers, its argument, and the statements after the call. If something is added
up over all elements, a thread works on a share of them, and a second entry point computes the totals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.entry_points.calls import print_call
from slangad.compiler.emit.entry_points.entry import (
    MemoryPrinter,
    ParameterPrinter,
    PrintedEntry,
    blocks_of,
    domain_parameter,
    element_count,
    partials_parameter,
    parts_parameter,
    print_flat,
    print_head,
    scattered,
)
from slangad.compiler.emit.entry_points.memory_classes import EachParam, ElementResult, KernelScope, UniformParam
from slangad.compiler.emit.entry_points.primal_results import print_kept_result
from slangad.compiler.emit.entry_points.shared_values import SharedParam, SumPart
from slangad.compiler.emit.entry_points.sums import Slots
from slangad.compiler.emit.entry_points.thread_loop import print_share
from slangad.compiler.emit.entry_points.tile_memory import print_tile_memory
from slangad.compiler.emit.entry_points.totals import last_parameters, print_last_group, print_sums
from slangad.compiler.emit.entry_points.written_arguments import InOutArgument, OutArgument
from slangad.compiler.emit.memory.tensors import TensorPrinter, has_gradient
from slangad.compiler.emit.memory.textures import TexturePrinter
from slangad.compiler.emit.model import GROUPS_A_ROW, EntryPoint, Mode, ThreadWork, summing_group
from slangad.compiler.emit.print.functions import differentiable, print_doc
from slangad.compiler.emit.text.names import NameScope
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import FLOAT, Struct, Tensor, carries_gradient
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.emit.memory.buffers import Accessors
    from slangad.compiler.emit.print.context import ModuleNames
    from slangad.compiler.emit.text.writer import Writer

_TITLES: Final = {
    Mode.FORWARD: "the results of one element",
    Mode.BACKWARD: "the gradients of one element's inputs",
    Mode.JVP: "the results of one element and how they change along the tangents",
}
_SUM_TITLES: Final = {
    Mode.FORWARD: "partial sums of the results",
    Mode.BACKWARD: "partial sums of the gradients",
    Mode.JVP: "partial sums of the results and of how they change along the tangents",
}
PLACES: Final[dict[ir.Memory, Callable[[KernelScope, ir.KernelParam, Slots], ParameterPrinter]]] = {
    ir.Memory.EACH: lambda scope, param, _: EachParam(scope, param),
    ir.Memory.UNIFORM: lambda scope, param, _: UniformParam(scope, param),
    ir.Memory.PARAM: SharedParam,
}
"""The class of a function's parameter by memory; tensors and textures are no parameters of functions."""


def modes_of(kernel: ir.Kernel, function: ir.Function, buffers: tuple[ir.Buffer, ...]) -> tuple[Mode, ...]:
    """Return all three modes, or only the forward one where no gradient can flow."""
    pairs = zip(ir.by_value(kernel, buffers), (p for p in function.params if p.direction != "out"), strict=True)
    with_gradient = [b for b in buffers if b.kernel == kernel.name and has_gradient(b)]
    into = any(p.memory is not ir.Memory.UNIFORM and differentiable(q) for p, q in pairs) or any(
        _is_read(b) for b in with_gradient
    )
    stored = any(differentiable(p) for p in function.params if p.direction != "in") or any(
        _is_written(b) for b in with_gradient
    )
    flows = into and (stored or carries_gradient(function.result))
    possible = tuple(Mode) if function.differentiable and flows else (Mode.FORWARD,)
    return tuple(mode for mode in possible if not kernel.modes or mode.value in kernel.modes)


def _is_read(buffer: ir.Buffer) -> bool:
    return not isinstance(buffer.type, Tensor) or buffer.type.reads


def _is_written(buffer: ir.Buffer) -> bool:
    return isinstance(buffer.type, Tensor) and buffer.type.writes


def print_kernel(
    names: ModuleNames,
    writer: Writer,
    kernel: ir.Kernel,
    entry_names: dict[Mode, str],
    accessors: Accessors,
    memory: tuple[MemoryPrinter, ...],
    fresh: Callable[[str], str],
    tile_loop: ir.TileLoop | None = None,
) -> tuple[EntryPoint, ...]:
    """Print the entry points of a kernel; ``fresh`` names additional ones, ``tile_loop`` is that of the kernel."""
    function = names.functions[kernel.function]
    values = ir.by_value(kernel, (m.buffer for m in memory if isinstance(m, (TensorPrinter, TexturePrinter))))
    points: list[EntryPoint] = []
    for mode, name in entry_names.items():
        called = names.call(function), names.reference(function)
        taken = (*called, *names.taken, *(p.name for m in memory for p in m.parameters(mode)))
        matrices = tuple(m.matrix for m in memory if isinstance(m, TensorPrinter) and m.matrix)
        together = summing_group(kernel.group_size) if matrices else 0
        scope = KernelScope(names, NameScope(taken, ()), accessors, kernel.dims, together=together)
        slots = Slots(together=bool(matrices or kernel.tile or kernel.in_step or blocks_of(memory, mode)))
        places = tuple(_places(scope, kernel, function, slots, values))
        results = _results(scope, kernel, function, slots)
        for part in (*results, *places):
            if isinstance(part, (SumPart, SharedParam)):
                part.count(mode)
        for tensor in sorted((m for m in memory if isinstance(m, TensorPrinter)), key=lambda m: m.matrix is not None):
            if tensor.summed and mode is Mode.BACKWARD:
                slots.add_tensor(tensor.buffer.param, tensor.summed)
        replayed = Mode.BACKWARD in entry_names and any(part.written for part in memory)
        summed = any(isinstance(result, SumPart) for result in results)
        kept = None
        plain = not (function.owner or replayed or any(result.param for result in kernel.results))
        if mode is Mode.BACKWARD and summed and plain and (matrices or memory or _is_long(names, function)):
            kept = print_kept_result(names, writer, function, kernel.dims, fresh)
        shares_loop = mode is Mode.BACKWARD and tile_loop is not None and plain
        entry = PrintedEntry(
            kernel, function, mode, name, scope, slots, places, results, memory, replayed, matrices, kept, shares_loop
        )  # fmt: skip
        if tile_loop is not None and shares_loop and entry.tile:
            printed = print_tile_memory(names, writer, tile_loop, entry.tile, fresh, kept=kept is not None)
            entry = replace(entry, tile_loop=printed)
        writer.gap()
        with writer.origin(kernel.span):
            points.append(_print_entry(entry, writer))
            points += print_sums(entry, writer, fresh)
    return tuple(points)


def _is_long(names: ModuleNames, function: ir.Function) -> bool:
    """Return True if a function runs a loop whose reverse mode starts from its result."""
    called = (e.function for e in body_exprs(statements(function)) if isinstance(e, ir.Call))
    return any(names.functions[key].prefer == "checkpoint" for key in called)


def _places(
    scope: KernelScope, kernel: ir.Kernel, function: ir.Function, slots: Slots, by_value: tuple[ir.KernelParam, ...]
) -> Iterator[ParameterPrinter]:
    """Yield one for each parameter of the function."""
    inputs = iter(by_value)
    stored = {result.param: ElementResult(scope, result, "") for result in kernel.results if result.param}
    for param in function.params:
        if param.direction == "out":
            yield OutArgument(scope, param, stored[param.name])
            continue
        parameter = next(inputs)
        if param.direction == "inout":
            yield InOutArgument(EachParam(scope, parameter), stored[param.name])
        else:
            yield PLACES[parameter.memory](scope, parameter, slots)


def _results(
    scope: KernelScope, kernel: ir.Kernel, function: ir.Function, slots: Slots
) -> tuple[ElementResult | SumPart, ...]:
    results = [result for result in kernel.results if not result.param]
    if len(results) == 1 and results[0].type == function.result:
        return (_result(scope, results[0], "", slots),)
    steps = _steps(scope, function) if results else []
    return tuple(_result(scope, result, step, slots) for result, step in zip(results, steps, strict=True))


def _result(scope: KernelScope, result: ir.KernelResult, access: str, slots: Slots) -> ElementResult | SumPart:
    if result.memory in (ir.Memory.SUM, ir.Memory.MEAN):
        return SumPart(scope, result, access, slots)
    return ElementResult(scope, result, access)


def _steps(scope: KernelScope, function: ir.Function) -> list[str]:
    match function.result:
        case Struct(fields=fields):
            return [f".{scope.names.field(function.result, f.name)}" for f in fields]
        case _:
            return []


def _print_entry(entry: PrintedEntry, writer: Writer) -> EntryPoint:
    declared = [p for place in entry.places for p in place.parameters(entry.mode)]
    declared += [p for result in entry.results for p in result.parameters(entry.mode)]
    if entry.strided:
        declared.append(parts_parameter(entry))
        declared += [partials_parameter(entry, group, writes=True) for group in entry.slots.groups]
    memory = tuple(p for part in entry.memory for p in part.parameters(entry.mode))
    parameters = (domain_parameter(entry), *declared)
    title = (_SUM_TITLES if entry.slots.all else _TITLES)[entry.mode]
    print_doc(writer, (f"{entry.kernel.name}: {title}.",))
    values = [f"uint3 {entry.scope.local('thread')} : SV_DispatchThreadID"]
    if entry.strided:
        values.append(f"uint {entry.scope.local('lane')} : SV_GroupIndex")
    if any(scattered(entry.memory, entry.mode)) or entry.in_step or entry.tile:
        values.append(f"uint3 {entry.scope.local('group')} : SV_GroupID")
    last = last_parameters(entry) if entry.strided else ()
    print_head(writer, entry.name, entry.group, values, parameters, last)
    with writer.block():
        if entry.strided:
            if entry.kernel.dims > 1:
                writer.line(f"uint {entry.scope.local('count')} = {element_count(entry)};")
            _print_state(entry, writer)
            _prepare(entry, writer)
            print_share(entry, writer)
            if last:
                print_last_group(entry, writer)
        else:
            _print_guard(entry, writer)
            _print_state(entry, writer)
            _prepare(entry, writer)
            print_call(entry, writer)
    return EntryPoint(
        entry.name, entry.kernel.name, entry.mode, entry.group, entry.kernel.dims, (*parameters, *memory),
        ThreadWork.STRIDED if entry.strided else ThreadWork.ELEMENTS, entry.slots.count, tile=entry.tile,
        products=sum(m.rows * m.columns for m in entry.matrices), last=last,
    )  # fmt: skip


def _print_state(entry: PrintedEntry, writer: Writer) -> None:
    """Print the state of the thread that functions with memory need."""
    if entry.replayed and entry.mode is not Mode.JVP:
        writer.line(f"sa.replay = {'true' if entry.mode is Mode.BACKWARD else 'false'};")
    if any(scattered(entry.memory, entry.mode)):
        group = f"{entry.scope.local('group')}.x"
        writer.line(f"sa.group = {group};")
        totals = [p for part in scattered(entry.memory, entry.mode) for p in part.parameters(entry.mode) if p.is_total]
        seeded = any(not part.together for part in entry.keepers)  # by keep_sums
        if not seeded and (entry.copies or not entry.keepers) and any(p.scalar == FLOAT for p in totals):
            writer.line(f"sa.seed({entry.scope.local('thread')});")
        for part in scattered(entry.memory, entry.mode):
            if isinstance(part, (TensorPrinter, TexturePrinter)):
                writer.line(f"{part.names.first} = {part.first_of(group)};")
    if entry.matrices:
        writer.line(f"sa.lane = {entry.scope.local('lane')};")
    if entry.kernel.in_step:
        writer.line(f"sa.place_in_group = sa.enter({entry.scope.local('lane')}, {entry.group[0]});")


def _prepare(entry: PrintedEntry, writer: Writer) -> None:
    for part in (*entry.results, *entry.places):
        part.prepare(writer, entry.mode)


def _print_guard(entry: PrintedEntry, writer: Writer) -> None:
    """Print the return of threads outside the domain, and the numbers of the others."""
    thread, i = entry.scope.local("thread"), entry.scope.index
    dims = entry.kernel.dims
    if dims == 1:
        count = entry.scope.local("count")
        print_flat(writer, i, thread, entry.group[0])
        writer.line(f"if ({i} >= {count})")
        with writer.indented():
            writer.line("return;")
        return
    id_, domain = entry.scope.local("id"), entry.scope.local("domain")
    writer.line(f"uint{dims} {id_} = {thread}.{'zyx'[3 - dims :]};")
    _print_long_axes(entry, writer)
    writer.line(f"if (any({id_} >= {domain}))")
    with writer.indented():
        writer.line("return;")
    flat = f"{id_}.x * {domain}.y + {id_}.y"
    if dims == 3:
        flat = f"({flat}) * {domain}.z + {id_}.z"
    writer.line(f"uint {i} = {flat};")


def _print_long_axes(entry: PrintedEntry, writer: Writer) -> None:
    """Print thread numbers in rows, as for one axis, if an axis of the domain has more groups than a launch."""
    id_, domain, dims = entry.scope.local("id"), entry.scope.local("domain"), entry.kernel.dims
    thread, i = entry.scope.local("thread"), entry.scope.local("row_thread")
    reach = ", ".join(f"{GROUPS_A_ROW} * {size}" for size in entry.kernel.group_size)
    writer.line(f"if (any({domain} > uint{dims}({reach}))) // an axis needs more than {GROUPS_A_ROW} groups")
    with writer.block():
        print_flat(writer, i, thread, entry.group[0], entry.group[2])
        if dims == 3:
            writer.line(
                f"{id_} = uint3({i} / ({domain}.y * {domain}.z), {i} / {domain}.z % {domain}.y, {i} % {domain}.z);"
            )
        else:
            writer.line(f"{id_} = uint2({i} / {domain}.y, {i} % {domain}.y);")
