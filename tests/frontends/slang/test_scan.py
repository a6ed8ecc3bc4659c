"""The scan of a Slang text finds where functions stand, whatever else is in the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slangad.compiler.slang_text.headers import Scan, scan_text

TEXT = """
// A comment with a brace { and a "quote
/* and one over
   several lines } */
#define OPEN {
#define LONG(x) \\
    x { (
#if 0
float off(float a);
#endif
namespace one.two
{
    struct S<T> : IFoo
    {
        static const float TABLE[2] = { 1, 2 };
        // range: a 0 1

        // range: b 0 1
        /// range: c 0 1
        [Differentiable] [BackwardDerivative(m_bwd)]
        // range: d 0 1
        static float m<let N : int>(float a, inout float b[N], vector<float, 3> c = float3(1, 2, 3), T d : SEM);
    }
}
extension S<float> { float e() { if (x) { return f(1); } } }
[shader("compute { (")] void k(uint3 t : SV_DispatchThreadID) { char c = '{'; }
[BackwardDerivativeOf(ns.f)] void f_bwd(inout DifferentialPair<float> x, float d) {}
float2 operator+(float2 a, float2 b) { return a; }
float last(float);
"""


@pytest.fixture(scope="module")
def scan() -> Scan:
    return scan_text(TEXT, "t.slang")


def test_headers__of_a_text_full_of_traps__are_all_found(scan: Scan) -> None:
    assert [(h.path, h.name, h.params) for h in scan.headers] == [
        ((), "off", ("a",)),
        (("one", "two", "S"), "m", ("a", "b", "c", "d")),
        (("extension S",), "e", ()),
        ((), "k", ("t",)),
        ((), "f_bwd", ("x", "d")),
        ((), "operator+", ("a", "b")),
        ((), "last", ("float",)),
    ]


def test_headers__types_of_parameters__are_as_written(scan: Scan) -> None:
    assert {h.name: h.signature for h in scan.headers} == {
        "off": "(float)",
        "m": "(float, inout float[N], vector<float, 3>, T)",
        "e": "()",
        "k": "(uint3)",
        "f_bwd": "(inout DifferentialPair<float>, float)",
        "operator+": "(float2, float2)",
        "last": "(float)",
    }


@pytest.mark.parametrize(
    ("params", "signature"),
    [
        ("no_diff in float x, const uint n = 3", "(float, uint)"),
        ("ns.Material m, ns::Ray", "(ns.Material, ns::Ray)"),
        ("out float", "(out float)"),
        ("x : float, y : ns.Pair<float, int> = a", "(float, ns.Pair<float, int>)"),
        ("float[2][3] a, float b[2][3]", "(float[2][3], float[2][3])"),
    ],
)
def test_header__types_of_parameters__leave_out_names_and_values(params: str, signature: str) -> None:
    (header,) = scan_text(f"float f({params});", "t.slang").headers
    assert header.signature == signature


def test_find__a_generic_function_beside_a_plain_one__is_not_taken_for_it() -> None:
    found = scan_text("float f(float x);\nfloat f<T : IFloat>(T x);\n", "t.slang")
    lines = [header.span.line for generic in (False, True) if (header := found.find("f", (), (), generic=generic))]
    assert lines == [1, 2]


def test_header__its_attributes_comments_and_place__are_known(scan: Scan) -> None:
    header = scan.headers[1]
    assert header.attributes == ("Differentiable", "BackwardDerivative", "m_bwd")
    assert header.words == ("static", "float")
    assert [comment.text.split()[2] for comment in header.comments] == ["b", "c", "d"]
    assert (header.span.line, header.span.column, header.span.end_column) == (22, 22, 23)


def test_scan__the_text_as_a_whole__is_described(scan: Scan) -> None:
    assert [name for name, _ in scan.defines] == ["OPEN", "LONG"]
    assert scan.derivatives_of == {"f": frozenset({"BackwardDerivative"})}
    assert not scan.is_part
    assert not scan.controls_visibility


@pytest.mark.parametrize(
    ("text", "part", "visibility"),
    [
        ("implementing foo;", True, True),
        ("// module\nmodule foo;", False, True),
        ("struct S { private float x; }", False, True),
        ("#lang 2026\nfloat f() { return 1; }", False, True),
        ("float publicly() { return 1; }", False, False),
    ],
)
def test_scan__modules_and_visibility__are_seen(text: str, part: bool, visibility: bool) -> None:
    scan = scan_text(text, "t.slang")
    assert (scan.is_part, scan.controls_visibility) == (part, visibility)


def test_find__overloads_and_namesakes__are_told_apart() -> None:
    scan = scan_text("float f(float x);\nfloat f(float y, float z);\nnamespace n { float f(float x); }\n", "t")
    lines = [scan.find("f", *key) for key in (((), ("x",)), ((), ("y", "z")), (("n",), ("x",)), (("m",), ("q",)))]
    assert [header.span.line for header in lines if header] == [1, 2, 3, 1]
    assert scan.find("g", (), ()) is None


def test_find__overloads_with_the_same_parameter_names__are_told_apart_by_their_order() -> None:
    text = "[Differentiable] float f(float x) { }\nfloat f(int x);\n[Differentiable] float2 f(float2 x) { }\n"
    scan = scan_text(text, "t")
    found = [scan.find("f", (), ("x",), (number, 2)) for number in (0, 1)]
    assert [header.span.line for header in found if header] == [1, 3]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="{}()[]<>\"'/*\\#\n ab,;:=R", max_size=60))
def test_scan__of_any_text__ends_without_an_error(text: str) -> None:
    scan = scan_text(text, "t.slang")
    lines = text.count("\n") + 1
    assert all(1 <= span.line <= lines for span in scan.words.values())


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_scan__of_a_cut_text__ends_without_an_error(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(TEXT)))
    scan_text(TEXT[start : data.draw(st.integers(start, len(TEXT)))], "t.slang")
