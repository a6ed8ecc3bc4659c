"""Print constant tables of tables as one array each, ``WEIGHTS[3 * i + j]``, and functions that return their rows.

NVRTC refuses the text that Slang makes of a constant array of arrays: each row is a constant of its own, and the
table is initialised with them (docs/slang-notes.md).
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.emit.print.context import ModuleNames
    from slangad.compiler.emit.text.writer import Writer


def sizes_of(type_: types.Type) -> tuple[int, ...]:
    """Return the sizes of nested arrays, the outermost first; none of another type."""
    return (type_.size, *sizes_of(type_.element)) if isinstance(type_, types.Array) else ()


def entry_type(type_: types.Type) -> types.Type:
    """Return what the innermost of nested arrays hold."""
    return entry_type(type_.element) if isinstance(type_, types.Array) else type_


def slang_words(module: ir.Module) -> set[str]:
    """Return the words of the functions that users wrote in Slang."""
    texts = (f.body.text for f in module.functions if isinstance(f.body, ir.SlangBody))
    return {word for text in texts for word in re.findall(r"\w+", text)}


def tables_of(module: ir.Module) -> Iterator[ir.ConstantDef]:
    """Yield the tables of tables whose rows no Slang text of the user reads by name."""
    words = slang_words(module)
    return (c for c in module.constants if len(sizes_of(c.type)) > 1 and c.name not in words)


def entry_of(expr: ir.Expr, names: Mapping[str, object]) -> tuple[ir.ConstantRef, ir.Expr | None, ir.Expr] | None:
    """Return the table of tables that an expression reads, the index into its array, and the read itself.

    None for another expression. The index counts entries, or rows if a row is read; it is None if the whole table is.
    """
    parts: list[ir.Index] = []
    base = expr
    while isinstance(base, ir.Index):
        parts.insert(0, base)
        base = base.value
    if not isinstance(base, ir.ConstantRef) or base.key not in names:
        return None
    sizes = sizes_of(base.type)
    read = parts[: len(sizes)]
    at: ir.Expr | None = None
    for size, part in zip(sizes, read, strict=False):
        index = part.index if part.index.type in (types.INT, types.WEAK_INT) else ir.Cast(part.index, types.INT)
        at = index if at is None else _computed("+", _computed("*", at, ir.Const(size, types.INT)), index)
    return base, at, read[-1] if read else base


def _computed(op: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return a sum or a product of ints, which is a number if both are."""
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        first, second = int(left.value), int(right.value)
        return ir.Const(first + second if op == "+" else first * second, types.INT)
    return ir.Binary(op, left, right, types.INT)


def print_row_functions(names: ModuleNames, writer: Writer, module: ir.Module) -> None:
    """Print the functions that return the rows that printed text reads: ``ModuleNames.rows``."""
    types_of = {c.key: c.type for c in module.constants}
    for key, given in sorted(names.rows):
        row = types_of[key]
        for _ in range(given):
            assert isinstance(row, types.Array)  # noqa: S101  (as many as it has)
            row = row.element
        sizes = sizes_of(row)
        place = "at" if given else "0"
        writer.gap()
        which = "has at an index, counted in such arrays" if given else "has in all"
        writer.comment(f"What {names.constants[key]} {which}.")
        writer.line(f"{names.spell(row)} {names.tables[key][given]}({'int at' if given else ''})")
        with writer.block(), ExitStack() as loops:
            writer.line(f"{names.spell.declare(row, 'row')} = {{}};")
            for level, size in enumerate(sizes):
                writer.line(f"for (int k{level} = 0; k{level} < {size}; ++k{level})")
                loops.enter_context(writer.indented())
                place = f"{place if level == 0 else f'({place})'} * {size} + k{level}"
            entry = "row" + "".join(f"[k{level}]" for level in range(len(sizes)))
            writer.line(f"{entry} = {names.constants[key]}[{place}];")
            loops.close()
            writer.line("return row;")

