"""Each pass on small functions, before and after as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.ir.nodes import Probe
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.verify.module import verify
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.passes.bound_loops import bound_loops
from slangad.compiler.passes.declare_locals import declare_locals
from slangad.compiler.passes.differentiate_twice import differentiate_twice
from slangad.compiler.passes.equalize_nested_loops import equalize_nested_loops
from slangad.compiler.passes.hide_counters import hide_counters
from slangad.compiler.passes.lower_tuples import lower_tuples
from slangad.compiler.passes.mark_no_diff import mark_no_diff
from slangad.compiler.passes.separate_indexed_reads import separate_indexed_reads
from slangad.compiler.passes.spell_matrices import spell_matrices
from slangad.compiler.passes.store_rows import store_rows
from slangad.compiler.passes.unspread_scalars import unspread_scalars

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.nodes import Module

PARAMS = "x: float, y: float, b: bool, n: int, i: int, j: int, v: float3, m: float2x2, a: Array[float, 4]"
TABLE = "function table table(x: float) -> float not_differentiable { return x } "
LOCALS = "locals s: float, t: float, k: int, w: float3, turn: int"


def function(body: str, result: str = "float") -> str:
    return f'module m from "m.py" {TABLE} function f f({PARAMS}, no_diff q: float) -> {result} {LOCALS} {{ {body} }}'


def shown(module: Module) -> str:
    text = show(module)
    return text[text.index("{", text.index("function f f")) :]


def check(rewrite: Callable[[Module], Module], before: str, after: str, result: str = "float") -> None:
    made = rewrite(parse(function(before, result)))
    assert shown(made) == shown(parse(function(after, result)))
    assert verify(made) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("set s = x return s", "let s: float = x return s"),
        ("set s = x set s = (s * s) return s", "let s: float = x set s = (s * s) return s"),
        (
            "if b { set s = x } else { set s = y } return s",
            "let s: float if b { set s = x } else { set s = y } return s",
        ),
        (
            "if b { set s = x return s } else { set s = y return s }",
            "if b { let s: float = x return s } else { let s: float = y return s }",
        ),
        (
            "for k = 0 to 4 step 1 limit 4 { set s = x set t = s } return t",
            "let t: float = 0.0 for k = 0 to 4 step 1 limit 4 { let s: float = x set t = s } return t",
        ),
        (
            "for k = 0 to 4 step 1 limit 4 { if (k > 0) { set t = (t + s) } set s = x }  return x",
            (
                "let t: float = 0.0 let s: float = 0.0"
                " for k = 0 to 4 step 1 limit 4 { if (k > 0) { set t = (t + s) } set s = x } return x"
            ),
        ),
        (
            "for k = 0 to 4 step 1 limit 4 { set s = x } set s = y return s",
            "for k = 0 to 4 step 1 limit 4 { let s: float = x } let s: float = y return s",
        ),
        (
            "while b limit 4 { set s = x } if b { set s = y set t = s }  return x",
            "while b limit 4 { let s: float = x } if b { let s: float = y let t: float = s } return x",
        ),
        ("set w.x = x return x", "set w.x = x return x"),
        ("set x = (x + 1.0) return x", "set x = (x + 1.0) return x"),
    ],
)
def test_declare__local__stands_where_its_uses_see_it(before: str, after: str) -> None:
    check(declare_locals, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for k = 0 to 4 step 1 limit 4 { } return x", "for k = 0 to 4 step 1 limit 4 { } return x"),
        (
            "for k = 0 to n step 1 limit 4 bounded { set x = y } return x",
            "for k = 0 to 4 step 1 limit 4 { if (k >= n) { break } set x = y } return x",
        ),
        (
            "for k = i to n step 3 limit 4 { } return x",
            "for turn_2 = 0 to 4 step 1 limit 4 { set k = (i + (turn_2 * 3)) if (k >= n) { break } } return x",
        ),
        (
            "for k = 8 to n step -1 limit 4 { } return x",
            "for turn_2 = 0 to 4 step 1 limit 4 { set k = (8 - turn_2) if (k <= n) { break } } return x",
        ),
        (
            "while (x < y) limit 4 { set x = y } return x",
            "for turn_2 = 0 to 4 step 1 limit 4 { if (! (x < y)) { break } set x = y } return x",
        ),
        ("for k = 3 to 1 step 1 limit 0 { set x = y } return x", " return x"),
        ("while (x < y) limit 0 { set x = y } return x", " return x"),
        ("while true limit 4 { break } return x", "for turn_2 = 0 to 4 step 1 limit 4 { break } return x"),
        (
            "for k = 0 to n step 1 limit 4 unroll { } return x",
            "for k = 0 to 4 step 1 limit 4 unroll { if (k >= n) { break } } return x",
        ),
    ],
)
def test_loops__trip_count_of_run_time__becomes_a_static_one(before: str, after: str) -> None:
    used = " set turn = turn return x"
    check(bound_loops, before.replace(" return x", used), after.replace(" return x", used))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return (v * new float3(x))", "return (v * x)"),
        ("return (v / new float3(x))", "return (v / x)"),
        ("return (new float3(x) / v)", "return (new float3(x) / v)"),
        ("return (v - new float3(x))", "return (v - new float3(x))"),
        ("return (new float3(x) / new float3(2.0))", "return (new float3(x) / 2.0)"),
        ("if b { return v } return (v * new float3(x))", "if b { return v } return (v * new float3(x))"),
        ("if b { return v } return (v * new float3(2.0))", "if b { return v } return (v * 2.0)"),
        ("return (b ? v : (v + new float3(x)))", "return (b ? v : (v + new float3(x)))"),
        ("return new float3(x)", "return new float3(x)"),
        ("return (v * new float3(v.xy, x))", "return (v * new float3(v.xy, x))"),
        ("return (new float3((x * y)) * v)", "return ((x * y) * v)::float3"),
        ("return (v + new float3(v.x))", "return (v + v.x)"),
        ("return (new float3(q) * v)", "return (q * v)::float3"),
        ("set s = x return (new float3(s) * v)", "set s = x return (new float3(s) * v)"),
        ("set s = (x * y) return (new float3(s) * v)", "set s = (x * y) return (s * v)::float3"),
        ("set v = (v * v) return (new float3(v.x) * v)", "set v = (v * v) return (new float3(v.x) * v)"),
    ],
)
def test_splat__spread_scalar__stays_where_slang_needs_it(before: str, after: str) -> None:
    check(unspread_scalars, before, after, "float3")


def loop(variable: str, turns: int, limit: int, body: str = "", flag: str = "") -> str:
    return f"for {variable} = 0 to {turns} step 1 limit {limit} {flag} {{ {body} }} "


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (loop("i", 2, 2, loop("j", 5, 5)), loop("i", 2, 5, loop("j", 5, 5))),
        (
            loop("i", 9, 9, f"if b {{ {loop('j', 2, 2)} }} " + loop("j", 3, 3, loop("k", 4, 4))),
            loop("i", 9, 9, f"if b {{ {loop('j', 2, 9)} }} " + loop("j", 3, 9, loop("k", 4, 9))),
        ),
        (loop("i", 9, 9) + loop("j", 2, 2), loop("i", 9, 9) + loop("j", 2, 2)),
        (
            loop("i", 9, 9, loop("j", 2, 2, loop("k", 3, 3)), "unroll"),
            loop("i", 9, 9, loop("j", 2, 3, loop("k", 3, 3)), "unroll"),
        ),
        (
            loop("i", 2, 2, loop("j", 9, 9, loop("k", 3, 3), "unroll")),
            loop("i", 2, 3, loop("j", 9, 9, loop("k", 3, 3), "unroll")),
        ),
    ],
)
def test_nests__loops_of_different_turns__have_room_for_the_longest(before: str, after: str) -> None:
    check(equalize_nested_loops, before + "return x", after + "return x")


@pytest.mark.parametrize(
    ("before", "inside", "hidden"),
    [
        ("set k = n", "set k = (k + 1)", "set k = counted((k + 1))::int"),
        ("set k = n", "set k = (k - 2)", "set k = counted((k - 2))::int"),
        ("set k = n", "set turn = (k + 1) set k = turn", "set turn = (k + 1) set k = counted(turn)::int"),
        ("set k = 0", "set k = (k + 1)", ""),
        ("set k = n", "set k = (i + 1)", ""),
        ("set k = n", "set k = 0 set k = (k + 1)", ""),
        ("set k = n", "if b { set k = (k + 1) }", ""),
        ("set k = n", "if b { break } set k = (k + 1)", ""),
        ("set t = x", "set t = (t + 1.0)", ""),
    ],
)
def test_counters__of_a_start_that_is_not_constant__are_hidden(before: str, inside: str, hidden: str) -> None:
    within = loop("i", 3, 3, hidden or inside)
    check(hide_counters, f"{before} {loop('i', 3, 3, inside)} return x", f"{before} {within} return x")


def test_counters__of_an_inner_loop__start_where_the_outer_one_left_them() -> None:
    first, counted = "set k = (k + 1)", "set k = counted((k + 1))::int"
    before = "set k = 0 " + loop("i", 2, 2, loop("j", 2, 2, first) + first) + loop("i", 2, 2, first)
    after = "set k = 0 " + loop("i", 2, 2, loop("j", 2, 2, counted) + first) + loop("i", 2, 2, counted)
    check(hide_counters, before + "return x", after + "return x")


def test_splat__not_differentiated__leaves_scalars_alone() -> None:
    parameters = "x: float, v: float3"
    head = f'module m from "m.py" function g g({parameters}) -> float3 not_differentiable '
    made = unspread_scalars(parse(head + "{ return ((new float3(x) - v) + new float3(x)) }"))
    assert "((x - v)::float3 + x)" in show(made)


def test_splat__matrix__keeps_all_but_literals() -> None:
    check(unspread_scalars, "return (m * new float2x2(x))", "return (m * new float2x2(x))", "float2x2")
    check(unspread_scalars, "return (m * new float2x2(2.0))", "return (m * 2.0)", "float2x2")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return (- m)", "return (m * new float2x2(-1.0))"),
        ("return (m - m)", "return (m + (m * new float2x2(-1.0)))"),
        ("return (m / m)", "return divide(m, m)"),
        ("return (m / new float2x2(2.0))", "return (m / new float2x2(2.0))"),
        ("return (m * m)", "return (m * m)"),
    ],
)
def test_matrices__arithmetic__is_what_targets_compile(before: str, after: str) -> None:
    check(spell_matrices, before, after, "float2x2")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return (a[i] * a[j])", "return (at(a, i)::float * at(a, j)::float)"),
        ("return (a[i] * a[1])", "return (at(a, i)::float * a[1])"),
        ("return (a[i] * a[i])", "return (a[i] * a[i])"),
        ("return (v[i] * v.x)", "return (at(v, i)::float * v.x)"),
        ("return (a[0] * a[1])", "return (a[0] * a[1])"),
        ("return (m[i][j] + m[0][1])", "return (at(at(m, i)::float2, j)::float + m[0][1])"),
        ("set a[i] = (a[i] + x) return x", "set a[i] = (a[i] + x) return x"),
        ("set a[i] = (a[i] + a[j]) return x", "set a[i] = (at(a, i)::float + at(a, j)::float) return x"),
        ("if (a[i] > a[j]) { return a[i] } return x", "if (a[i] > a[j]) { return a[i] } return x"),
        (
            "set k = i set x = a[k] set k = j return (x * a[k])",
            "set k = i set x = at(a, k)::float set k = j return (x * at(a, k)::float)",
        ),
        ("return (no_diff(a[i]) * a[j])", "return (no_diff(at(a, i)::float) * at(a, j)::float)"),
        (
            "for k = 0 to 4 step 1 limit 4 unroll { set x = (x * a[k]) } return x",
            "for k = 0 to 4 step 1 limit 4 unroll { set x = (x * a[k]) } return x",
        ),
        (
            "for k = 0 to 4 step 1 limit 4 unroll { set x = a[(i + k)] } return x",
            "for k = 0 to 4 step 1 limit 4 unroll { set x = at(a, (i + k))::float } return x",
        ),
        ("return a[(b ? i : j)]", "return at(a, (b ? i : j))::float"),
        ("return a[(n + (b ? i : j))]", "return at(a, (n + (b ? i : j)))::float"),
        ("set k = (b ? i : j) return a[k]", "set k = (b ? i : j) return at(a, k)::float"),
        ("set k = (b ? i : j) set turn = (k + 1) return a[turn]",
         "set k = (b ? i : j) set turn = (k + 1) return at(a, turn)::float"),
        ("if b { set k = i } else { set k = j } return a[k]",
         "if b { set k = i } else { set k = j } return at(a, k)::float"),
        ("set k = (b ? i : j) if (a[k] > x) { return x } return y",
         "set k = (b ? i : j) if (at(a, k)::float > x) { return x } return y"),
        ("set w = new float3(q, q, q) return (x * w[(b ? i : j)])",
         "set w = new float3(q, q, q) return (x * no_diff(element(w, (b ? i : j))::float))"),
    ],
)  # fmt: skip
def test_dynamic_index__reads_that_may_meet__go_through_the_library(before: str, after: str) -> None:
    check(separate_indexed_reads, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return call table(q)", "return no_diff(call table(q))"),
        ("return call table(2.0)", "return call table(2.0)"),
        ("return no_diff((x * call table(x)))", "return no_diff((x * no_diff(call table(x))))"),
        ("return no_diff(call table(x))", "return no_diff(call table(x))"),
        ("return no_diff(x)", "return no_diff(x)"),
    ],
)
def test_activity__call_that_ends_a_gradient__is_marked(before: str, after: str) -> None:
    check(mark_no_diff, before, after)


def test_activity__no_diff_where_nothing_is_differentiated__goes_away() -> None:
    module = parse('module m from "m.py" function f f(x: float) -> float not_differentiable { return no_diff(x) }')
    assert shown(mark_no_diff(module)) == "{\n    return x\n}\n"


def test_tuples__equal_tuples__become_one_struct() -> None:
    module = parse("""module m from "m.py"
