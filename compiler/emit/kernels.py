"""Prints kernels: the body as a device function, then forward, backward and JVP entry points around it.

Each memory an annotation can name is one class in ``places`` or ``shared``, a row of ``PLACES`` here; an entry point
asks every parameter for its buffers, its argument, and what comes after the call. Where something is added up over all
elements, a thread works on a share of them, and a second entry point makes the totals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from slangad.compiler.emit.differentials import is_own_differential, spell_differential, zero_differential
from slangad.compiler.emit.directions import InOutArgument, OutArgument
from slangad.compiler.emit.functions import differentiable, print_doc, thread_values
from slangad.compiler.emit.memory import TensorPrinter, has_gradient, is_scattered
from slangad.compiler.emit.model import EntryParameter, EntryPoint, Mode, ParameterRole, Work
from slangad.compiler.emit.names import Scope
from slangad.compiler.emit.places import EachParam, KernelScope, ResultPart, UniformParam
from slangad.compiler.emit.shared import SharedParam, SumPart
from slangad.compiler.emit.sums import Slots, print_totals, total_parameters
from slangad.compiler.ir.nodes import Buffer, Function, Kernel, KernelParam, KernelResult, Memory
from slangad.compiler.ir.types import UINT, Array, Scalar, Struct, Tensor, Texture, carries_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.emit.buffers import Accessors
    from slangad.compiler.emit.context import ModuleNames
    from slangad.compiler.emit.writer import Writer

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
_SUMMING_GROUP: Final = 256
"""The smallest group that adds up."""


class Place(Protocol):
    """Where a kernel's parameter lives: how one thread gets it, and where its gradient goes."""

    @property
    def differentiable(self) -> bool:
        """Whether it has a gradient."""

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """What the entry point of a mode needs for it."""

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Prints what comes before all elements of the thread."""

    def argument(self, writer: Writer, mode: Mode) -> str:
        """Prints what comes before the call; gives the argument."""

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Prints what comes after the call."""


PLACES: Final[dict[Memory, Callable[[KernelScope, KernelParam, Slots], Place]]] = {
    Memory.EACH: lambda scope, param, _: EachParam(scope, param),
    Memory.UNIFORM: lambda scope, param, _: UniformParam(scope, param),
    Memory.PARAM: SharedParam,
}
"""Where the parameter of a function can live, a row per memory; tensors and textures are no parameters of functions."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry point while it is printed; ``strided`` says that a thread works on a share of the elements."""

    kernel: Kernel
    function: Function
    mode: Mode
    name: str
    scope: KernelScope
    slots: Slots
    places: tuple[Place, ...]
    results: tuple[ResultPart | SumPart, ...]
    tensors: tuple[TensorPrinter, ...]

    @property
    def strided(self) -> bool:
        """Whether anything is added up over all elements."""
        gradient = self.mode is Mode.BACKWARD and any(
            isinstance(p, SharedParam) and p.differentiable for p in self.places
        )
        return gradient or any(isinstance(r, SumPart) for r in self.results)

    @property
    def group(self) -> tuple[int, int, int]:
        """Thread-group extents as the device counts them: x is the domain's last axis; one axis for a share."""
        if self.strided:
            return max(math.prod(self.kernel.group_size), _SUMMING_GROUP), 1, 1
        x, y, z = (*reversed(self.kernel.group_size), 1, 1)[:3]
        return x, y, z


def modes_of(kernel: Kernel, function: Function, buffers: tuple[Buffer, ...]) -> tuple[Mode, ...]:
    """All three modes, or only the forward one where no gradient can flow."""
    given = [p for p in kernel.params if not isinstance(p.type, (Tensor, Texture))]
    pairs = zip(given, (p for p in function.params if p.direction != "out"), strict=True)
    own = [b for b in buffers if b.kernel == kernel.name and has_gradient(b)]
    into = any(p.memory is not Memory.UNIFORM and differentiable(q) for p, q in pairs) or any(_is_read(b) for b in own)
    stored = any(differentiable(p) for p in function.params if p.direction != "in") or any(_is_written(b) for b in own)
    flows = into and (stored or carries_gradient(function.result))
    possible = tuple(Mode) if function.differentiable and flows else (Mode.FORWARD,)
    return tuple(mode for mode in possible if not kernel.modes or mode.value in kernel.modes)


