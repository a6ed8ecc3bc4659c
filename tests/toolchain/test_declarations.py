"""What a module declares, as Slang's reflection tells: told in full, and without a crash whatever is declared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain

SOURCE = """
interface IShape { [Differentiable] float size(float s); }
struct Inner : IDifferentiable { float a; no_diff float b; int n; }
struct Plain { float x; }
struct Outer : IDifferentiable, IShape
{
    Inner inner;
    Plain plain;
    float3 list[2];
    property float sum { get { return inner.a; } }
    __init(float a) { inner = { a, a, 1 }; plain = { a }; list = {}; }
    __subscript(int i) -> float { get { return list[i].x; } }
    [Differentiable] float size(float s) { return inner.a * s; }
    [Differentiable] [mutating] void grow(float s) { inner.a = inner.a * s; }
    [Differentiable] static float unit(float s) { return s; }
}
struct Derived : Inner { float c; }
enum Kind { A, B }
class Old { float field; [Differentiable] float of_class(float x) { return x; } }
typedef float3 Color;
extension Plain { float twice() { return 2.0 * x; } }
namespace deep { namespace er { [Differentiable] Color tint(inout Outer o, no_diff float k, out float z)
{ z = k; o.inner.a = o.inner.a * k; return o.list[1]; } } }
T generic<T : __BuiltinFloatingPointType, let N : int>(T x, T a[N]) { return x; }
[Differentiable] T marked<T : __BuiltinFloatingPointType, let N : int>(T x, T a[N]) { return x * a[0]; }
struct Box<T : __BuiltinFloatingPointType> : IDifferentiable
{ T v; [Differentiable] T get_value(T s) { return v * s; } }
[Differentiable] float odd(float x, StructuredBuffer<float> b, Kind k, Derived d, IShape shape, float* p) { return x; }
float plain_function(float x) { return x; }
static const float TABLE[3] = { 1.0, 2.0, 3.0 };
RWStructuredBuffer<float> bound;
"""
FLOAT = {"kind": "scalar", "scalar": "float"}


@pytest.fixture(scope="module")
def declare(toolchain: Toolchain) -> Callable[..., dict[str, Any]]:
    def declare_one(source: str, *asked: str) -> dict[str, Any]:
        job = CompileJob("declared.slang", source, (), ("cpp",), whole=True, declarations=asked)
        (result,) = toolchain.compile([job])
        assert result.ok or not result.diagnostics, result.diagnostics
        found: dict[str, Any] = json.loads(result.reflection_text("cpp") or "{}")
        return found

    return declare_one


@pytest.fixture(scope="module")
def declared(declare: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return declare(SOURCE, "marked<half, 3>", "Box<float>.get_value", "plain_function", "nowhere", "marked<int, 3>")


def test_declarations__differentiable_functions__are_all_there(declared: dict[str, Any]) -> None:
    found = {f["pattern"]: (f["owner"], f["static"], f["mutating"]) for f in declared["functions"]}
    assert found == {
        "Outer.size": ("Outer", False, False),
        "Outer.grow": ("Outer", False, True),
        "Outer.unit": ("Outer", True, False),
        "deep.er.tint": ("", False, False),
        "marked<>": ("", False, False),
        "Box<>.get_value": ("", False, False),
        "odd": ("", False, False),
    }


def test_declarations__of_a_function__tell_directions_and_what_carries_gradient(declared: dict[str, Any]) -> None:
    (tint,) = [f for f in declared["functions"] if f["name"] == "tint"]
    assert [(p["name"], p["direction"], p["no_diff"]) for p in tint["params"]] == [
        ("o", "inout", False),
        ("k", "in", True),
        ("z", "out", False),
    ]
    assert tint["result"] == {"kind": "vector", "scalar": "float", "count": 3}
    (odd,) = [f for f in declared["functions"] if f["name"] == "odd"]
    assert [p["type"]["kind"] for p in odd["params"]] == ["scalar", "other", "other", "struct", "other", "other"]
    assert [p["no_diff"] for p in odd["params"]] == [False, *[True] * 5]


def test_declarations__of_structs__tell_what_their_differentials_have(declared: dict[str, Any]) -> None:
    structs = declared["structs"]
    told = {name: (s["differential"], s["inherits"]) for name, s in structs.items()}
    assert told == {
        "Inner": (["a"], False),
        "Plain": (None, False),
        "Outer": (["inner", "list"], False),
        "Derived": (None, True),
        "Box<float>": (["v"], False),
    }
    assert [(f["name"], f["no_diff"]) for f in structs["Inner"]["fields"]] == [("a", False), ("b", True), ("n", False)]


def test_declarations__functions_asked_for__are_those_slang_can_make(declared: dict[str, Any]) -> None:
    found = {item["text"]: item["functions"] for item in declared["asked"]}
    (half,) = found["marked<half, 3>"]
    assert half["params"][1]["type"] == {"kind": "array", "element": {"kind": "scalar", "scalar": "half"}, "count": 3}
    (member,) = found["Box<float>.get_value"]
    assert (member["owner"], member["result"]) == ("Box<float>", FLOAT)
    assert found["plain_function"][0]["params"][0]["type"] == FLOAT
    assert found["nowhere"] == found["marked<int, 3>"] == []


def test_declarations__top_level_names__are_all_there(declared: dict[str, Any]) -> None:
    wanted = "IShape Inner Plain Outer Derived Kind Color deep generic marked Box odd plain_function TABLE bound"
    assert {*wanted.split()} <= {*declared["names"]}
    assert not [name for name in declared["names"] if name.startswith("$")]
    assert "field" not in declared["names"]


def test_declarations__of_a_text_slang_rejects__are_not_there(declare: Callable[..., dict[str, Any]]) -> None:
    assert declare("float f(") == {}
