"""Make loops that set one array entry by entry functions with derivatives of their own.

    for i in 0 .. 64:                         entry(z, slope) = max(z, slope * z)
        h[i] = max(z[i], slope * z[i])   ->   map(z, slope)   = for i: out[i] = entry(z[i], slope)
                                              h = map(z, slope)

Slang's reverse mode of a store into an array adds up the gradient of the whole array: a loop over 64 entries takes
64 * 64 additions and copies, and keeps 64 arrays. The derivatives of ``map`` are loops over those of ``entry``. Kernels
with products of matrices have such functions, and all others where an array has more than ``LONG`` entries. A loop
that copies all entries of an array becomes ``h = z``. A turn may set several entries, ``h[i * 2 + k]``: then ``entry``
returns that row of two.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.layers import entry_key, multiplying
from slangad.compiler.ir.types import (
    FLOAT,
    INT,
    Array,
    DiffPair,
    Scalar,
    Tuple,
    Type,
    Vector,
    carries_gradient,
    half_as_float,
)
from slangad.compiler.ir.walk import (
    children,
    map_blocks,
    map_children,
    map_stmt_exprs,
    root,
    stmt_exprs,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FEWEST: Final = 16
"""Entries. Slang's own derivative of a shorter loop costs little, if a turn sets one entry."""
LONG: Final = 64
"""Entries. In kernels without products, Slang differentiates loops over shorter arrays. Larger: it keeps more."""
_ENTRY: Final = "result_entry"
_INDEX: Final = "place"
_ROW: Final = "row"
_TURN: Final = "What a turn of the loop below sets."
_WHY: Final = "A loop over entries. Its own derivatives go through them once; those of Slang would add up whole arrays."
_OWN: Final = frozenset({
    _ENTRY, _INDEX, _ROW, "entries", "tangents", "entry_pair", "entry_gradients", "d_out", "d_row", "place_in_row",
})  # fmt: skip
"""Locals of the functions that are made. A loop with a local of such a name stays."""


def map_entries(module: ir.Module) -> ir.Module:
    """Return the module with such functions: for kernels that multiply by matrices together, and for long arrays."""
    keys = multiplying(module)
    made = (part for f in module.functions for part in _mapped(f, multiplies=f.key in keys))
    return replace(module, functions=tuple(made))


