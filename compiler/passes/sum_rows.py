"""Make sums over the rows of a matrix functions with derivatives of their own, where the arrays are long.

    for i in 0 .. 1024:                                term(x_entry, i, j) = w[i, j] * x_entry
        total = b[i]                                   sums(x)             = for i, j: out[i] += term(x[j], i, j)
        for j in 0 .. 512:                       ->
            total = total + w[i, j] * x[j]             z = sums(x)
        y[i] = total                                   for i in 0 .. 1024:
                                                           y[i] = b[i] + z[i]

Slang's reverse mode of the loops keeps the whole ``y`` for each ``i``, and adds up the gradient of the whole ``x`` for
each ``j``. The derivatives of ``sums`` are loops over those of one term: they keep nothing, and their text does not
depend on the sizes. ``find_products`` has taken the products that the threads of a group compute together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import FLOAT, INT, Array, DiffPair, Scalar, Tuple, Vector, carries_gradient
from slangad.compiler.ir.walk import map_blocks, map_children, root, walk_stmts
from slangad.compiler.passes.find_products import changed_in, is_total, trips
from slangad.compiler.passes.map_entries import LONG, entries_and_locals, is_half, loop_over, zeros
from slangad.compiler.passes.store_whole_values import fresh_locals

_TERM: Final = "What the sums below add up."
_WHY: Final = "Sums of rows. Its own derivatives keep nothing; those of Slang would keep whole arrays."
_ROW: Final = ir.Var("row", INT)
_COLUMN: Final = ir.Var("column", INT)
_OUT: Final = "sums"
_OWN: Final = frozenset({"row", "column", _OUT, "tangents", "d_out", "term_pair", "term_gradients"})
"""Locals of the functions that are made. A sum that reads a local of such a name stays."""


def sum_rows(module: ir.Module) -> ir.Module:
    """Return the module with such functions for the sums of its differentiable functions."""
    return replace(module, functions=tuple(part for f in module.functions for part in _with_sums(f)))


def _with_sums(function: ir.Function) -> tuple[ir.Function, ...]:
    """Return the functions that the sums of a function become, and the function with calls of them, last."""
    by_slang = function.differentiable and isinstance(function.derivative, ir.Automatic)
    if not isinstance(function.body, tuple) or not by_slang or function.role is not ir.Role.PLAIN:
        return (function,)
    writer = _Writer(function, fresh_locals(function, function.body))
    body = writer.block(function.body)
    if not writer.made:
        return (function,)
    done = function.prefer == "recompute" and not _has_loops_in_loops(body)
    return (*writer.made, replace(function, body=body, prefer="" if done else function.prefer))


def _has_loops_in_loops(body: tuple[ir.Stmt, ...]) -> bool:
    loops = (s for s in walk_stmts(body) if isinstance(s, (ir.For, ir.While)))
    return any(isinstance(s, (ir.For, ir.While)) for loop in loops for s in walk_stmts(loop.body))


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of terms over columns, one for each row.

    Attributes:
        total: What a sum is added to.
        term: The expression of one term.
        row: The variable of the loop over rows.
        column: That of the loop over columns.
        rows: The number of rows.
        columns: The number of columns.
        arrays: The arrays of which a term reads the entry of its column.
        values: The other variables that it reads.
    """

    total: ir.Expr
    term: ir.Expr
    row: str
    column: str
    rows: int
    columns: int
    arrays: tuple[ir.Var, ...] = ()
    values: tuple[ir.Var, ...] = ()

    @property
    def read(self) -> tuple[ir.Var, ...]:
        """The variables that a term reads."""
        return (*self.arrays, *self.values)

    def term_type(self, value: ir.Var) -> Scalar | Vector:
        """Return the type of what a term reads of a variable."""
        type_ = FLOAT if value in self.arrays else value.type
        assert isinstance(type_, (Scalar, Vector))  # noqa: S101  (``_with_reads`` takes no others)
        return type_

    def part(self, value: ir.Var, of: ir.Expr) -> ir.Expr:
        """Return the part of a variable, of its gradient or its tangent, that belongs to a term."""
        return ir.Index(of, _COLUMN, FLOAT) if value in self.arrays else of

    def over(self, *body: ir.Stmt) -> ir.For:
        """Return the loops over rows and columns."""
        return loop_over(self.rows, _ROW.name, loop_over(self.columns, _COLUMN.name, *body))