def _is_read(buffer: Buffer) -> bool:
    return not isinstance(buffer.type, Tensor) or buffer.type.reads


def _is_written(buffer: Buffer) -> bool:
    return isinstance(buffer.type, Tensor) and buffer.type.writes


def print_kernel(
    names: ModuleNames,
    writer: Writer,
    kernel: Kernel,
    entry_names: dict[Mode, str],
    accessors: Accessors,
    tensors: tuple[TensorPrinter, ...],
    fresh: Callable[[str], str],
) -> tuple[EntryPoint, ...]:
    """Prints the entry points of a kernel; ``fresh`` names those it needs besides."""
    function = names.functions[kernel.function]
    points: list[EntryPoint] = []
    for mode, name in entry_names.items():
        taken = (names.call(function), *names.taken, *(p.name for t in tensors for p in t.parameters(mode)))
        scope = KernelScope(names, Scope(taken, ()), accessors, kernel.dims)
        slots = Slots()
        places = tuple(_places(scope, kernel, function, slots))
        results = _results(scope, kernel, function, slots)
        entry = _Entry(kernel, function, mode, name, scope, slots, places, results, tensors)
        writer.gap()
        with writer.origin(kernel.span):
            points.append(_print_entry(entry, writer))
            points += _print_sums(entry, writer, fresh)
    return tuple(points)


def _places(scope: KernelScope, kernel: Kernel, function: Function, slots: Slots) -> Iterator[Place]:
    """One for each parameter of the function."""
    inputs = iter(p for p in kernel.params if not isinstance(p.type, (Tensor, Texture)))
    stored = {result.param: ResultPart(scope, result, "") for result in kernel.results if result.param}
    for param in function.params:
        if param.direction == "out":
            yield OutArgument(scope, param, stored[param.name])
            continue
        given = next(inputs)
        if param.direction == "inout":
            yield InOutArgument(EachParam(scope, given), stored[param.name])
        else:
            yield PLACES[given.memory](scope, given, slots)


def _results(scope: KernelScope, kernel: Kernel, function: Function, slots: Slots) -> tuple[ResultPart | SumPart, ...]:
    results = [result for result in kernel.results if not result.param]
    if len(results) == 1 and results[0].type == function.result:
        return (_result(scope, results[0], "", slots),)
    steps = _steps(scope, function) if results else []
    return tuple(_result(scope, result, step, slots) for result, step in zip(results, steps, strict=True))


def _result(scope: KernelScope, result: KernelResult, access: str, slots: Slots) -> ResultPart | SumPart:
    if result.memory in (Memory.SUM, Memory.MEAN):
        return SumPart(scope, result, access, slots)
    return ResultPart(scope, result, access)


def _steps(scope: KernelScope, function: Function) -> list[str]:
    match function.result:
        case Struct(fields=fields):
            return [f".{scope.names.field(function.result, f.name)}" for f in fields]
        case _:
            return []