def _mapped(function: ir.Function, *, multiplies: bool) -> tuple[ir.Function, ...]:
    """Return the functions that the loops of a function become, and the function with calls of them, last."""
    by_slang = function.differentiable and isinstance(function.derivative, ir.Automatic)
    if not isinstance(function.body, tuple) or not (multiplies or by_slang):
        return (function,)
    mapper = _Mapper(function, 0 if multiplies else LONG)
    body = mapper.block(function.body, ())
    return (*mapper.made, replace(function, body=body))


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop that sets an array entry by entry.

    Attributes:
        out: The array.
        arrays: The arrays of which it reads an entry, perhaps ``out``.
        values: The other variables that it reads.
        count: The number of turns.
        row: The number of entries that a turn sets.
    """

    out: ir.Var
    arrays: tuple[ir.Var, ...]
    values: tuple[ir.Var, ...]
    count: int
    row: int = 1

    @property
    def entry(self) -> Type:
        """The type of what a turn sets."""
        return Array(FLOAT, self.row) if self.row > 1 else FLOAT

    @property
    def params(self) -> tuple[ir.Param, ...]:
        """The parameters of the map."""
        return tuple(ir.Param(v.name, v.type) for v in (*self.arrays, *self.values))

    @property
    def entry_params(self) -> tuple[ir.Param, ...]:
        """The parameters of an entry."""
        return (
            *(ir.Param(_entry_of(v), _element(v.type)) for v in self.arrays),
            *(ir.Param(v.name, v.type) for v in self.values),
        )


def _entry_of(array: ir.Var) -> str:
    return f"{array.name}_entry"


def _element(type_: Type) -> Type:
    assert isinstance(type_, Array)  # noqa: S101  (arrays are found by their indices)
    return type_.element


@dataclass(slots=True)
class _Mapper:
    """Makes the functions of one function's loops, of those that set an array of more than ``longer_than`` entries."""

    function: ir.Function
    longer_than: int
    made: list[ir.Function] = field(default_factory=list)
    count: int = 0

    def block(self, body: tuple[ir.Stmt, ...], after: tuple[tuple[ir.Stmt, ...], ...]) -> tuple[ir.Stmt, ...]:
        """Return a block with calls in place of loops; ``after`` is what may run after the block, block by block."""
        result: list[ir.Stmt] = []
        for number, stmt in enumerate(body):
            rest = (body[number + 1 :], *after)
            if isinstance(stmt, ir.For):
                loop = _read_loop(stmt, rest)
                loop = loop if loop and loop.count * loop.row > self.longer_than else None
                copied = _copied(stmt, loop) if loop else None
                if loop and copied:
                    value = _taken_over(result, copied, rest)
                    _forget_zeros(result, loop.out)
                    result.append(ir.Assign(loop.out, value, stmt.span))
                elif loop and (loop.row > 1 or loop.count >= _FEWEST):
                    if loop.out not in loop.arrays:
                        _forget_zeros(result, loop.out)
                    result.append(self._call(stmt, loop))
                else:
                    result.append(replace(stmt, body=self.block(stmt.body, (stmt.body, *rest))))
            else:
                result.append(map_blocks(stmt, partial(self._inner, rest)))
        return tuple(result)

    def _inner(self, rest: tuple[tuple[ir.Stmt, ...], ...], body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return self.block(body, rest)

    def _call(self, stmt: ir.For, loop: _Loop) -> ir.Stmt:
        """Add the functions of a loop, and return the call that takes its place."""
        self.count += 1
        key = f"{self.function.key}[{loop.out.name} {self.count}]"
        name = f"{self.function.name}_{loop.out.name}"
        reads = self.function.reads
        entry = ir.Function(
            entry_key(key), f"{name}_entry", (*loop.entry_params, ir.Param(stmt.variable, INT)),
            loop.entry, _entry_body(stmt, loop), doc=(_TURN,), span=stmt.span, reads=reads,
        )  # fmt: skip
        plain = ir.Function(
            key, name, loop.params, loop.out.type, _plain_body(loop, entry),
            derivative=ir.Custom(f"{key}.backward", f"{key}.forward"), doc=(_WHY,), span=stmt.span, reads=reads,
        )  # fmt: skip
        self.made += (entry, plain, _backward(loop, entry, plain), _forward(loop, entry, plain))
        args = (*loop.arrays, *loop.values)
        return ir.Assign(loop.out, ir.Call(key, args, loop.out.type, stmt.span), stmt.span)


def _taken_over(result: list[ir.Stmt], local: ir.Var, after: tuple[tuple[ir.Stmt, ...], ...]) -> ir.Expr:
    """Return a local; if nothing after it reads the local, the value that the last statement gives it, in its place."""
    match result[-1:]:
        case [ir.Assign(target=target, value=value)] if target == local:
            if not any(_needs(block, local.name) for block in after):
                result.pop()
                return value
    return local


def _forget_zeros(result: list[ir.Stmt], local: ir.Var) -> None:
    """Remove the statement that makes a local zero, if no later one reads or changes it."""
    for number in range(len(result) - 1, -1, -1):
        match result[number]:
            case ir.Assign(target=target, value=ir.Construct(args=())) if target == local:
                del result[number]
                return
            case ir.Comment():
                continue
            case ir.Assign(target=ir.Var(name)) as stmt if name != local.name and not _needs((stmt,), local.name):
                continue
            case _:
                return


# --- the functions ---


def _entry_body(stmt: ir.For, loop: _Loop) -> tuple[ir.Stmt, ...]:
    """Return the body of the loop with values in place of entries, and the return of what it sets."""
    out = ir.Var(_ENTRY, loop.entry)
    entries = {v.name: ir.Var(_entry_of(v), _element(v.type)) for v in loop.arrays}
    start: tuple[ir.Stmt, ...] = zeros(out) if loop.row > 1 else ()
    if loop.out.name in entries:
        start = (ir.Assign(out, entries[loop.out.name], stmt.span),)
    entries[loop.out.name] = out
    body = tuple(_with_entries(s, stmt.variable, entries, loop.row) for s in stmt.body)
    return (*start, *body, ir.Return(out, stmt.span))


def _with_entries(stmt: ir.Stmt, index: str, entries: dict[str, ir.Var], row: int = 1) -> ir.Stmt:
    def changed(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(value=ir.Var(name), index=ir.Var(variable)) if variable == index and name in entries:
                return entries[name]
            case ir.Index(value=ir.Var(name), index=at) if row > 1 and name in entries:
                place = _place_in_row(at, index, row)
                return ir.Index(entries[name], place, FLOAT) if place else map_children(expr, changed)
            case _:
                return map_children(expr, changed)

    inner = map_blocks(stmt, lambda block: tuple(_with_entries(s, index, entries, row) for s in block))
    return map_stmt_exprs(inner, changed)


def _place_in_row(at: ir.Expr, index: str, row: int) -> ir.Expr | None:
    """Return ``k`` of an index ``i * row + k``, where ``k`` does not read ``i``; None for any other index."""
    first, place = (at.left, at.right) if isinstance(at, ir.Binary) and at.op == "+" else (at, ir.Const(0, INT))
    match first:
        case ir.Binary("*", ir.Var(name), ir.Const(value=width)) | ir.Binary("*", ir.Const(value=width), ir.Var(name)):
            inside = isinstance(place, ir.Const) and 0 <= place.value < row
            other = isinstance(place, ir.Var) and place.name != index
            return place if name == index and width == row and (inside or other) else None
        case _:
            return None


def loop_over(count: int, index: str, *body: ir.Stmt) -> ir.For:
    """Return a loop from 0."""
    return ir.For(index, ir.Const(0, INT), ir.Const(count, INT), 1, count, bounded=False, unroll=False, body=body)


_N: Final = ir.Var(_INDEX, INT)
_K: Final = ir.Var("place_in_row", INT)


def _at(array: ir.Expr, element: Type) -> ir.Index:
    return ir.Index(array, _N, element)


def _moved(loop: _Loop, whole: ir.Expr, part: ir.Expr, *, out: bool) -> ir.Stmt:
    """Return the statement that sets what a turn has of an array, out of its part, or the part out of the array."""
    at: ir.Expr = _N
    inside = part
    if loop.row > 1:
        at = ir.Binary("+", ir.Binary("*", _N, ir.Const(loop.row, INT), INT), _K, INT)
        inside = ir.Index(part, _K, FLOAT)
    entry = ir.Index(whole, at, FLOAT)
    move = ir.Assign(entry, inside) if out else ir.Assign(inside, entry)
    return loop_over(loop.row, _K.name, move) if loop.row > 1 else move


def _plain_body(loop: _Loop, entry: ir.Function) -> tuple[ir.Stmt, ...]:
    out = ir.Var("entries", loop.out.type)
    args: tuple[ir.Expr, ...] = (*(_at(v, _element(v.type)) for v in loop.arrays), *loop.values, _N)
    value: ir.Expr = ir.Call(entry.key, args, entry.result)
    held: tuple[ir.Stmt, ...] = ()
    if loop.row > 1:
        own = ir.Var(_ROW, entry.result)
        held, value = (ir.Assign(own, value),), own
    turn = loop_over(loop.count, _INDEX, *held, _moved(loop, out, value, out=True))
    return (*zeros(out), turn, ir.Return(out))


def zeros(*locals_: ir.Var) -> tuple[ir.Stmt, ...]:
    """Return statements that make locals zero."""
    values = (ir.Construct((), v.type) if isinstance(v.type, Array) else _zero(v.type) for v in locals_)
    return tuple(ir.Assign(local, value) for local, value in zip(locals_, values, strict=True))


def _zero(type_: Type) -> ir.Expr:
    zero = ir.Const(0.0, type_.element if isinstance(type_, Vector) else type_)
    return ir.Construct((zero,), type_) if isinstance(type_, Vector) else zero


def _backward(loop: _Loop, entry: ir.Function, plain: ir.Function) -> ir.Function:
    """Return the derivative that collects the gradients of all entries."""
    d_out = ir.Var("d_out", loop.out.type)
    flowing = [v for v in (*loop.arrays, *loop.values) if carries_gradient(v.type)]
    types = tuple(_element(v.type) if v in loop.arrays else v.type for v in flowing)
    entries = (_at(v, _element(v.type)) for v in loop.arrays)
    d_entry: ir.Expr = _at(d_out, FLOAT)
    inner: list[ir.Stmt] = []
    if loop.row > 1:
        d_entry = ir.Var(f"d_{_ROW}", entry.result)
        inner += (*zeros(d_entry), _moved(loop, d_out, d_entry, out=False))
    args: tuple[ir.Expr, ...] = (*entries, *loop.values, _N, d_entry)
    one = len(flowing) == 1
    variable = ir.Var("entry_gradients", types[0] if one else Tuple(types))
    inner.append(ir.Assign(variable, ir.BackwardCall(entry.key, args, variable.type)))
    names = Fresh({*_OWN, *(p.name for p in plain.params)})
    gradients = [names.var(f"d_{v.name}", v.type) for v in flowing]  # of a local `out`, this is not the cotangent
    for number, (value, gradient) in enumerate(zip(flowing, gradients, strict=True)):
        part: ir.Expr = variable if one else ir.Member(variable, f"item{number}", types[number])
        if value in loop.arrays:
            inner.append(ir.Assign(_at(gradient, types[number]), part))
        else:
            inner.append(ir.Assign(gradient, ir.Binary("+", gradient, part, gradient.type)))
    result = gradients[0] if one else ir.Construct(tuple(gradients), Tuple(tuple(g.type for g in gradients)))
    body: tuple[ir.Stmt, ...] = (*zeros(*gradients), loop_over(loop.count, _INDEX, *inner), ir.Return(result))
    return ir.Function(
        f"{plain.key}.backward", f"{plain.name}_bwd", (*plain.params, ir.Param("d_out", loop.out.type)), result.type,
        body, differentiable=False, role=ir.Role.BACKWARD, of=plain.key, span=plain.span,
    )  # fmt: skip


def _forward(loop: _Loop, entry: ir.Function, plain: ir.Function) -> ir.Function:
    """Return the derivative that computes every entry with its tangent."""

    def argument(value: ir.Var) -> ir.Expr:
        element = _element(value.type) if value in loop.arrays else value.type
        if not carries_gradient(value.type):
            return _at(value, element) if value in loop.arrays else value
        pair = ir.Var(value.name, DiffPair(value.type))
        if value not in loop.arrays:
            return pair
        primal, tangent = (_at(ir.Member(pair, part, value.type), element) for part in "pd")
        return ir.MakePair(primal, tangent, DiffPair(element))

    out, tangent = ir.Var("entries", loop.out.type), ir.Var("tangents", loop.out.type)
    pair = ir.Var("entry_pair", DiffPair(entry.result))
    args = (*(argument(v) for v in (*loop.arrays, *loop.values)), _N)
    inner = (
        ir.Assign(pair, ir.ForwardCall(entry.key, args, pair.type)),
        _moved(loop, out, ir.Member(pair, "p", entry.result), out=True),
        _moved(loop, tangent, ir.Member(pair, "d", entry.result), out=True),
    )
    result = ir.MakePair(out, tangent, DiffPair(loop.out.type))
    params = tuple(replace(p, type=DiffPair(p.type)) if carries_gradient(p.type) else p for p in plain.params)
    return ir.Function(
        f"{plain.key}.forward", f"{plain.name}_fwd", params, result.type,
        (*zeros(out, tangent), loop_over(loop.count, _INDEX, *inner), ir.Return(result)),
        doc=("For forward mode, which does not call the function above.",), differentiable=False, role=ir.Role.FORWARD,
        of=plain.key, span=plain.span,
    )  # fmt: skip


# --- what a loop reads and sets ---


def _read_loop(stmt: ir.For, after: tuple[tuple[ir.Stmt, ...], ...]) -> _Loop | None:
    """Return the entries that a loop sets; None if it does anything else that can be seen after it."""
    match stmt:
        case ir.For(start=ir.Const(value=0), stop=ir.Const(value=int(count)), step=1):
            pass
        case _:
            return None
    plain = (ir.Let, ir.Assign, ir.If, ir.Comment, ir.For)
    if not all(isinstance(s, plain) for s in walk_stmts(stmt.body)):
        return None
    out = _set_array(stmt)
    if out is None or not isinstance(out.type, Array) or out.type.element != FLOAT or out.type.size % count:
        return None
    row = out.type.size // count
    if not (_sets_row(stmt, out, row) if row > 1 else _sets_own(stmt, out)):
        return None
    locals_ = {s.name for s in walk_stmts(stmt.body) if isinstance(s, ir.Let)}
    targets = (root(s.target) for s in walk_stmts(stmt.body) if isinstance(s, ir.Assign))
    locals_ |= {target.name for target in targets if target and target != out}
    locals_ |= {s.variable for s in walk_stmts(stmt.body) if isinstance(s, ir.For)}
    body = tuple(_with_entries(s, stmt.variable, {out.name: ir.Var(_ENTRY, FLOAT)}) for s in stmt.body)
    if any(_needs(body, name) or any(_needs(block, name) for block in after) for name in locals_):
        return None
    if any(_needs(block, stmt.variable) for block in after):
        return None
    is_read = row == 1 and (_needs(body, _ENTRY) or not _sets(body, _ENTRY))
    return _with_reads(stmt, _Loop(out, (out,) if is_read else (), (), count, row), locals_)


def _copied(stmt: ir.For, loop: _Loop) -> ir.Var | None:
    """Return the array of which a loop copies every entry; None if it does anything else."""
    values: dict[ir.Expr, ir.Var] = {ir.Index(v, ir.Var(stmt.variable, INT), _element(v.type)): v for v in loop.arrays}
    target: ir.Expr = loop.out
    for part in stmt.body:
        match part:
            case ir.Comment():
                continue
            case ir.Assign(target=target, value=value) if value in values:
                values[target] = values[value]
            case _:
                return None
    return values.get(target) if isinstance(target, ir.Index) else None


def _set_array(stmt: ir.For) -> ir.Var | None:
    """Return the array of which a loop sets entries, if it sets no other part of anything."""
    result: set[ir.Var] = set()
    for inner in walk_stmts(stmt.body):
        match inner:
            case ir.Assign(target=ir.Index(value=ir.Var() as array)):
                result.add(array)
            case ir.Assign(target=ir.Var()) | ir.Let() | ir.If() | ir.Comment() | ir.For():
                continue
            case _:
                return None
    return result.pop() if len(result) == 1 else None


def _sets_own(stmt: ir.For, out: ir.Var) -> bool:
    """Return True if each turn sets the entry of its own index, and no others."""
    return all(entry.index == ir.Var(stmt.variable, INT) for entry in _entries_set(walk_stmts(stmt.body), out))


def _sets_row(stmt: ir.For, out: ir.Var, row: int) -> bool:
    """Return True if each turn certainly sets all entries of its row, and no others."""
    if any(isinstance(s, ir.For) and not _is_over(s, row) for s in walk_stmts(stmt.body)):
        return False
    inside = {s.variable for s in walk_stmts(stmt.body) if isinstance(s, ir.For)}
    places = [_place_in_row(t.index, stmt.variable, row) for t in _entries_set(walk_stmts(stmt.body), out)]
    if not all(isinstance(p, ir.Const) or (isinstance(p, ir.Var) and p.name in inside) for p in places):
        return False
    certain = [_place_in_row(t.index, stmt.variable, row) for t in _entries_set(stmt.body, out)]
    if {p.value for p in certain if isinstance(p, ir.Const)} == {*range(row)}:
        return True
    loops = (s for s in stmt.body if isinstance(s, ir.For))
    return any(
        _place_in_row(t.index, stmt.variable, row) == ir.Var(s.variable, INT)
        for s in loops
        for t in _entries_set(s.body, out)
    )


def _is_over(stmt: ir.For, count: int) -> bool:
    return (
        stmt.start == ir.Const(0, INT)
        and isinstance(stmt.stop, ir.Const)
        and stmt.stop.value == count
        and stmt.step == 1
    )


def _entries_set(body: Iterable[ir.Stmt], out: ir.Var) -> Iterator[ir.Index]:
    """Yield the entries of an array that statements set, without nested blocks."""
    for stmt in body:
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Index) and stmt.target.value == out:
            yield stmt.target


def _with_reads(stmt: ir.For, loop: _Loop, locals_: set[str]) -> _Loop | None:
    """Return the loop with all that it reads; None if that is more than entries, numbers and vectors."""
    arrays = {v.name: v for v in loop.arrays}
    values: dict[str, ir.Var] = {}
    for expr in _reads(stmt, loop):
        match expr:
            case ir.Index(value=ir.Var(name, Vector()) as vector) if name not in locals_:
                values.setdefault(name, vector)
            case ir.Index(value=ir.Var(name) as array, index=ir.Var(variable)) if variable == stmt.variable:
                if array.type != Array(FLOAT, loop.count) or name in locals_:
                    return None
                arrays.setdefault(name, array)
            case ir.Var(name) if name == stmt.variable or name in locals_:
                continue
            case ir.Var(name, type_) if isinstance(type_, (Scalar, Vector)) and name != loop.out.name:
                values.setdefault(name, expr)
            case _:
                return None
    loop = replace(loop, arrays=tuple(arrays.values()), values=tuple(values.values()))
    if any(is_half(v) for v in loop.values):
        return None
    flowing = any(carries_gradient(v.type) for v in (*loop.arrays, *loop.values))
    names = [p.name for p in (*loop.params, *loop.entry_params)]
    hidden = _OWN & {*names, *locals_, stmt.variable}
    return loop if flowing and not hidden and len({*names}) + len(values) == len(names) else None


def is_half(value: ir.Var) -> bool:
    """Return True for a local of halfs: the gradients of all turns would be added up in half."""
    return half_as_float(value.type) != value.type


_NEVER: Final = (
    ir.ThreadId, ir.ThreadCount, ir.BackwardCall, ir.ForwardCall, ir.Probe, ir.Linear,
    ir.GroupOperation, ir.MakePair,
)  # fmt: skip


def _reads(stmt: ir.For, loop: _Loop) -> Iterator[ir.Expr]:
    """Yield the entries and locals that a loop reads, without the entry that it sets, and what can't be in a map."""
    for part in walk_stmts(stmt.body):
        set_ = next(_entries_set((part,), loop.out), None) if loop.row > 1 else None
        for expr in _evaluated(part):
            if expr != set_:
                parts = entries_and_locals(expr, stmt.variable)
                yield from (e for e in parts if not _is_entry(e, loop.out, stmt.variable))


def _is_entry(expr: ir.Expr, array: ir.Var, index: str) -> bool:
    return isinstance(expr, ir.Index) and expr.value == array and expr.index == ir.Var(index, INT)


def entries_and_locals(expr: ir.Expr, index: str) -> Iterator[ir.Expr]:
    """Yield the entries of a loop's own index and the locals in an expression, and what can't be in a map."""
    match expr:
        case ir.Index(value=ir.Var(), index=ir.Var(name)) if name == index:
            yield expr
        case ir.Var():
            yield expr
        case ir.Read(indices=inner):
            yield from (part for child in inner for part in entries_and_locals(child, index))
        case ir.Extent():
            return
        case _ if isinstance(expr, _NEVER):
            yield expr
        case _:
            yield from (part for child in children(expr) for part in entries_and_locals(child, index))


def _evaluated(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Return the expressions that a statement evaluates, without the local that it sets."""
    return (stmt.value,) if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var) else stmt_exprs(stmt)


def _needs(body: tuple[ir.Stmt, ...], name: str) -> bool:
    """Return True if statements may read a local before they set it."""
    return _first(body, name) == "read"


def _sets(body: tuple[ir.Stmt, ...], name: str) -> bool:
    """Return True if statements certainly set a local."""
    return _first(body, name) == "set"


def _first(body: tuple[ir.Stmt, ...], name: str) -> str:
    """Return what happens first to a local: ``read``, ``set``, or nothing that is certain."""
    for stmt in body:
        if any(isinstance(e, ir.Var) and e.name == name for e in _all_of(stmt)):
            return "read"
        match stmt:
            case ir.Let(name=target) | ir.Assign(target=ir.Var(target)) | ir.For(variable=target) if target == name:
                return "set"
            case ir.If(then=then, other=other):
                both = {_first(then, name), _first(other, name)}
            case ir.For(body=inner) | ir.While(body=inner):
                both = {_first(inner, name), ""}
            case _:
                continue
        if "read" in both:
            return "read"
        if both == {"set"}:
            return "set"
    return ""


def _all_of(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """Yield every part of the expressions that a statement evaluates, without nested blocks."""
    for expr in _evaluated(stmt):
        yield from walk(expr)