@dataclass(slots=True)
class _Writer:
    """Writes calls in place of the sums of one function."""

    function: ir.Function
    fresh: Fresh
    made: list[ir.Function] = field(default_factory=list)
    count: int = 0

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """Return a block with calls before the loops that add up."""
        result: list[ir.Stmt] = []
        for stmt in body:
            if not (isinstance(stmt, ir.For) and _is_alone(stmt)):
                result.append(map_blocks(stmt, self.block))
                continue
            inner: list[ir.Stmt] = []
            for part in stmt.body:
                sums = _read_sums(stmt, part)
                if sums is None:
                    inner += self.block((part,))
                    continue
                whole = self.fresh.var("sums", Array(FLOAT, sums.rows))
                result.append(ir.Assign(whole, self._call(sums, part), stmt.span))
                entry = ir.Index(whole, ir.Var(stmt.variable, INT), FLOAT, part.span)
                value = ir.Binary("+", sums.total, entry, FLOAT, part.span)
                inner.append(ir.Assign(sums.total, value, part.span))
            result.append(replace(stmt, body=_merged(inner)))
        return tuple(result)

    def _call(self, sums: _Sums, stmt: ir.Stmt) -> ir.Call:
        """Add the functions of sums, and return the call that computes them."""
        self.count += 1
        key = f"{self.function.key}[sums {self.count}]"
        name = f"{self.function.name}_sums"
        reads = self.function.reads
        term = ir.Function(
            f"{key} term", f"{name}_term",
            (*(ir.Param(_entry_of(v) if v in sums.arrays else v.name, sums.term_type(v)) for v in sums.read),
             ir.Param(sums.row, INT), ir.Param(sums.column, INT)),
            FLOAT, (ir.Return(_with_entries(sums)),), doc=(_TERM,), span=stmt.span, reads=reads,
        )  # fmt: skip
        plain = ir.Function(
            key, name, tuple(ir.Param(v.name, v.type) for v in sums.read), Array(FLOAT, sums.rows),
            _plain_body(sums, term), derivative=ir.Custom(f"{key}.backward", f"{key}.forward"), doc=(_WHY,),
            span=stmt.span, reads=reads,
        )  # fmt: skip
        self.made += (term, plain, _backward(sums, term, plain), _forward(sums, term, plain))
        return ir.Call(key, sums.read, plain.result, stmt.span)


def _merged(body: list[ir.Stmt]) -> tuple[ir.Stmt, ...]:
    """Return statements with ``total = a`` and ``total = total + b``, which follow each other, as one.

    Entries of an array that are set once become a function of their own in ``map_entries``.
    """
    result: list[ir.Stmt] = []
    for stmt in body:
        match result[-1:], stmt:
            case [ir.Assign(target=ir.Index() as first, value=start)], ir.Assign(
                target=ir.Index() as second, value=ir.Binary(op="+", left=left) as value
            ) if first == second == left:
                result[-1] = ir.Assign(second, replace(value, left=start), stmt.span)
            case _:
                result.append(stmt)
    return tuple(result)


def _is_alone(loop: ir.For) -> bool:
    """Return True if all turns of a loop run, and neither they nor other threads store in memory meanwhile."""
    never = (ir.Break, ir.Continue, ir.Return, ir.While, ir.Barrier)
    parts = (*walk_stmts(loop.body),)
    stores = any(isinstance(s, ir.Assign) and root(s.target) is None for s in parts)
    return not stores and not any(isinstance(s, never) for s in parts)


def _read_sums(loop: ir.For, inner: ir.Stmt) -> _Sums | None:
    """Return the sums of which a loop in another one computes an entry, if it does that and no more."""
    rows, columns = trips(loop), trips(inner) if isinstance(inner, ir.For) else None
    if not isinstance(inner, ir.For) or rows is None or columns is None or max(rows, columns) <= LONG:
        return None
    match tuple(s for s in inner.body if not isinstance(s, ir.Comment)):
        case (ir.Assign(target=total, value=ir.Binary(op="+", left=left, right=term)),) if left == total:
            if total.type != FLOAT or term.type != FLOAT or not is_total(total, loop.variable):
                return None
            return _with_reads(loop, _Sums(total, term, loop.variable, inner.variable, rows, columns))
        case _:
            return None


def _with_reads(loop: ir.For, sums: _Sums) -> _Sums | None:
    """Return sums with what their terms read; None if that is more than entries, numbers and vectors."""
    changed = changed_in(loop)
    arrays: dict[str, ir.Var] = {}
    values: dict[str, ir.Var] = {}
    for expr in entries_and_locals(sums.term, sums.column):
        match expr:
            case ir.Index(value=ir.Var(name, Vector()) as vector) if name not in changed:
                values.setdefault(name, vector)
            case ir.Index(value=ir.Var(name) as array) if name not in changed:
                if array.type != Array(FLOAT, sums.columns):
                    return None
                arrays.setdefault(name, array)
            case ir.Var(name) if name in (sums.row, sums.column):
                continue
            case ir.Var(name, Scalar() | Vector()) if name not in changed:
                values.setdefault(name, expr)
            case _:
                return None
    found = replace(sums, arrays=tuple(arrays.values()), values=tuple(values.values()))
    names = [v.name for v in found.read]
    taken = {*names, sums.row, sums.column, *(f"d_{name}" for name in names), *map(_entry_of, found.arrays)}
    hidden = _OWN & {*names} or len(taken) != 2 * len(names) + 2 + len(found.arrays)
    flowing = any(carries_gradient(v.type) for v in found.read)
    halfs = any(map(is_half, found.values))
    return found if found.arrays and flowing and not (hidden or halfs) else None


