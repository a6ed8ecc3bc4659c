"""Values of integers under conditions are never fewer than those that a run has."""

from __future__ import annotations

import operator
from itertools import product

import numpy as np
import pytest

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.intervals import Interval
from slangad.compiler.ir.types import BOOL, INT
from slangad.compiler.passes.replay_loops.guards import under, values_of_index

COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
               "!=": operator.ne}  # fmt: skip
RANGES = {"i": Interval(-2, 5), "j": Interval(0, 4)}


def integer(rng: np.random.Generator, depth: int = 1) -> ir.Expr:
    if depth and rng.random() < 0.5:
        left, right = integer(rng, depth - 1), integer(rng, depth - 1)
        return ir.Binary(str(rng.choice(["+", "-", "*"])), left, right, INT)
    return ir.Var(str(rng.choice(["i", "j"])), INT) if rng.random() < 0.6 else ir.Const(int(rng.integers(-2, 6)), INT)


def condition(rng: np.random.Generator, depth: int = 2) -> ir.Expr:
    kind = rng.random()
    if depth and kind < 0.2:
        return ir.Unary("!", condition(rng, depth - 1), BOOL)
    if depth and kind < 0.6:
        op = str(rng.choice(["&&", "||"]))
        return ir.Binary(op, condition(rng, depth - 1), condition(rng, depth - 1), BOOL)
    return ir.Binary(str(rng.choice([*COMPARISONS])), integer(rng), integer(rng), BOOL)


def value(expr: ir.Expr, given: dict[str, int]) -> int:
    match expr:
        case ir.Const(number):
            return int(number)
        case ir.Var(name):
            return given[name]
        case ir.Unary("!", inner):
            return not value(inner, given)
        case ir.Binary("&&" | "||" as op, left, right):
            both = value(left, given), value(right, given)
            return all(both) if op == "&&" else any(both)
        case ir.Binary(op, left, right):
            known = COMPARISONS | {"+": operator.add, "-": operator.sub, "*": operator.mul}
            return known[op](value(left, given), value(right, given))
        case _:
            raise TypeError(expr)


@pytest.mark.parametrize("seed", range(40))
def test_under__any_condition__keeps_every_value_for_which_it_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        asked, index = condition(rng), integer(rng, 2)
        sides = {holds: under(asked, dict(RANGES), holds=holds) for holds in (True, False)}
        for i, j in product(range(-2, 6), range(5)):
            given = {"i": i, "j": j}
            ranges = sides[bool(value(asked, given))]
            assert all(ranges[n].low <= given[n] <= ranges[n].high for n in given)
            found = values_of_index(index, ranges)
            assert found is None or found.low <= value(index, given) <= found.high


def test_under__comparison_of_a_counter__bounds_it() -> None:
    i, one, last = ir.Var("i", INT), ir.Const(1, INT), ir.Const(4, INT)
    after = ir.Binary("<", ir.Binary("+", i, one, INT), last, BOOL)
    assert under(after, dict(RANGES))["i"] == Interval(-2, 2)
    assert under(after, dict(RANGES), holds=False)["i"] == Interval(3, 5)
    inside = ir.Binary("&&", ir.Binary(">", i, one, BOOL), ir.Binary("!=", i, ir.Const(5, INT), BOOL), BOOL)
    assert under(inside, dict(RANGES))["i"] == Interval(2, 4)