def _print_entry(entry: _Entry, writer: Writer) -> EntryPoint:
    given = [p for place in entry.places for p in place.parameters(entry.mode)]
    given += [p for result in entry.results for p in result.parameters(entry.mode)]
    if entry.strided:
        given += [_parts(entry), _partials(entry, writes=True)]
    memory = tuple(p for tensor in entry.tensors for p in tensor.parameters(entry.mode))
    parameters = (_domain(entry), *given)
    title = (_SUM_TITLES if entry.strided else _TITLES)[entry.mode]
    print_doc(writer, (f"{entry.kernel.name}: {title}.",))
    values = [f"uint3 {entry.scope.local('thread')} : SV_DispatchThreadID"]
    if entry.strided:
        values.append(f"uint {entry.scope.local('lane')} : SV_GroupIndex")
    if _scatters(entry):
        values.append(f"uint3 {entry.scope.local('group')} : SV_GroupID")
    _print_head(writer, entry.name, entry.group, values, parameters)
    with writer.block():
        if entry.strided:
            _print_share(entry, writer)
        else:
            _print_guard(entry, writer)
            _print_state(entry, writer)
            _prepare(entry, writer)
            _print_call(entry, writer)
    return EntryPoint(
        entry.name, entry.kernel.name, entry.mode, entry.group, entry.kernel.dims, (*parameters, *memory),
        Work.STRIDED if entry.strided else Work.ELEMENTS, entry.slots.count,
    )  # fmt: skip


def _print_head(
    writer: Writer, name: str, group: tuple[int, int, int], values: list[str], parameters: tuple[EntryParameter, ...]
) -> None:
    """Prints the attributes and the signature of an entry point."""
    writer.line('[shader("compute")]')
    writer.line(f"[numthreads({', '.join(str(size) for size in group)})]")
    shown = {p.name: f"uniform {p.type} {p.name}" for p in parameters}
    lines = [*values, *shown.values()]
    writer.line(f"void {name}(")
    with writer.indented():
        for line in lines[:-1]:
            writer.line(f"{line},")
        writer.line(f"{lines[-1]})")


def _domain(entry: _Entry) -> EntryParameter:
    dims = entry.kernel.dims
    return EntryParameter(
        name=entry.scope.local("count" if dims == 1 else "domain"),
        role=ParameterRole.DOMAIN,
        parameter="",
        path=(),
        scalar=UINT,
        shape=() if dims == 1 else (dims,),
        type="uint" if dims == 1 else f"uint{dims}",
        access="value",
        axes=0,
    )


def _parts(entry: _Entry) -> EntryParameter:
    name = entry.scope.local("parts")
    return EntryParameter(name, ParameterRole.PARTS, "", (), UINT, (), "uint", "value", axes=0)


def _partials(entry: _Entry, *, writes: bool) -> EntryParameter:
    """Scratch memory for the partial sums; what they are is known once all are counted."""
    scalar = _sum_scalar(entry)
    return EntryParameter(
        entry.scope.local("partials"), ParameterRole.PARTIALS, "", (), scalar, (),
        f"{'RW' if writes else ''}StructuredBuffer<{scalar.name}>", "write" if writes else "read",
    )  # fmt: skip


def _sum_scalar(entry: _Entry) -> Scalar:
    """Double where anything that is added up is double."""
    types = [r.result.type for r in entry.results if isinstance(r, SumPart)]
    types += [p.param.type for p in entry.places if isinstance(p, SharedParam) and p.differentiable]
    found = Slots()
    for type_ in types:
        found.add("", ParameterRole.RESULT, type_)
    return found.scalar


def _scatters(entry: _Entry) -> bool:
    return entry.mode is Mode.BACKWARD and any(
        is_scattered(t.buffer) and not t.buffer.no_diff and t.buffer.accumulation.value != "none" for t in entry.tensors
    )


def _print_state(entry: _Entry, writer: Writer) -> None:
    """Tells the functions that use memory what they have to know of the thread."""
    if entry.mode is not Mode.BACKWARD:
        return
    if any(t.tensor.writes and has_gradient(t.buffer) for t in entry.tensors):
        writer.line("sa.replay = true;")
    if _scatters(entry):
        copies = next(p.name for t in entry.tensors for p in t.parameters(entry.mode) if p.role is ParameterRole.COPIES)
        writer.line(f"sa.copy = {entry.scope.local('group')}.x % {copies};")


