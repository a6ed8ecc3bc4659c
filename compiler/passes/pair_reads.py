"""Read two elements of one row of a tensor in one call, so that lanes exchange what they add to their gradients.

    a = image[i, j] * (1 - x)              pair = fit_image_pair(i, j, j1)
    b = image[i, j1] * x             ->    a = pair.first * (1 - x)
                                           b = pair.second * x

Elements whose indices are equal in all axes except the last mostly lie side by side, as in a filter. What lanes add at
a time then falls into half as many segments of memory. The reads are of one block, follow each other, and add to any
element (``scatter``). The emitter prints the function with a derivative of its own (``Role.PAIR``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, fresh_keys
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import Field, Struct, Tensor
from slangad.compiler.ir.walk import (
    blocks,
    map_blocks,
    map_stmt_exprs,
    rewrite,
    root,
    statements,
    walk,
)
from slangad.compiler.passes.gather_reads import certain_reads, evaluated_in, is_floats, names_in_body

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.build import Block


def pair_reads(module: ir.Module) -> ir.Module:
    """Return the module with a function for each pair of reads."""
    rows = {b.key: b for b in module.buffers if _has_rows(b)}
    if not rows:
        return module
    pairs = _Pairs(rows, fresh_keys(module))
    functions: list[ir.Function] = []
    for function in module.functions:
        changed = pairs.function(function) if is_differentiated(function) else function
        functions += (*pairs.made, changed)
        pairs.made.clear()
    return replace(module, functions=tuple(functions), structs=(*module.structs, *pairs.structs))


def _has_rows(buffer: ir.Buffer) -> bool:
    """Return True if threads add floats to any element of a gradient with several axes."""
    type_ = buffer.type
    if buffer.accumulation is not ir.Accumulation.SCATTER or not isinstance(type_, Tensor) or type_.writes:
        return False
    return type_.rank > 1 and is_floats(type_.element) and not buffer.added


@dataclass(slots=True)
class _Pairs:
    """The functions that precede the current one, and all structs so far; ``of_rows`` has the function of a tensor."""

    rows: dict[str, ir.Buffer]
    keys: Fresh
    of_rows: dict[str, tuple[str, Struct]] = field(default_factory=dict)
    made: list[ir.Function] = field(default_factory=list)
    structs: list[ir.StructDef] = field(default_factory=list)
    of: ir.Function = field(init=False)
    names: Fresh = field(init=False)

    def function(self, function: ir.Function) -> ir.Function:
        """Return a function with calls in place of reads."""
        body = statements(function)
        self.of, self.names = function, names_in_body(function)
        return replace(function, body=self.block(body)) if body else function

    def block(self, body: Block) -> Block:
        """Return a block with calls in place of reads."""
        rest = [map_blocks(stmt, self.block) for stmt in body]
        made: list[ir.Stmt] = []
        for number in range(len(rest)):
            own = [*dict.fromkeys(r for e in _always(rest[number]) for r in certain_reads(e, self.rows))]
            while own:
                read = own.pop(0)
                place = next(((n, r) for n, r in self._later(rest, number, read) if _is_beside(read, r)), None)
                if place is None:
                    continue
                call, fields = self._call(read, place[1])
                own = [r for r in own if r not in fields]
                for n in range(number, place[0] + 1):
                    rest[n] = map_stmt_exprs(rest[n], lambda e: rewrite(e, lambda x: fields.get(x, x)))  # noqa: B023
                made.append(call)
            made.append(rest[number])
        return tuple(made)

    def _later(self, body: list[ir.Stmt], first: int, read: ir.Read) -> Iterator[tuple[int, ir.Read]]:
        """Yield the reads of the statements from one on that could come before it, while its own is the same."""
        stored: set[str] = set()
        own = {*_index_names(read)}
        for number in range(first, len(body)):
            stmt = body[number]
            if blocks(stmt) or isinstance(stmt, (ir.Break, ir.Continue, ir.Barrier)):
                return
            for expr in _always(stmt):
                yield from (
                    (number, other) for other in certain_reads(expr, self.rows) if not stored & {*_index_names(other)}
                )
            target = root(stmt.target) if isinstance(stmt, ir.Assign) else None
            stored |= {target.name} if target is not None else set()
            if stored & own:
                return

    def _call(self, first: ir.Read, second: ir.Read) -> tuple[ir.Stmt, dict[ir.Expr, ir.Expr]]:
        """Return the call, and the fields that hold the elements."""
        assert isinstance(first.source, ir.Var)  # noqa: S101  (tensors are buffers)
        if first.source.name not in self.of_rows:
            self.of_rows[first.source.name] = self._function(self.rows[first.source.name], first)
        key, struct = self.of_rows[first.source.name]
        local = self.names.var("pair", struct)
        call = ir.Call(key, (*first.indices, second.indices[-1]), struct)
        members = (ir.Member(local, f.name, f.type) for f in struct.fields)
        return ir.Assign(local, call), dict(zip((first, second), members, strict=True))

    def _function(self, buffer: ir.Buffer, read: ir.Read) -> tuple[str, Struct]:
        """Return the key of a tensor's function and its result; the function is added to ``made``."""
        stem = "_".join((buffer.kernel, buffer.param, *buffer.path))
        title = "".join(part[:1].upper() + part[1:] for part in stem.split("_"))
        key = self.keys.name(f"{buffer.key} pair")
        struct = Struct(key, f"{title}Pair", (Field("first", read.type), Field("second", read.type)))
        self.structs.append(ir.StructDef(struct))
        *outer, last = (ir.Var(axis, i.type) for axis, i in zip("ijkl", read.indices, strict=False))
        beside = ir.Var(f"{last.name}_2", last.type)
        values = tuple(replace(read, indices=(*outer, index)) for index in (last, beside))
        function = ir.Function(
            key, f"{stem}_pair", tuple(ir.Param(v.name, v.type) for v in (*outer, last, beside)), struct,
            (ir.Return(ir.Construct(values, struct)),), role=ir.Role.PAIR, span=self.of.span,
            doc=("Two elements that mostly lie side by side.",), reads=True,
        )  # fmt: skip
        self.made.append(function)
        return key, struct


def _index_names(read: ir.Read) -> Iterator[str]:
    return (e.name for index in read.indices for e in walk(index) if isinstance(e, ir.Var))


def _always(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    return () if blocks(stmt) else evaluated_in(stmt)


def _is_beside(read: ir.Read, other: ir.Read) -> bool:
    """Return True if two reads are of one row."""
    return read.source == other.source and read.indices[:-1] == other.indices[:-1] and read != other
