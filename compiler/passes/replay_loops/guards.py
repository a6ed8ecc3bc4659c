"""Bound integers by the conditions under which statements run: ``x[i - 1]`` under ``if i > 0``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.intervals import Interval, combine
from slangad.compiler.ir.walk import blocks, children, stmt_exprs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.ir.build import Block

Ranges = dict[str, Interval]
"""The values of integers by name."""

_SWAPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NOT: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_LEAVING: Final = (ir.Break, ir.Continue, ir.Return)


def accesses(body: Block, ranges: Ranges, *, certain: bool = True) -> Iterator[tuple[ir.Expr, Ranges, bool]]:
    """Yield every expression of a block with the values of integers there, and whether each run of the block comes by.

    The block does not change these integers.
    """
    for stmt in body:
        for whole in stmt_exprs(stmt):
            yield from _evaluated(whole, ranges, certain=certain)
        match stmt:
            case ir.If(condition, then, other):
                yield from accesses(then, under(condition, ranges), certain=False)
                yield from accesses(other, under(condition, ranges, holds=False), certain=False)
                if _leaves(then) and not other:
                    ranges = under(condition, ranges, holds=False)
                certain = certain and not _may_leave((*then, *other))
            case _:
                for block in blocks(stmt):
                    inner = {n: i for n, i in ranges.items() if not isinstance(stmt, ir.For) or n != stmt.variable}
                    yield from accesses(block, inner, certain=False)


def _evaluated(expr: ir.Expr, ranges: Ranges, *, certain: bool) -> Iterator[tuple[ir.Expr, Ranges, bool]]:
    yield expr, ranges, certain
    match expr:
        case ir.Ternary(condition, then, other):
            yield from _evaluated(condition, ranges, certain=certain)
            yield from _evaluated(then, under(condition, ranges), certain=False)
            yield from _evaluated(other, under(condition, ranges, holds=False), certain=False)
        case ir.Binary("&&" | "||" as op, left, right):
            yield from _evaluated(left, ranges, certain=certain)
            yield from _evaluated(right, under(left, ranges, holds=op == "&&"), certain=False)
        case _:
            for child in children(expr):
                yield from _evaluated(child, ranges, certain=certain)


def values_of_index(index: ir.Expr, ranges: Mapping[str, Interval]) -> Interval | None:
    """Return the values of an integer; None if they are not known."""
    match index:
        case ir.Const(value=int(value)):
            return Interval(int(value), int(value))
        case ir.Var(name):
            return ranges.get(name)
        case ir.Binary(op, left, right):
            return combine(op, values_of_index(left, ranges), values_of_index(right, ranges))
        case ir.Intrinsic("min" | "max" as name, (first, second)):
            return combine(name, values_of_index(first, ranges), values_of_index(second, ranges))
        case _:
            return None


def under(condition: ir.Expr, ranges: Ranges, *, holds: bool = True) -> Ranges:
    """Return the values of integers where a condition holds, or does not."""
    match condition:
        case ir.Unary("!", inner):
            return under(inner, ranges, holds=not holds)
        case ir.Binary("&&" | "||" as op, left, right) if (op == "&&") == holds:
            return under(right, under(left, ranges, holds=holds), holds=holds)
        case ir.Binary(op, left, right) if op in _SWAPPED:
            op = op if holds else _NOT[op]
            return _compared(right, _SWAPPED[op], left, _compared(left, op, right, ranges))
        case _:
            return ranges


def _compared(side: ir.Expr, op: str, other: ir.Expr, ranges: Ranges) -> Ranges:
    """Return the values where one side compares to the other, if that is an integer, plus or minus a number."""
    bound = values_of_index(other, ranges)
    match side:
        case ir.Binary("+" | "-" as sign, ir.Var(name), ir.Const(value=int(number))):
            shift = int(number) if sign == "+" else -int(number)
        case ir.Var(name):
            shift = 0
        case _:
            return ranges
    if bound is None or name not in ranges:
        return ranges
    low, high = ranges[name]
    first, last = bound.low - shift, bound.high - shift
    match op:
        case "<" | "<=":
            high = min(high, last - (op == "<"))
        case ">" | ">=":
            low = max(low, first + (op == ">"))
        case "==":
            low, high = max(low, first), min(high, last)
        case _ if first == last:
            low, high = low + (low == first), high - (high == first)
    return {**ranges, name: Interval(low, high)} if low <= high else ranges


def _leaves(body: Block) -> bool:
    return bool(body) and isinstance(body[-1], _LEAVING)


def _may_leave(body: Block) -> bool:
    return any(isinstance(s, _LEAVING) or any(_may_leave(b) for b in blocks(s)) for s in body)
