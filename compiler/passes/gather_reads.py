"""Read what the threads of a tile share in one call, so that a wave adds up all its gradients at once.

    d = float2(x, y) - mean[g]                 item = march_item(g)
    light = light + color[g] * alpha     ->    d = float2(x, y) - item.mean
                                               light = light + item.color * alpha

Reads of one block that follow each other, whose accumulation is ``together``, become one call before the first of them.
After a branch that may leave the block, only reads at the same indices do. They may have been guarded by the branch, so
the call reads zeros outside of their tensors. The emitter prints the function with a derivative of its own
(``Role.GATHER``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, fresh_keys, zero
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import BOOL, FLOAT, INT, Array, Field, Struct, Type, Vector, count_scalars
from slangad.compiler.ir.walk import (
    blocks,
    body_exprs,
    children,
    map_blocks,
    map_stmt_exprs,
    rewrite,
    root,
    statements,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

Block = tuple[ir.Stmt, ...]
_MOST: Final = 32
"""Scalars of a call: the lanes of a wave, each of which adds the sum of one."""
_LEAVING: Final = (ir.Break, ir.Continue, ir.Return)


def gather_reads(module: ir.Module) -> ir.Module:
    """Return the module with a function for each group of reads."""
    together = (b for b in module.buffers if b.accumulation is ir.Accumulation.TOGETHER)
    shared = {b.key: b for b in together if is_floats(entry_type(b.type.element))}
    if not shared:
        return module
    gatherer = _Gatherer(shared, fresh_keys(module))
    functions: list[ir.Function] = []
    for function in module.functions:
        changed = gatherer.function(function) if is_differentiated(function) else function
        functions += (*gatherer.made, changed)
        gatherer.made.clear()
    return replace(module, functions=tuple(functions), structs=(*module.structs, *gatherer.structs))


@dataclass(slots=True)
class _Gatherer:
    """The functions of the current function, and all structs so far."""

    shared: dict[str, ir.Buffer]
    keys: Fresh
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
        made: list[ir.Stmt] = []
        rest = tuple(map_blocks(stmt, self.block) for stmt in body)
        while rest:
            size, reads = self._group(rest)
            if len(reads) > 1:
                item, call = self._item(reads)
                fields: dict[ir.Expr, ir.Expr] = dict(zip(reads, item, strict=True))
                made.append(call)
                made += (
                    map_stmt_exprs(s, lambda e: rewrite(e, lambda x: fields.get(x, x)))  # noqa: B023  (used at once)
                    for s in rest[:size]
                )
            else:
                made += rest[:size]
            rest = rest[size:]
        return tuple(made)

    def _group(self, body: Block) -> tuple[int, dict[ir.Read, bool]]:
        """Return how many statements one call can serve, and what they read: True if some threads only read it.

        There may be nothing that the first one reads.
        """
        found: dict[ir.Read, bool] = {}
        stored: set[str] = set()
        scalars = 0
        leaves_early = False
        for number, stmt in enumerate(body):
            own: dict[ir.Read, bool] = {}
            if not blocks(stmt):
                known = {read.indices for read in found}
                every = (read for e in evaluated_in(stmt) for read in certain_reads(e, self.shared))
                own = {read: leaves_early for read in every if not leaves_early or read.indices in known}
            new = [read for read in own if read not in found]
            changed = any(isinstance(e, ir.Var) and e.name in stored for r in own for e in walk(r))
            scalars += sum(count_scalars(read.type).total() for read in new)
            if found and (changed or scalars > _MOST):
                return number, found
            found |= {read: own[read] for read in new} if scalars <= _MOST else {}
            if found:
                stored |= {t.name for s in walk_stmts((stmt,)) if isinstance(s, ir.Assign) and (t := root(s.target))}
            if not found:
                return 1, found
            leaves_early = leaves_early or any(isinstance(s, _LEAVING) for s in walk_stmts((stmt,)))
        return len(body), found

    def _item(self, found: dict[ir.Read, bool]) -> tuple[list[ir.Expr], ir.Stmt]:
        """Return the fields that hold the elements, and the call; its function is added to ``made``."""
        words = Fresh(set())
        fields = [Field(words.name(self._word(read)), read.type) for read in found]
        stem = self.of.name.rsplit(".", 1)[-1].removesuffix("_step")
        title = "".join(part[:1].upper() + part[1:] for part in stem.split("_"))
        key = self.keys.name(f"{self.of.key} item")
        struct = Struct(key, f"{title}Item", tuple(fields))
        self.structs.append(ir.StructDef(struct))
        indices = tuple(dict.fromkeys(i for read in found for i in read.indices))
        names = Fresh(set())
        params = {i: ir.Param(names.name(i.name if isinstance(i, ir.Var) else "at"), i.type) for i in indices}
        inside = tuple(
            replace(read, indices=tuple(ir.Var(params[i].name, i.type) for i in read.indices)) for read in found
        )
        values = tuple(_guarded(read) if some else read for read, some in zip(inside, found.values(), strict=True))
        body = (ir.Return(ir.Construct(values, struct)),)
        function = ir.Function(
            key, f"{stem}_item", tuple(params.values()), struct, body, role=ir.Role.GATHER, span=self.of.span,
            doc=("What the threads of a tile read together.",), reads=True,
        )  # fmt: skip
        self.made.append(function)
        local = self.names.var("item", struct)
        members: list[ir.Expr] = [ir.Member(local, f.name, f.type) for f in fields]
        return members, ir.Assign(local, ir.Call(key, indices, struct))

    def _word(self, read: ir.Read) -> str:
        assert isinstance(read.source, ir.Var)  # noqa: S101  (tensors are buffers)
        return self.shared[read.source.name].name.replace(".", "_")


def _guarded(read: ir.Read) -> ir.Expr:
    """Return the value of a read; zero outside of the tensor."""
    inside = (
        ir.Binary(op, index, bound, BOOL)
        for axis, index in enumerate(read.indices)
        for op, bound in ((">=", ir.Const(0, INT)), ("<", ir.Extent(read.source, axis, INT)))
    )
    return ir.Ternary(reduce(lambda a, b: ir.Binary("&&", a, b, BOOL), inside), read, zero(read.type), read.type)


def gathered(function: ir.Function) -> dict[ir.Read, ir.Ternary | None]:
    """Return the reads of a function that this pass has made, and the guarded value of each where it has one."""
    (stmt,) = statements(function)
    assert isinstance(stmt, ir.Return)  # noqa: S101  (made above)
    assert isinstance(stmt.value, ir.Construct)  # noqa: S101
    found: dict[ir.Read, ir.Ternary | None] = {}
    for value in stmt.value.args:
        read = value.then if isinstance(value, ir.Ternary) else value
        assert isinstance(read, ir.Read)  # noqa: S101
        found[read] = value if isinstance(value, ir.Ternary) else None
    return found


def names_in_body(function: ir.Function) -> Fresh:
    """Return names that the parameters and locals of a function leave free."""
    body = statements(function)
    taken = {p.name for p in function.params} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
    return Fresh(taken | {s.variable for s in walk_stmts(body) if isinstance(s, ir.For)})


def certain_reads(expr: ir.Expr, buffers: Container[str]) -> Iterator[ir.Read]:
    """Yield the reads of some buffers that an expression always evaluates, where plain arithmetic gives the indices."""
    match expr:
        case ir.Ternary() | ir.NoDiff() | ir.Binary(op="&&" | "||"):
            return
        case ir.Read(source=ir.Var(name), indices=indices) if name in buffers:
            if not any(isinstance(e, (ir.Call, ir.Read)) for i in indices for e in walk(i)):
                yield expr
        case _:
            for child in children(expr):
                yield from certain_reads(child, buffers)


def evaluated_in(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Return the expressions that a statement without blocks evaluates for their values."""
    match stmt:
        case ir.Assign(value=value):
            return (value,)
        case ir.Return(value=value) if value is not None:
            return (value,)
        case _:
            return ()


def entry_type(type_: Type) -> Type:
    """Return the type of the entries of an array, or the type itself."""
    return type_.element if isinstance(type_, Array) else type_


def is_floats(type_: Type) -> bool:
    """Return True for a float or a vector of floats."""
    return type_ == FLOAT or (isinstance(type_, Vector) and type_.element == FLOAT)
