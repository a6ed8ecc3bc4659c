"""Slang texts taken apart: what is a part of one, where it is, and what stays when some are taken out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slangad.compiler.slang_text.bodies import SlangFunction
from slangad.compiler.slang_text.parts import Parts, read_parts

TEXT = """module m;
import a.b;  // ours
  #include "x.h"
namespace one.two
{
    public struct S<T> : IFoo { T t; float at(float x) { return x; } }
    struct Q
    {
        float k; float get() { return k; }
    };
}
[[vk::binding(0, 1)]] RWStructuredBuffer<float> out_1, out_2[2] : register(u0);
static const float2 TABLE[2] = { { 1, 2 }, f(3) }, after = 1.0;
cbuffer C : register(b0) { float4 c; int d[2]; }
extension float : IFoo { float plus(float y) { return this + y; } }
typedef vector<float, 3> V3;
typealias P<T> = Array<T, 3>;
Q operator<<(Q a, int b) { return a; }
float later(float);
float body<let N : int = 4>(float a = 1.0) where N == 4 { return a; }
enum class E { A, B }
extension<T : IFoo, let N : int> Many<T, N> : IBar { void add() { } }
"""


@pytest.fixture(scope="module")
def parts() -> Parts:
    return read_parts(TEXT, "t.slang")


def test_parts__of_a_text_full_of_traps__are_all_found(parts: Parts) -> None:
    found = [("body" if isinstance(one, SlangFunction) else one.kind, one.name, one.span.line) for one in parts.every]
    assert found == [
        ("import", "a.b", 2),
        ("#include", "x.h", 3),
        ("struct", "one.two.S", 6),
        ("body", "one.two.S.at", 6),
        ("struct", "one.two.Q", 7),
        ("body", "one.two.Q.get", 9),
        ("global", "out_1", 12),
        ("global", "TABLE", 13),
        ("cbuffer", "C", 14),
        ("extension", "float", 15),
        ("body", "float.plus", 15),
        ("typedef", "V3", 16),
        ("typealias", "P", 17),
        ("body", "operator<<", 18),
        ("function", "later", 19),
        ("body", "body", 20),
        ("enum", "E", 21),
        ("extension", "Many", 22),
        ("body", "Many.add", 22),
    ]


def test_without__some_parts_marked__keeps_lines_and_leaves_what_names_them(parts: Parts) -> None:
    marked = {part: f"mark {part.name}" for part in parts.every if part.name in ("one.two.Q", "TABLE", "operator<<")}
    lines = parts.without(marked, ()).text.split("\n")
    whole = TEXT.split("\n")
    assert len(lines) == len(whole)
    assert [k + 1 for k, (one, other) in enumerate(zip(lines, whole, strict=True)) if one != other] == [
        *range(7, 11),
        13,
        18,
    ]
    assert [line.strip() for line in lines[6:10]] == ["", "", "", '[deprecated("mark one.two.Q")] struct Q {};']
    for name in ("TABLE", "after"):
        assert f'[deprecated("mark TABLE")] static const int {name} = 0;' in lines[12]
    operator = '[deprecated("mark operator<<")] Q operator<<(Q a, int b) { return {}; }'
    assert " ".join(lines[17].split()) == operator


def test_without__what_has_no_stub_or_is_gone__leaves_blanks(parts: Parts) -> None:
    marked = {part: "mark" for part in parts.every if part.name in ("one.two.S", "a.b", "x.h", "body")}
    gone = {part for part in marked if part.name == "body"}
    lines = parts.without(marked, gone).text.split("\n")
    assert [lines[k].strip() for k in (1, 2, 5, 19)] == ["// ours", "", "", ""]


def test_before__places_behind_what_was_put_in__are_those_of_the_whole_text() -> None:
    text = "struct A { float k; }; float f(float x) { return x; } float g(float x) { return x; }\nfloat h();\n"
    parts = read_parts(text, "t.slang")
    left = parts.without({part: "mark" for part in parts.every if part.name in ("A", "f")}, ())
    g = next(part for part in parts.every if part.name == "g").span
    column = left.text.index("g(") + 1
    assert column > g.column
    assert left.before(replace(g, column=column)).column == g.column
    assert left.before(replace(g, line=2)) == replace(g, line=2)
    put_in = left.text.index("mark")
    assert parts.at(left.before(replace(g, column=put_in))) in parts.every[:1]