function f f(x: float) -> tuple[float, Array[int, 2]] { return new tuple[float, Array[int, 2]](x, new Array[int, 2]()) }
function g g(x: float) -> float locals t: tuple[float, Array[int, 2]] { set t = call f(x) return t.item0 }""")
    made = lower_tuples(module)
    assert [d.struct.name for d in made.structs] == ["FResult"]
    assert [f.name for f in made.structs[0].struct.fields] == ["x", "item1"]
    assert "return t.x" in show(made)
    assert "tuple[" not in show(made)
    assert verify(made) == []


def test_tuples__of_two_functions__have_the_names_of_their_types() -> None:
    module = parse("""module m from "m.py"
function f f(x: float) -> tuple[float, float] { return new tuple[float, float](x, x) }
function h h(x: float) -> tuple[float, float] { return call f(x) }""")
    (struct,) = (d.struct for d in lower_tuples(module).structs)
    assert (struct.name, [f.name for f in struct.fields]) == ("FloatAndFloat", ["item0", "item1"])


def test_tuples__backward_function__keeps_its_list_of_gradients() -> None:
    module = parse("""module m from "m.py"
function f f(x: float, y: float) -> float derivative custom("b", none) { return x }
function b b(x: float, y: float, d: float) -> tuple[float, float] role backward "f"
{ if (x > y) { return new tuple[float, float](d, d) } return bwd_diff f(x, y, d)::tuple[float, float] }""")
    made = lower_tuples(module)
    text = shown(made)
    assert "set gradients = bwd_diff f(x, y, d)" in text
    assert "return new tuple[float, float](gradients.x, gradients.y)" in text
    assert verify(made) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("set m[i][i] = x return m", "set m[i] = with(m[i], i, x)::float2 return m"),
        ("set k = i set m[k][i] = x return m", "set k = i set m[k] = with(m[k], i, x)::float2 return m"),
        ("set m[(i + 0)][i] = (m[i][i] * x) return m",
         "set m[(i + 0)] = with(m[(i + 0)], i, (m[i][i] * x))::float2 return m"),
        ("if b { set k = i } else { set k = j } set m[i][k] = x return m",
         "if b { set k = i } else { set k = j } set m[i] = with(m[i], k, x)::float2 return m"),
        ("for k = 0 to 2 step 1 limit 2 { set m[k][k] = (m[k][k] + x) } return m",
         "for k = 0 to 2 step 1 limit 2 { set m[k] = with(m[k], k, (m[k][k] + x))::float2 } return m"),
        ("for k = 0 to 2 step 1 limit 2 { set m[k][i] = x set m[i][k] = x } return m", None),
        ("set m[1][1] = x set m[i][1] = x set m[i][(1 - i)] = x set m[i][(i + 1)] = x return m", None),
        ("set m[(i % 2)][i] = x set m[i][j] = x return m", None),
        ("set k = (1 - i) set m[k][i] = x return m", None),
        ("for k = 0 to 2 step 1 limit 2 unroll { set m[k][k] = x set m[k][(k + 0)] = x } return m", None),
    ],
)  # fmt: skip
def test_repeated_indices__store_through_one_index_twice__stores_the_row(before: str, after: str | None) -> None:
    check(store_rows, before, before if after is None else after, "float2x2")


def test_tangent__of_a_condition_with_a_probe__has_none() -> None:
    loop = 'while (probe "p" (s)::float > 0.0) limit 4 { set s = (s - x) }'
    module = differentiate_twice(parse(function(f"set s = x {loop} return (s * s)")), ("f",))
    (tangent,) = (f for f in module.functions if f.key == "f:tangent")
    assert 'probe "p"' in show(module)
    assert not [e for e in body_exprs(statements(tangent)) if isinstance(e, Probe)]
