"""Print the work on one element: load the arguments, call the kernel in its mode, and store the outputs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from slangad.compiler.emit.entry_points.memory_classes import EachParam
from slangad.compiler.emit.entry_points.shared_values import SumPart
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.emit.print.differentials import is_own_differential, spell_differential, zero_differential
from slangad.compiler.emit.print.functions import thread_values
from slangad.compiler.emit.text.writer import Writer
from slangad.compiler.ir.types import Array, Scalar, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.emit.entry_points.entry import PrintedEntry
    from slangad.compiler.emit.entry_points.memory_classes import ElementResult


def print_call(entry: PrintedEntry, writer: Writer, more: Sequence[str] = ()) -> None:
    """Print everything about one element; ``more`` are the last arguments of a function that is no kernel's."""
    _print_element(entry, writer)
    arguments = [*_arguments(entry, writer), *(more or _thread_arguments(entry))]
    match entry.mode:
        case Mode.FORWARD:
            _print_forward(entry, writer, arguments)
        case Mode.BACKWARD:
            _print_backward(entry, writer, arguments)
        case Mode.JVP:
            _print_jvp(entry, writer, arguments)
    vectors = [place for place in entry.places if isinstance(place, EachParam) and place.is_vector]
    for vector in vectors:
        vector.finish(writer, entry.mode)
    with _active(entry, writer) as inner:
        for place in entry.places:
            if place not in vectors:
                place.finish(inner, entry.mode)


def _arguments(entry: PrintedEntry, writer: Writer) -> Iterator[str]:
    """Yield the arguments of places; read those of two calls once: nvcc does not merge reads of Slang's buffers."""
    twice = entry.mode is Mode.BACKWARD and not entry.kept and any(isinstance(r, SumPart) for r in entry.results)
    for place in entry.places:
        text = place.argument(writer, entry.mode)
        if twice and isinstance(place, EachParam) and not text.isidentifier():
            read, text = text, entry.scope.local(f"{place.param.name}_value")
            writer.line(f"{entry.scope.names.spell.declare(place.param.type, text)} = {read};")
        if text:
            yield text


@contextmanager
def _active(entry: PrintedEntry, writer: Writer) -> Iterator[Writer]:
    """Yield a writer of statements that only threads with an element of their own run."""
    if not entry.in_step:
        yield writer
        return
    inner = Writer()
    yield inner
    lines = inner.text.splitlines()
    if any(lines):
        writer.line(f"if ({entry.scope.local('active')})")
        with writer.block():
            for line in lines:
                writer.line(line)


def _print_element(entry: PrintedEntry, writer: Writer) -> None:
    """Print the number of the current element for probes."""
    if any(p.role is ParameterRole.PROBE for part in entry.memory for p in part.parameters(entry.mode)):
        writer.line(f"sa.current_element = {entry.scope.index};")


def _thread_arguments(entry: PrintedEntry) -> Iterator[str]:
    """Yield the thread's index and the domain if the body uses them."""
    one = entry.kernel.dims == 1
    texts = {
        "thread_id": entry.scope.index if one else entry.scope.local("id"),
        "thread_count": entry.scope.local("count" if one else "domain"),
    }
    for value in thread_values(entry.function):
        yield f"{'int' if one else f'int{entry.kernel.dims}'}({texts[value]})"


def _differentiated(entry: PrintedEntry) -> str:
    return entry.scope.names.reference(entry.function)


def _call(entry: PrintedEntry, arguments: list[str]) -> str:
    """Return the call itself; a method is called on its object."""
    function = entry.function
    if function.owner and not function.static:
        this, *rest = arguments
        return f"{this}.{entry.scope.names.method(function)}({', '.join(rest)})"
    return f"{entry.scope.names.call(function)}({', '.join(arguments)})"


def _print_forward(entry: PrintedEntry, writer: Writer, arguments: list[str]) -> None:
    _print_stored(entry, writer, _call(entry, arguments), entry.results)


