"""Convert between values and their Slang differentials, which differ for structs with fields without gradient.

In the IR the gradient of a ``Material`` is a ``Material``. In Slang it is a ``Material.Differential``. Both are the
same only if every field carries gradient; otherwise two generated functions convert.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.nodes import (
    BackwardCall,
    MakePair,
    Member,
    Module,
    Role,
)
from slangad.compiler.ir.types import (
    Array,
    DiffPair,
    Matrix,
    Scalar,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Type,
    Vector,
    Void,
    Weak,
    carries_gradient,
    is_floating,
)
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slangad.compiler.emit.print.context import ModuleNames, PrintContext
    from slangad.compiler.emit.text.writer import Writer


def is_own_differential(type_: Type) -> bool:
    """Return True if Slang uses the type itself as its differential."""
    match type_:
        case Scalar() | Vector() | Matrix():
            return is_floating(type_)
        case Array(element=element):
            return is_own_differential(element)
        case Struct(fields=fields):
            return all(not f.no_diff and is_own_differential(f.type) for f in fields)
        case Tuple(elements):
            return all(is_own_differential(e) for e in elements)
        case DiffPair() | Tensor() | Texture() | Void() | Weak():
            return False
        case _:
            assert_never(type_)


def spell_differential(names: ModuleNames, type_: Type) -> str:
    """Return the type of a gradient."""
    uses_own = is_own_differential(type_) and not names.has_external(type_)
    return names.spell(type_) if uses_own else f"{names.spell.generic(type_)}.Differential"


def zero_differential(names: ModuleNames, type_: Type) -> str:
    """Return the initial value of a gradient that is set part by part."""
    uses_own = is_own_differential(type_) and not names.has_external(type_)
    return "{}" if uses_own else f"{names.spell.generic(type_)}.dzero()"


def differential_of(ctx: PrintContext, type_: Type, value: Callable[[], None]) -> None:
    """Print a value as the differential of its type."""
    _converted(ctx, "" if is_own_differential(type_) else ctx.names.to_differential, value)


def value_of(ctx: PrintContext, type_: Type, differential: Callable[[], None]) -> None:
    """Print a differential as a value of the original type."""
    _converted(ctx, "" if is_own_differential(type_) else ctx.names.from_differential, differential)


def _converted(ctx: PrintContext, function: str, inner: Callable[[], None]) -> None:
    if function:
        ctx.writer.write(f"{function}(")
    inner()
    if function:
        ctx.writer.write(")")


def converted_types(module: Module) -> tuple[Type, ...]:
    """Return the types that differ from their differentials and whose differentials the module handles, parts first."""
    result: dict[Type, None] = {}
    for type_ in _handled(module):
        _collect(type_, result)
    return tuple(result)


def _handled(module: Module) -> Iterator[Type]:
    by_key = {f.key: f for f in module.functions}
    for function in module.functions:
        if function.role is Role.BACKWARD:
            yield from (p.type for p in function.params)
        for expr in body_exprs(statements(function)):
            match expr:
                case BackwardCall(function=key):
                    yield from (p.type for p in by_key[key].params if not p.no_diff)
                    yield by_key[key].result
                case MakePair(primal=primal):
                    yield primal.type
                case Member(value=value, name="d") if isinstance(value.type, DiffPair):
                    yield value.type.primal
                case _:
                    pass


def _collect(type_: Type, types: dict[Type, None]) -> None:
    if not carries_gradient(type_) or is_own_differential(type_):
        return
    for part in _parts(type_):
        _collect(part, types)
    types[type_] = None


def _parts(type_: Type) -> Iterable[Type]:
    match type_:
        case Array(element=element):
            return (element,)
        case Struct(fields=fields):
            return tuple(f.type for f in fields if not f.no_diff)
        case Tuple(elements):
            return elements
        case _:
            return ()


def print_converters(names: ModuleNames, writer: Writer, types: Iterable[Type]) -> None:
    """Print both conversions of each type."""
    for type_ in types:
        differential, plain = spell_differential(names, type_), names.spell(type_)
        _converter(names, writer, type_, (plain, differential, names.to_differential))
        _converter(names, writer, type_, (differential, plain, names.from_differential))


def _converter(names: ModuleNames, writer: Writer, type_: Type, signature: tuple[str, str, str]) -> None:
    source, target, name = signature
    writer.gap()
    writer.line("[Differentiable]")
    writer.line(f"{target} {name}({source} value)")
    with writer.block():
        start = zero_differential(names, type_) if name == names.to_differential else "{}"
        writer.line(f"{target} result = {start};")
        for step, part in _steps(names, type_):
            inner = f"value{step}" if is_own_differential(part) else f"{name}(value{step})"
            writer.line(f"result{step} = {inner};")
        if isinstance(type_, Array):
            _converter_loop(writer, type_, name)
        writer.line("return result;")


def _steps(names: ModuleNames, type_: Type) -> Iterator[tuple[str, Type]]:
    match type_:
        case Struct(fields=fields):
            for field in fields:
                if not field.no_diff and carries_gradient(field.type):
                    yield f".{names.field(type_, field.name)}", field.type
        case _:
            return


def _converter_loop(writer: Writer, type_: Array, name: str) -> None:
    writer.line(f"for (int i = 0; i < {type_.size}; ++i)")
    with writer.indented():
        writer.line(f"result[i] = {name}(value[i]);")
