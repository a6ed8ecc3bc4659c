"""The pieces of the printer: names, numbers, parentheses, line breaks, the span map."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slangad.compiler.emit import emit_module, library
from slangad.compiler.emit.text.line_breaks import WIDTH, wrap
from slangad.compiler.emit.text.literals import literal
from slangad.compiler.emit.text.names import NameScope, ascii_name
from slangad.compiler.emit.text.writer import Writer
from slangad.compiler.errors.spans import Span
from slangad.compiler.ir.nodes import Assign, Binary, Function, Module, Param, Return, Var
from slangad.compiler.ir.text_form.printer import parse
from slangad.compiler.ir.types import DOUBLE, FLOAT, HALF, INT, UINT, Scalar
from slangad.compiler.passes import run_passes


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("x", "x"),
        ("\u03c3", "sigma"),
        ("Δt", "Deltat"),
        ("é", "e"),
        ("größe", "grou00dfe"),
        ("日", "u65e5"),
        ("a b", "a_b"),
    ],
)
def test_ascii_name__letters__are_spelled_out(name: str, wanted: str) -> None:
    assert ascii_name(name) == wanted


def test_scope__keywords_builtins_and_collisions__get_other_names() -> None:
    scope = NameScope(hidden=("dot",))
    given_names = [scope.give(name, name) for name in ("x", "struct", "dot", "length", "float3", "this")]
    assert given_names == ["x", "struct_", "dot_", "length", "float3_", "this_"]
    assert [scope.fresh("x"), scope.fresh("x")] == ["x_2", "x_3"]
    assert [scope.give("\u03c3", "\u03c3"), scope.fresh("sigma")] == ["sigma", "sigma_2"]


@pytest.mark.parametrize(
    ("value", "type_", "wanted"),
    [
        (0.5, FLOAT, "0.5"),
        (0.1, FLOAT, "0.1"),
        (1.0, FLOAT, "1.0"),
        (1e-6, FLOAT, "1.0e-6"),
        (1e20, FLOAT, "1.0e20"),
        (3.4028234663852886e38, FLOAT, "3.4028235e38"),
        (-0.0, FLOAT, "-0.0"),
        (0.1, HALF, "0.1h"),
        (0.1, DOUBLE, "0.1lf"),
        (1 / 3, DOUBLE, "0.3333333333333333lf"),
        (3, INT, "3"),
        (-(2**31), INT, "(-2147483647 - 1)"),
        (2**32 - 1, UINT, "4294967295u"),
        (True, Scalar("bool"), "true"),
        (1e39, FLOAT, "float(1.0 / 0.0)"),
    ],
)
def test_literal__value__is_the_shortest_text_of_its_type(value: float, type_: Scalar, wanted: str) -> None:
    assert literal(value, type_) == wanted


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_literal__any_float__reads_back_as_itself(value: float) -> None:
    text = literal(value, FLOAT)
    assert struct.pack("<f", float(text)) == struct.pack("<f", value)
    assert "." in text


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        ("((x + y) * x)", "(x + y) * x"),
        ("((x * y) + x)", "x * y + x"),
        ("(x - (y - x))", "x - (y - x)"),
        ("((x - y) - x)", "x - y - x"),
        ("(x / (y * x))", "x / (y * x)"),
        ("(- (x + y))", "-(x + y)"),
        ("(- (- x))", "-(-x)"),
        ("(- -1.0)", "-(-1.0)"),
        ("(x - -1.0)", "x - -1.0"),
        ("(x * (- y))", "x * -y"),
        ("((x < y) ? x : ((y < x) ? y : 0.0))", "x < y ? x : y < x ? y : 0.0"),
        ("(((x < y) ? b : b) ? x : y)", "(x < y ? b : b) ? x : y"),
        ("(((b && b) || b) ? x : y)", "b && b || b ? x : y"),
        ("((b && (b || b)) ? x : y)", "b && (b || b) ? x : y"),
        ("((! (x < y)) ? x : y)", "!(x < y) ? x : y"),
        ("cast float((n & (n + (n << 2))))", "float(n & n + (n << 2))"),
        ("(v + v).x", "(v + v).x"),
        ("a[(n + 1)]", "a[n + 1]"),
        ("(v[0] * -2.0)", "v[0] * -2.0"),
    ],
)
def test_expression__parentheses__stand_where_they_are_needed(expr: str, wanted: str) -> None:
    params = "x: float, y: float, b: bool, n: int, v: float3, a: Array[float, 4]"
    module = parse(f'module m from "m.py" function f f({params}) -> float not_differentiable {{ return {expr} }}')
    assert f"    return {wanted};\n" in emit_module(run_passes(module)).text


def test_wrap__long_line__breaks_at_the_outermost_places() -> None:
    inner = ", ".join(f"argument_{i} * 2.0" for i in range(4))
    pieces = [p.text.rstrip() for p in wrap(f"    float value = function({inner}) + other({inner});", 4)]
    assert pieces == [
        "    float value = function(argument_0 * 2.0, argument_1 * 2.0, argument_2 * 2.0, argument_3 * 2.0)",
        "        + other(argument_0 * 2.0, argument_1 * 2.0, argument_2 * 2.0, argument_3 * 2.0);",
    ]
    assert all(len(p) <= WIDTH for p in pieces)
    assert [p.text for p in wrap("// " + "word " * 50, 4)] == ["// " + "word " * 50]


def test_wrap__generics_and_comments__stay_whole() -> None:
    names = ", ".join(f"an_argument_{i}" for i in range(4))
    pieces = [p.text.rstrip() for p in wrap(f"    return sa.times<16, 8, A<B<3>>, 1, 4, 256>({names}, {names}, x);", 4)]
    assert pieces == [
        f"    return sa.times<16, 8, A<B<3>>, 1, 4, 256>({names},",
        f"        {names}, x);",
    ]
    shifted = f"    int n = (argument_of_some_length << 3) + f(1) /* {'c + ' * 15}d // 2, 3 */ + g(argument, argument);"
    assert [p.text.rstrip() for p in wrap(shifted, 4)] == [
        "    int n = (argument_of_some_length << 3)",
        f"        + f(1) /* {'c + ' * 15}d // 2, 3 */",
        "        + g(argument, argument);",
    ]
    comment = f"    float value = f({', '.join(f'an_argument_{i}' for i in range(6))}); // of a, b, and c = d + e"
    assert wrap(comment, 4)[-1].text.endswith("); // of a, b, and c = d + e")


def span(number: int) -> Span:
    return Span("m.py", number, 1, number, 2)


def test_writer__origin__survives_a_line_break() -> None:
    writer = Writer()
    with writer.origin(span(1)):
        writer.write("float value = first_function_of_several(" + "x" * 60 + ") + ")
        with writer.origin(span(2)):
            writer.write("second_function(" + "y" * 20 + ")")
        writer.end(";")
    lines = writer.text.splitlines()
    assert len(lines) == 2
    inner = next(m for m in writer.mapped if m.span == span(2))
    assert lines[inner.line - 1][inner.column - 1 : inner.end_column - 1] == "second_function(" + "y" * 20 + ")"
    assert next(m for m in writer.mapped if m.span == span(1)).end_line == 3


def test_locate__position_of_an_operand__is_the_span_of_its_node() -> None:
    x, y = Var("x", FLOAT, span(5)), Var("y", FLOAT, span(6))
    total = Assign(Var("s", FLOAT, span(3)), Binary("+", x, y, FLOAT, span(4)), span(2))
    params = (Param("x", FLOAT), Param("y", FLOAT))
    body = (total, Return(Var("s", FLOAT, span(8)), span(7)))
    emitted = emit_module(run_passes(Module("m", "m.py", functions=(Function("f", "f", params, FLOAT, body),))))
    lines = emitted.text.splitlines()
    line = lines.index("    float s = x + y;")
    assert emitted.locate(line + 1, lines[line].index("y") + 1) == span(6)
    assert emitted.locate(line + 1, lines[line].index("+") + 1) == span(4)
    assert emitted.locate(line + 1, 5) == span(2)
    assert emitted.locate(1, 1) is None


def test_library__every_module_that_is_written__begins_with_its_licence() -> None:
    modules = {name for name in vars(library).values() if isinstance(name, str) and name.endswith(".slang")}
    assert len(modules) > 10
    heads = {name: library.library_text(name).splitlines()[0] for name in modules}
    assert set(heads.values()) == {"// SPDX-License-Identifier: Apache-2.0"}, heads


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (["return a[i];"], "float f(int i) { return a[i]; }\n"),
        ([], "float f(int i) {}\n"),
        (["int k = i;", "return a[k];"], "float f(int i)\n{\n    int k = i;\n    return a[k];\n}\n"),
        ([f"return {'a' * WIDTH};"], f"float f(int i)\n{{\n    return {'a' * WIDTH};\n}}\n"),
    ],
)
def test_writer__accessor__has_one_line_if_that_fits(body: list[str], wanted: str) -> None:
    writer = Writer()
    with writer.accessor("float f(int i)"):
        for line in body:
            writer.line(line)
    writer.accessor_gap()
    gap = "" if wanted.count("\n") == 1 else "\n"
    assert writer.text == wanted + gap