def _prepare(entry: _Entry, writer: Writer) -> None:
    for part in (*entry.results, *entry.places):
        part.prepare(writer, entry.mode)


def _print_share(entry: _Entry, writer: Writer) -> None:
    """Goes through the thread's share of the elements and stores the sums."""
    local = entry.scope.local
    if entry.kernel.dims > 1:
        axes = [f"{local('domain')}.{axis}" for axis in "xyz"[: entry.kernel.dims]]
        writer.line(f"uint {local('count')} = {' * '.join(axes)};")
    _print_state(entry, writer)
    _prepare(entry, writer)
    share, i, sums = local("share"), entry.scope.index, local("sums")
    writer.line(f"sa.Sum {sums}[{entry.slots.count}] = {{}};")
    group = entry.group[0]
    writer.line(f"sa.Share {share} = sa.share<{group}>({local('thread')}.x, {local('count')}, {local('parts')});")
    writer.line(f"for (uint {i} = {share}.first; {i} < {share}.last; {i} += {share}.step)")
    with writer.block():
        if entry.kernel.dims > 1 and thread_values(entry.function):
            _print_id(entry, writer)
        _print_call(entry, writer)
    arguments = (local("partials"), sums, f"{local('thread')}.x", local("lane"), local("parts"))
    writer.line(f"sa.store_sums<{group}>({', '.join(arguments)});")


def _print_id(entry: _Entry, writer: Writer) -> None:
    """The thread's place in the domain, from the number of its element."""
    i, id_, domain, dims = entry.scope.index, entry.scope.local("id"), entry.scope.local("domain"), entry.kernel.dims
    if dims == 2:
        writer.line(f"uint2 {id_} = uint2({i} / {domain}.y, {i} % {domain}.y);")
    else:
        row = f"{i} / {domain}.z"
        writer.line(f"uint3 {id_} = uint3({row} / {domain}.y, {row} % {domain}.y, {i} % {domain}.z);")


def _print_sums(entry: _Entry, writer: Writer, fresh: Callable[[str], str]) -> Iterator[EntryPoint]:
    """The entry points that come after the main one: totals of sums, and gradients from their copies."""
    if entry.strided:
        writer.gap()
        yield _print_total_entry(entry, writer, fresh(f"{entry.name}_totals"))
    if _scatters(entry):
        for tensor in entry.tensors:
            if any(p.role is ParameterRole.TOTALS for p in tensor.parameters(entry.mode)):
                writer.gap()
                yield _print_copies_entry(entry, writer, tensor, fresh(f"{entry.name}_{tensor.buffer.param}"))


def _print_total_entry(entry: _Entry, writer: Writer, name: str) -> EntryPoint:
    scope = KernelScope(entry.scope.names, Scope(entry.scope.names.taken, ()), entry.scope.accessors, entry.kernel.dims)
    inner = _Entry(
        entry.kernel,
        entry.function,
        entry.mode,
        name,
        scope,
        entry.slots,
        (),
        entry.results,
        entry.tensors,
    )
    counted = (_domain(inner),) if any(slot.mean for slot in entry.slots.all) else ()
    parameters = (*counted, _parts(inner), _partials(entry, writes=False), *total_parameters(scope, entry.slots))
    group, lane, total = scope.local("group"), scope.local("lane"), scope.local("total")
    print_doc(writer, (f"{entry.kernel.name}: the totals of {entry.name}, a group for each.",))
    values = [f"uint3 {group} : SV_GroupID", f"uint {lane} : SV_GroupIndex"]
    _print_head(writer, name, entry.group, values, parameters)
    scalar, size = _sum_scalar(entry).name, entry.group[0]
    with writer.block():
        arguments = (scope.local("partials"), f"{group}.x", lane, scope.local("parts"))
        writer.line(f"{scalar} {total} = sa.total<{size}>({', '.join(arguments)});")
        writer.line(f"if ({lane} > 0 || {group}.x >= {entry.slots.count})")
        with writer.indented():
            writer.line("return;")
        print_totals(scope, writer, entry.slots, f"{group}.x", total, _element_count(inner))
    return EntryPoint(
        name, entry.kernel.name, entry.mode, entry.group, entry.kernel.dims, parameters, Work.TOTALS, entry.slots.count
    )


