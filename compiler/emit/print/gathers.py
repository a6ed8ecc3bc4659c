"""Print a function that reads several elements, and its derivatives.

SplatsItem splats_item(int g)                       // what the threads of a tile share
void splats_item_bwd(int g, SplatsItem d_out)       // a wave adds up all their gradients at once
FitImagePair fit_image_pair(int i, int j, int j_2)  // elements of one row
void fit_image_pair_bwd(…, FitImagePair d_out)      // lanes exchange what they add
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.memory.buffers import components_of
from slangad.compiler.emit.memory.tensors import is_exact, kept_number, print_attributes
from slangad.compiler.emit.model import Mode
from slangad.compiler.emit.print.expressions import print_expr
from slangad.compiler.emit.print.functions import new_context, print_doc, signature
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Array, Struct
from slangad.compiler.passes.gather_reads import gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.emit.memory.tensors import TensorPrinter
    from slangad.compiler.emit.print.context import ModuleNames, PrintContext
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.types import Type

_LARGEST_VECTOR: Final = 4


def print_gather(
    names: ModuleNames,
    writer: Writer,
    function: ir.Function,
    tensors: Mapping[str, TensorPrinter],
    modes: Mapping[str, tuple[Mode, ...]],
    *,
    added: bool,
) -> None:
    """Print the function and the derivatives that the modes of its kernel need.

    If gradients are ``added`` for several elements of a thread at once, a function of its own does that.
    """
    name, type_ = names.function_names[function.key], function.result
    assert isinstance(type_, Struct)  # noqa: S101  (as the pass that makes it says)
    ctx = new_context(names, writer, function)
    indices = [ctx.local(param.name) for param in function.params]
    shown, given, struct = ", ".join(signature(ctx, function)), ", ".join(indices), names.spell(type_)
    guards = gathered(function)
    reads = [(tensors[read.source.name], _indices(read)) for read in guards if isinstance(read.source, ir.Var)]
    asked = {mode for tensor, _ in reads for mode in modes[tensor.buffer.kernel]}
    print_doc(writer, function.doc)
    print_attributes(writer, name)
    writer.line(f"{struct} {name}({shown})")
    with writer.block():
        writer.write("return ")
        _print_values(ctx, struct, (tensor.load_at(at) for tensor, at in reads), guards.values())
    writer.gap()
    writer.line(f"DifferentialPair<{struct}> {name}_fwd({shown})")
    with writer.block():
        writer.write(f"{struct} tangent = ")
        if Mode.JVP in asked:
            _print_values(ctx, struct, (tensor.load_at(at, tangent=True) for tensor, at in reads), guards.values())
        else:
            writer.end("{};")
        writer.line(f"return diffPair({name}({given}), tangent);")
    writer.gap()
    agree = _agree(reads, indices)
    if added:
        print_doc(writer, ("Adds what the threads give; all of a wave have the same indices if they agreed.",))
        writer.line(f"void {name}_add({shown}, {struct} d_out, bool agreed)")
        with writer.block():
            if Mode.BACKWARD in asked:
                _print_sums(names, writer, type_, "agreed", reads)
        writer.gap()
    writer.line(f"void {name}_bwd({shown}, {struct} d_out)")
    with writer.block():
        if added:
            writer.line(f"{name}_add({given}, d_out, {agree});")
        elif Mode.BACKWARD in asked:
            _print_added(names, writer, function, agree, reads)


def _print_values(ctx: PrintContext, struct: str, loads: Iterable[str], guards: Iterable[ir.Ternary | None]) -> None:
    """Print the struct of the elements, and the end of the statement; zero for guarded ones outside of their tensor."""
    writer = ctx.writer
    for number, (load, guard) in enumerate(zip(loads, guards, strict=True)):
        writer.write(", " if number else f"{struct}(")
        if guard is None:
            writer.write(load)
            continue
        print_expr(ctx, guard.condition)
        writer.write(f" ? {load} : ")
        print_expr(ctx, guard.other)
    writer.end(");")


def _indices(read: ir.Read) -> list[str]:
    return [index.name for index in read.indices if isinstance(index, ir.Var)]


def _agree(reads: list[tuple[TensorPrinter, list[str]]], indices: list[str]) -> str:
    """Return whether a wave may add up. Which of its lanes are here can differ from run to run: exact sums can't."""
    exact = any(is_exact(tensor.buffer) for tensor, _ in reads)
    return "false" if exact else " && ".join(f"sa.agree({index})" for index in indices)


def _print_added(
    names: ModuleNames,
    writer: Writer,
    function: ir.Function,
    agree: str,
    reads: list[tuple[TensorPrinter, list[str]]],
) -> None:
    """Print the additions to what a function reads: of a pair to two elements of one tensor, else sums over a wave."""
    type_ = function.result
    assert isinstance(type_, Struct)  # noqa: S101  (as the passes make it)
    if function.role is not ir.Role.PAIR:
        _print_sums(names, writer, type_, agree, reads)
        return
    (tensor, first), (_, second) = reads
    tensor.print_return_of_absent(writer)
    given = [f"d_out.{names.field(type_, field.name)}" for field in type_.fields]
    tensor.print_pair(writer, [(first, given[0]), (second, given[1])])


def _print_sums(
    names: ModuleNames, writer: Writer, type_: Struct, agree: str, reads: list[tuple[TensorPrinter, list[str]]]
) -> None:
    """Print the sum over a wave if its threads agree, and the additions of its parts to the totals."""
    values = [v for f in type_.fields for v in _numbers(f"d_out.{names.field(type_, f.name)}", f.type)]
    count = len(values)
    writer.line(f"float values[{count}] = {{ {', '.join(values)} }};")
    writer.line(f"sa.Together<{count}> sums = sa.add_up<{count}>(values, {agree});")
    first = 0
    for tensor, at in reads:
        width, number = len(_numbers("", tensor.tensor.element)), kept_number(tensor.buffer, tensor.kept)
        totals, start = tensor.names.gradient, tensor.total_place(tensor.place_of(at))
        for k in range(0, width, _LARGEST_VECTOR):
            size, place = min(_LARGEST_VECTOR, width - k), f"{start} + {k}" if k else start
            if is_exact(tensor.buffer):
                call = f"sa.scatter_exactly<{count}, {first}, {size}>"
                noted = tensor.names.noted[totals]
                writer.line(f"{noted} = {call}({totals}, {tensor.total_size}, {noted}, {place}, sums);")
            else:
                writer.line(f"sums.scatter<{first}, {size}>({totals}, {number}, {place});")
            first += size


def _numbers(value: str, type_: Type) -> list[str]:
    """Return the numbers of a float, a vector of floats, or an array of one of these."""
    if isinstance(type_, Array):
        return [number for n in range(type_.size) for number in _numbers(f"{value}[{n}]", type_.element)]
    size = components_of(type_)
    return [f"{value}.{axis}" for axis in "xyzw"[:size]] if size > 1 else [value]