def _entry_of(array: ir.Var) -> str:
    return f"{array.name}_entry"


def _with_entries(sums: _Sums) -> ir.Expr:
    """Return the term with numbers in place of the entries of arrays."""
    names = {v.name: ir.Var(_entry_of(v), FLOAT) for v in sums.arrays}

    def changed(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(value=ir.Var(name), index=ir.Var(variable)) if variable == sums.column and name in names:
                return names[name]
            case _:
                return map_children(expr, changed)

    return changed(sums.term)


def _out(sums: _Sums) -> ir.Var:
    return ir.Var(_OUT, Array(FLOAT, sums.rows))


def _plus(target: ir.Expr, value: ir.Expr) -> ir.Assign:
    return ir.Assign(target, ir.Binary("+", target, value, target.type))


def _at_row(array: ir.Expr) -> ir.Index:
    return ir.Index(array, _ROW, FLOAT)


def _plain_body(sums: _Sums, term: ir.Function) -> tuple[ir.Stmt, ...]:
    out = _out(sums)
    args = (*(sums.part(v, v) for v in sums.read), _ROW, _COLUMN)
    return (*zeros(out), sums.over(_plus(_at_row(out), ir.Call(term.key, args, FLOAT))), ir.Return(out))


def _backward(sums: _Sums, term: ir.Function, plain: ir.Function) -> ir.Function:
    """Return the derivative that collects the gradients of all terms."""
    d_out = ir.Var("d_out", plain.result)
    flowing = [v for v in sums.read if carries_gradient(v.type)]
    types = tuple(sums.term_type(v) for v in flowing)
    one = len(flowing) == 1
    found = ir.Var("term_gradients", types[0] if one else Tuple(types))
    args = (*(sums.part(v, v) for v in sums.read), _ROW, _COLUMN, _at_row(d_out))
    body: list[ir.Stmt] = [ir.Assign(found, ir.BackwardCall(term.key, args, found.type))]
    names = Fresh({*_OWN, *(v.name for v in sums.read)})
    gradients = [names.var(f"d_{v.name}", v.type) for v in flowing]  # of a local `out`, this is not the cotangent
    for number, (value, gradient) in enumerate(zip(flowing, gradients, strict=True)):
        part: ir.Expr = found if one else ir.Member(found, f"item{number}", types[number])
        body.append(_plus(sums.part(value, gradient), part))
    result = gradients[0] if one else ir.Construct(tuple(gradients), Tuple(tuple(g.type for g in gradients)))
    return ir.Function(
        f"{plain.key}.backward", f"{plain.name}_bwd", (*plain.params, ir.Param("d_out", plain.result)), result.type,
        (*zeros(*gradients), sums.over(*body), ir.Return(result)),
        differentiable=False, role=ir.Role.BACKWARD, of=plain.key, span=plain.span,
    )  # fmt: skip


def _forward(sums: _Sums, term: ir.Function, plain: ir.Function) -> ir.Function:
    """Return the derivative that adds up every term with its tangent."""

    def argument(value: ir.Var) -> ir.Expr:
        if not carries_gradient(value.type):
            return sums.part(value, value)
        pair = ir.Var(value.name, DiffPair(value.type))
        if value not in sums.arrays:
            return pair
        primal, tangent = (sums.part(value, ir.Member(pair, part, value.type)) for part in "pd")
        return ir.MakePair(primal, tangent, DiffPair(FLOAT))

    out, tangents = _out(sums), ir.Var("tangents", plain.result)
    pair = ir.Var("term_pair", DiffPair(FLOAT))
    args = (*map(argument, sums.read), _ROW, _COLUMN)
    body = (
        ir.Assign(pair, ir.ForwardCall(term.key, args, pair.type)),
        _plus(_at_row(out), ir.Member(pair, "p", FLOAT)),
        _plus(_at_row(tangents), ir.Member(pair, "d", FLOAT)),
    )
    result = ir.MakePair(out, tangents, DiffPair(plain.result))
    params = tuple(replace(p, type=DiffPair(p.type)) if carries_gradient(p.type) else p for p in plain.params)
    return ir.Function(
        f"{plain.key}.forward", f"{plain.name}_fwd", params, result.type,
        (*zeros(out, tangents), sums.over(*body), ir.Return(result)),
        doc=("For forward mode, which does not call the function above.",), differentiable=False, role=ir.Role.FORWARD,
        of=plain.key, span=plain.span,
    )  # fmt: skip