def _element_count(entry: _Entry) -> str:
    if entry.kernel.dims == 1:
        return entry.scope.local("count")
    domain = entry.scope.local("domain")
    return "(" + " * ".join(f"{domain}.{axis}" for axis in "xyz"[: entry.kernel.dims]) + ")"


def _print_copies_entry(entry: _Entry, writer: Writer, tensor: TensorPrinter, name: str) -> EntryPoint:
    """Adds the copies of a tensor's totals to its gradient."""
    parameters = tensor.copies_parameters()
    count, copies, totals, gradient = (p.name for p in parameters)
    print_doc(writer, (f"{entry.kernel.name}: the gradient of {tensor.buffer.param}, from the copies of its totals.",))
    _print_head(writer, name, (64, 1, 1), ["uint3 thread : SV_DispatchThreadID"], parameters)
    with writer.block():
        _print_flat(writer, "i", "thread", 64)
        writer.line(f"if (i >= {count})")
        with writer.indented():
            writer.line("return;")
        writer.line("sa.Copied total = 0.0;")
        writer.line(f"for (uint c = 0; c < {copies}; ++c)")
        with writer.indented():
            writer.line(f"total += {totals}[c * {count} + i];")
        writer.line(f"{gradient}[i] += {parameters[3].scalar.name}(total);")
    return EntryPoint(name, entry.kernel.name, entry.mode, (64, 1, 1), 1, parameters, Work.SCALARS)


GROUPS_A_ROW: Final = 65535
"""Thread groups along x; more go on in the next row, along y. Every GPU API takes as many."""


def _print_flat(writer: Writer, index: str, thread: str, group: int) -> None:
    writer.line(f"uint {index} = {thread}.y * {GROUPS_A_ROW * group} + {thread}.x;")


def _print_guard(entry: _Entry, writer: Writer) -> None:
    """Sends threads outside the domain home and numbers the others."""
    thread, i = entry.scope.local("thread"), entry.scope.index
    dims = entry.kernel.dims
    if dims == 1:
        count = entry.scope.local("count")
        _print_flat(writer, i, thread, entry.group[0])
        writer.line(f"if ({i} >= {count})")
        with writer.indented():
            writer.line("return;")
        return
    id_, domain = entry.scope.local("id"), entry.scope.local("domain")
    writer.line(f"uint{dims} {id_} = {thread}.{'zyx'[3 - dims :]};")
    writer.line(f"if (any({id_} >= {domain}))")
    with writer.indented():
        writer.line("return;")
    flat = f"{id_}.x * {domain}.y + {id_}.y"
    if dims == 3:
        flat = f"({flat}) * {domain}.z + {id_}.z"
    writer.line(f"uint {i} = {flat};")


def _print_call(entry: _Entry, writer: Writer) -> None:
    arguments = [text for place in entry.places if (text := place.argument(writer, entry.mode))]
    arguments += _thread_arguments(entry)
    match entry.mode:
        case Mode.FORWARD:
            _print_forward(entry, writer, arguments)
        case Mode.BACKWARD:
            _print_backward(entry, writer, arguments)
        case Mode.JVP:
            _print_jvp(entry, writer, arguments)
    for place in entry.places:
        place.finish(writer, entry.mode)


def _thread_arguments(entry: _Entry) -> Iterator[str]:
    """The thread's index and the domain, for a body that asks for them."""
    one = entry.kernel.dims == 1
    texts = {
        "thread_id": entry.scope.index if one else entry.scope.local("id"),
        "thread_count": entry.scope.local("count" if one else "domain"),
    }
    for value in thread_values(entry.function):
        yield f"{'int' if one else f'int{entry.kernel.dims}'}({texts[value]})"