def _print_stored(entry: PrintedEntry, writer: Writer, call: str, parts: Sequence[ElementResult | SumPart]) -> None:
    """Print a call and store some of its results; a plain one without a local."""
    if len(entry.results) == 1 and not parts[0].access and _is_plain(parts[0]) and not entry.in_step:
        parts[0].store(writer, call)
        return
    _print_plain(entry, writer, call, parts)


def _is_plain(part: ElementResult | SumPart) -> bool:
    """Return True if the store can contain the call."""
    if isinstance(part, SumPart):
        return isinstance(part.result.type, Scalar)
    return not isinstance(part.result.type, (Struct, Array))


def _print_plain(entry: PrintedEntry, writer: Writer, call: str, parts: Sequence[ElementResult | SumPart]) -> None:
    """Print a call whose result carries no derivative, and the store of the result."""
    if not parts:
        writer.line(f"{call};")
        return
    value = entry.scope.local("value")
    writer.line(f"{entry.scope.names.spell.declare(entry.function.result, value)} = {call};")
    with _active(entry, writer) as inner:
        for result in parts:
            result.store(inner, value)


def _print_backward(entry: PrintedEntry, writer: Writer, arguments: list[str]) -> None:
    sums = [r for r in entry.results if isinstance(r, SumPart)]
    if sums and not entry.kept:
        _print_primal(entry, writer, arguments)
    seeds = [_own_seed(entry, writer, r) for r in entry.results if r.differentiable]
    if any(r.access for r in entry.results):
        seeds = [_joined_seed(entry, writer, seeds)]
    differentiated = entry.kept.function if entry.kept else _differentiated(entry)
    writer.line(f"bwd_diff({differentiated})({', '.join([*arguments, *seeds])});")
    if entry.kept:
        with _active(entry, writer) as inner:
            for result in sums:
                result.store(inner, entry.kept.value)


def _own_seed(entry: PrintedEntry, writer: Writer, result: ElementResult | SumPart) -> str:
    """Return the cotangent of a result; zero in threads that repeat another one's element."""
    seed = result.seed(writer)
    if not entry.in_step:
        return seed
    names, seed_local, type_ = entry.scope.names, entry.scope.local(f"{result.result.name}_own"), result.result.type
    writer.line(f"{spell_differential(names, type_)} {seed_local} = {zero_differential(names, type_)};")
    writer.line(f"if ({entry.scope.local('active')})")
    with writer.indented():
        writer.line(f"{seed_local} = {seed};")
    return seed_local


def _print_primal(entry: PrintedEntry, writer: Writer, arguments: list[str]) -> None:
    """Print additions of the results; backward mode of sums gives these besides the gradients."""
    active = [place.differentiable for place in entry.places]
    primals = [f"{a}.p" if is_pair else a for a, is_pair in zip(arguments, active, strict=False)]
    call = _call(entry, [*primals, *arguments[len(primals) :]])
    _print_stored(entry, writer, call, [r for r in entry.results if isinstance(r, SumPart)])


def _joined_seed(entry: PrintedEntry, writer: Writer, seeds: list[str]) -> str:
    type_ = entry.function.result
    if is_own_differential(type_):
        return f"{entry.scope.names.spell(type_)}({', '.join(seeds)})"
    names, name = entry.scope.names, entry.scope.local("seed")
    writer.line(f"{spell_differential(names, type_)} {name} = {zero_differential(names, type_)};")
    flowing = [r for r in entry.results if r.differentiable]
    for result, seed in zip(flowing, seeds, strict=True):
        writer.line(f"{name}{result.access} = {seed};")
    return name


def _print_jvp(entry: PrintedEntry, writer: Writer, arguments: list[str]) -> None:
    call = f"fwd_diff({_differentiated(entry)})({', '.join(arguments)})"
    if not any(result.differentiable for result in entry.results):
        _print_plain(entry, writer, call, entry.results)
        return
    pair = entry.scope.local("pair")
    type_ = entry.scope.names.spell.generic(entry.function.result)
    writer.line(f"DifferentialPair<{type_}> {pair} = {call};")
    with _active(entry, writer) as inner:
        for result in entry.results:
            result.store(inner, f"{pair}.p")
            result.store_tangent(inner, f"{pair}.d")
