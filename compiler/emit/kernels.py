"""Prints kernels: the body as a device function, then forward, backward and JVP entry points around it.

Each memory an annotation can name is one class in ``places``, a row of ``PLACES`` here; an entry point asks every
parameter for its buffers, its argument, and what comes after the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from slangad.compiler.emit.differentials import is_own_differential, spell_differential, zero_differential
from slangad.compiler.emit.directions import InOutArgument, OutArgument
from slangad.compiler.emit.functions import differentiable, print_doc, thread_values
from slangad.compiler.emit.model import EntryParameter, EntryPoint, Mode, ParameterRole
from slangad.compiler.emit.names import Scope
from slangad.compiler.emit.places import EachParam, KernelScope, ResultPart, UniformParam
from slangad.compiler.ir.nodes import Function, Kernel, Memory
from slangad.compiler.ir.types import UINT, Array, Struct, carries_gradient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.buffers import Accessors
    from slangad.compiler.emit.context import ModuleNames
    from slangad.compiler.emit.writer import Writer

_TITLES: Final = {
    Mode.FORWARD: "the results of one element",
    Mode.BACKWARD: "the gradients of one element's inputs",
    Mode.JVP: "the results of one element and how they change along the tangents",
}


class Place(Protocol):
    """Where a kernel's parameter lives: how one thread gets it, and where its gradient goes."""

    @property
    def differentiable(self) -> bool:
        """Whether it has a gradient."""

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """What the entry point of a mode needs for it."""

    def argument(self, writer: Writer, mode: Mode) -> str:
        """Prints what comes before the call; gives the argument."""

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Prints what comes after the call."""


PLACES: Final[dict[Memory, type[EachParam] | type[UniformParam]]] = {
    Memory.EACH: EachParam,
    Memory.UNIFORM: UniformParam,
}
"""Where a parameter can live, a row per memory."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry point while it is printed."""

    kernel: Kernel
    function: Function
    mode: Mode
    name: str
    scope: KernelScope
    places: tuple[Place, ...]
    results: tuple[ResultPart, ...]


def modes_of(kernel: Kernel, function: Function) -> tuple[Mode, ...]:
    """All three modes, or only the forward one where no gradient can flow."""
    pairs = zip(kernel.params, (p for p in function.params if p.direction != "out"), strict=True)
    into = any(PLACES[p.memory] is EachParam and differentiable(q) for p, q in pairs)
    stored = any(differentiable(p) for p in function.params if p.direction != "in")
    flows = into and (stored or carries_gradient(function.result))
    possible = tuple(Mode) if function.differentiable and flows else (Mode.FORWARD,)
    return tuple(mode for mode in possible if not kernel.modes or mode.value in kernel.modes)


def print_kernel(
    names: ModuleNames, writer: Writer, kernel: Kernel, entry_names: dict[Mode, str], accessors: Accessors
) -> tuple[EntryPoint, ...]:
    """Prints the entry points of a kernel."""
    function = names.functions[kernel.function]
    entries = []
    for mode, name in entry_names.items():
        taken = (names.call(function), *names.taken)
        scope = KernelScope(names, Scope(taken, ()), accessors)
        places = tuple(_places(scope, kernel, function))
        entry = _Entry(kernel, function, mode, name, scope, places, _results(scope, kernel, function))
        writer.gap()
        with writer.origin(kernel.span):
            entries.append(_print_entry(entry, writer))
    return tuple(entries)


def _places(scope: KernelScope, kernel: Kernel, function: Function) -> Iterator[Place]:
    """One for each parameter of the function."""
    inputs = iter(kernel.params)
    stored = {result.param: ResultPart(scope, result, "") for result in kernel.results if result.param}
    for param in function.params:
        if param.direction == "out":
            yield OutArgument(scope, param, stored[param.name])
            continue
        given = next(inputs)
        if param.direction == "inout":
            yield InOutArgument(EachParam(scope, given), stored[param.name])
        else:
            yield PLACES[given.memory](scope, given)


def _results(scope: KernelScope, kernel: Kernel, function: Function) -> tuple[ResultPart, ...]:
    results = [result for result in kernel.results if not result.param]
    if len(results) == 1 and results[0].type == function.result:
        return (ResultPart(scope, results[0], ""),)
    steps = _steps(scope, function) if results else []
    return tuple(ResultPart(scope, result, step) for result, step in zip(results, steps, strict=True))


def _steps(scope: KernelScope, function: Function) -> list[str]:
    match function.result:
        case Struct(fields=fields):
            return [f".{scope.names.field(function.result, f.name)}" for f in fields]
        case _:
            return []


def _print_entry(entry: _Entry, writer: Writer) -> EntryPoint:
    given = [p for place in entry.places for p in place.parameters(entry.mode)]
    given += [p for result in entry.results for p in result.parameters(entry.mode)]
    parameters = (_domain(entry), *given)
    group = _group_size(entry.kernel)
    print_doc(writer, (f"{entry.kernel.name}: {_TITLES[entry.mode]}.",))
    writer.line('[shader("compute")]')
    writer.line(f"[numthreads({', '.join(str(size) for size in group)})]")
    _print_signature(entry, writer, parameters)
    with writer.block():
        _print_guard(entry, writer)
        _print_call(entry, writer)
    return EntryPoint(entry.name, entry.kernel.name, entry.mode, group, entry.kernel.dims, parameters)


def _group_size(kernel: Kernel) -> tuple[int, int, int]:
    """Thread-group extents as the device counts them: its x is the domain's last axis."""
    x, y, z = (*reversed(kernel.group_size), 1, 1)[:3]
    return x, y, z


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
    )


def _print_signature(entry: _Entry, writer: Writer, parameters: tuple[EntryParameter, ...]) -> None:
    shown = {p.name: f"uniform {p.type} {p.name}" for p in parameters}
    lines = [f"uint3 {entry.scope.local('thread')} : SV_DispatchThreadID", *shown.values()]
    writer.line(f"void {entry.name}(")
    with writer.indented():
        for line in lines[:-1]:
            writer.line(f"{line},")
        writer.line(f"{lines[-1]})")


def _print_guard(entry: _Entry, writer: Writer) -> None:
    """Sends threads outside the domain home and numbers the others."""
    thread, i = entry.scope.local("thread"), entry.scope.index
    dims = entry.kernel.dims
    if dims == 1:
        count = entry.scope.local("count")
        writer.line(f"uint {i} = {thread}.x;")
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
    simple = len(entry.results) == 1 and not isinstance(entry.results[0].result.type, (Struct, Array))
    if simple and not entry.results[0].access:
        entry.results[0].store(writer, call)
        return
    _print_plain(entry, writer, call)


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
    seeds = [r.seed(writer) for r in entry.results if r.differentiable]
    if len(entry.results) > 1:
        seeds = [_joined_seed(entry, writer, seeds)]
    writer.line(f"bwd_diff({_function(entry)})({', '.join([*arguments, *seeds])});")


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