def _function(entry: _Entry) -> str:
    return entry.scope.names.call(entry.function)


def _call(entry: _Entry, arguments: list[str]) -> str:
    """The call itself; a method is called on its object."""
    function = entry.function
    if function.owner and not function.static:
        this, *rest = arguments
        return f"{this}.{function.name}({', '.join(rest)})"
    return f"{_function(entry)}({', '.join(arguments)})"


def _print_forward(entry: _Entry, writer: Writer, arguments: list[str]) -> None:
    call = _call(entry, arguments)
    if len(entry.results) == 1 and not entry.results[0].access and _is_plain(entry.results[0]):
        entry.results[0].store(writer, call)
        return
    _print_plain(entry, writer, call)


def _is_plain(part: ResultPart | SumPart) -> bool:
    """Whether the call can stand where the result is stored."""
    if isinstance(part, SumPart):
        return isinstance(part.result.type, Scalar)
    return not isinstance(part.result.type, (Struct, Array))


def _print_plain(entry: _Entry, writer: Writer, call: str) -> None:
    """Prints a call whose result carries no derivative, and stores it."""
    if not entry.results:
        writer.line(f"{call};")
        return
    value = entry.scope.local("value")
    writer.line(f"{entry.scope.names.spell.declare(entry.function.result, value)} = {call};")
    for result in entry.results:
        result.store(writer, value)


def _print_backward(entry: _Entry, writer: Writer, arguments: list[str]) -> None:
    if any(isinstance(r, SumPart) for r in entry.results):
        _print_primal(entry, writer, arguments)
    seeds = [r.seed(writer) for r in entry.results if r.differentiable]
    if len(entry.results) > 1:
        seeds = [_joined_seed(entry, writer, seeds)]
    writer.line(f"bwd_diff({_function(entry)})({', '.join([*arguments, *seeds])});")


def _print_primal(entry: _Entry, writer: Writer, arguments: list[str]) -> None:
    """Adds up the results, which a backward pass of sums gives besides the gradients."""
    active = [place.differentiable for place in entry.places]
    given = [f"{a}.p" if is_pair else a for a, is_pair in zip(arguments, active, strict=False)]
    call = _call(entry, [*given, *arguments[len(given) :]])
    sums = [r for r in entry.results if isinstance(r, SumPart)]
    if len(entry.results) == 1 and not sums[0].access and _is_plain(sums[0]):
        sums[0].store(writer, call)
        return
    value = entry.scope.local("value")
    writer.line(f"{entry.scope.names.spell.declare(entry.function.result, value)} = {call};")
    for result in sums:
        result.store(writer, value)


def _joined_seed(entry: _Entry, writer: Writer, seeds: list[str]) -> str:
    type_ = entry.function.result
    if is_own_differential(type_):
        return f"{entry.scope.names.spell(type_)}({', '.join(seeds)})"
    names, name = entry.scope.names, entry.scope.local("seed")
    writer.line(f"{spell_differential(names, type_)} {name} = {zero_differential(names, type_)};")
    flowing = [r for r in entry.results if r.differentiable]
    for result, seed in zip(flowing, seeds, strict=True):
        writer.line(f"{name}{result.access} = {seed};")
    return name


def _print_jvp(entry: _Entry, writer: Writer, arguments: list[str]) -> None:
    call = f"fwd_diff({_function(entry)})({', '.join(arguments)})"
    if not any(result.differentiable for result in entry.results):
        _print_plain(entry, writer, call)
        return
    pair = entry.scope.local("pair")
    type_ = entry.scope.names.spell.generic(entry.function.result)
    writer.line(f"DifferentialPair<{type_}> {pair} = {call};")
    for result in entry.results:
        result.store(writer, f"{pair}.p")
        result.store_tangent(writer, f"{pair}.d")
