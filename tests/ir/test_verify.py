"""The verifier names what is wrong with a module, and accepts what is right."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

import pytest

from slangad.compiler.errors.codes.passes import CODES
from slangad.compiler.ir.nodes import Assign, Const, Expr, Var
from slangad.compiler.ir.text_form.printer import parse
from slangad.compiler.ir.types import FLOAT, INT
from slangad.compiler.ir.verify.module import SoundBodies, verify
from slangad.compiler.ir.walk import _OPERANDS, map_functions

STRUCT = "struct M M {\n a: float\n no_diff b: float3\n}\nconstant T T: Array[float, 2] = 1.0 2.0\n"
F = "function f f(x: float, no_diff k: float, n: int) -> float { return x }\n"


def codes(text: str, *, declared: bool = False) -> list[str]:
    return [d.code for d in verify(parse(f'module m from "m.py"\n{text}'), declared=declared)]


def body(statements: str, result: str = "float", locals_: str = "") -> str:
    shown = f"locals {locals_}" if locals_ else ""
    return f"{STRUCT}{F}function g g(x: float, m: M, v: float3, n: int) -> {result} {shown} {{ {statements} }}"


MEMORIES = """function h h(w: Tensor[float, 2]) -> float { return w[0, 0] }
function f f(w: Tensor[float, 2], o: OutTensor[float, 2], u: InOutTensor[float, 1], t: Texture2D[float], n: int,
uv: float2, m: uint) -> float"""
BUFFERED = """buffer b k w: Tensor[float, 1] own
function f f(n: int) -> float { return b[n] } kernel k f dims 1 group (8) {
param n: each int param w: tensor Tensor[float, 1] result result: each float }"""


def memories(statements: str, locals_: str = "") -> str:
    shown = f"locals {locals_}" if locals_ else ""
    return f"{MEMORIES} {shown} {{ {statements} }}"


@pytest.mark.parametrize(
    "text",
    [
        body("set s = (x + m.a) return s", locals_="s: float"),
        memories("return w[n, 0]"),
        memories("set o[n, n] = u[extent(w, 1)] set u[0] = 1.0 return t[n, n]"),
        memories('return probe "p"((sample(t, uv) + call h(w)))'),
        BUFFERED,
        BUFFERED.replace("buffer b k w: ", "buffer b k w: no_diff "),
        body("for i = 0 to n step 1 limit 3 bounded { if (i > 1) { break } } return x", locals_="i: int"),
        body("return ((v * x)::float3 + v.zyx)", "float3"),
        body("return call f(x, 2.0, n)"),
        body("return bwd_diff f(x, 2.0, n, 1.0)::float"),
        body("return fwd_diff f(pair(x, 1.0), 2.0, n)::DiffPair[float].d"),
        body("return @T[n]"),
        body("return new float3(v.xy, x)", "float3"),
        body("return new M(x, v)", "M"),
        body("set v.xz = v.xy return v", "float3"),
        """function f f(x: float) -> float derivative custom("b", none) { return x }
        function b b(x: float, d: float) -> float role backward "f" { return d }
        function w w(x: DiffPair[float]) -> DiffPair[float] role forward "f" { return x }""",
    ],
)
def test_verify__right_module__finds_nothing(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (F + F, "SA900"),
        (body("return call nobody(x)::float"), "SA900"),
        ("function g g(x: float) -> float { return call f(x)::float }" + F, "SA900"),
        ("function g g(x: float) -> float { return call g(x)::float }", "SA900"),
        (body("break"), "SA900"),
        (body("return @T::float"), "SA900"),
        (body("return (x + n)"), "SA901"),
        (body("return (x < x)"), "SA901"),
        (body("return v"), "SA901"),
        (body("return nothing"), "SA901"),
        (body("return v.w"), "SA901"),
        (body("return m.c::float"), "SA901"),
        (body("return call f(x, 2.0)"), "SA901"),
        (body("return call f(x, 2.0, 1.0)"), "SA901"),
        (body("return 1::weak[float]"), "SA901"),
        (body("return (true && x)::float"), "SA901"),
        (body("if x { }"), "SA901"),
        (body("return v[x]"), "SA901"),
        (body("return (true ? x : n)"), "SA901"),
        (body("return new float3(x, x)", "float3"), "SA901"),
        (body("return cast float(v)"), "SA901"),
        (body("for i = 0 to 1.0 step 1 limit 3 { }"), "SA901"),
        (memories("return w[n]"), "SA901"),
        (memories("return w[n, m]"), "SA901"),
        (memories("return cast float(extent(uv, 0))"), "SA901"),
        (memories("return w[n, n]::int"), "SA901"),
        (memories("return extent(w, 2)"), "SA901"),
        (memories("return cast float(extent(t, 2))"), "SA901"),
        (memories("return sample(w, uv)"), "SA901"),
        (memories("return sample(t, n)"), "SA901"),
        (memories("return cast float(probe \"p\"(n))"), "SA901"),
        (memories("return probe \"p\"(uv)::float"), "SA901"),
        (memories("return call h((true ? w : w))"), "SA901"),
        (memories("let v: Tensor[float, 1] return 0.0"), "SA902"),
        (memories("return o[0, 0]"), "SA902"),
        (memories("set w[0, 0] = 1.0 return 0.0"), "SA902"),
        (memories("set t[0, 0] = 1.0 return 0.0"), "SA902"),
        (memories("set uv[0].x = 1.0 return 0.0"), "SA901"),
        (memories("set u[o[0, 0]] = 1.0 return 0.0"), "SA901"),
        (body("set (x + x) = x"), "SA902"),
        (body("set v.xx = v.xy"), "SA902"),
        ('function b b(x: float) -> float role backward "f" { return x }', "SA903"),
        (F + 'function b b(x: float, d: float) -> float role backward "f" { return d }', "SA903"),
        ('function f f(x: float) -> float derivative surrogate("g") { return x }', "SA903"),
        ("kernel k f dims 1 group (8) { }", "SA904"),
        (BUFFERED.replace("k w", "k v", 1), "SA904"),
        (BUFFERED.replace("float, 1] own", "float, 2] own"), "SA904"),
        (BUFFERED.replace("param w", "param no_diff w"), "SA904"),
        (BUFFERED.replace("buffer", f"{BUFFERED.splitlines()[0]} buffer", 1), "SA900"),
        (BUFFERED.replace("w: tensor", "w: out_tensor"), "SA904"),
        (BUFFERED.replace("each int", "sum int"), "SA904"),
        (BUFFERED.replace("each int", "tensor int"), "SA904"),
        (BUFFERED.replace("result: each", "result: param"), "SA904"),
        (F + "kernel k f dims 1 group (8) { param x: each float }", "SA904"),
        ("function f f(x: float) -> float { return x } kernel k f dims 2 group (8) { param x: each float }", "SA904"),
    ],
)  # fmt: skip
def test_verify__wrong_module__names_the_rule(text: str, code: str) -> None:
    assert code in codes(text)
    assert code in CODES


@pytest.mark.parametrize(
    "text",
    [
        body("set s = x return s", locals_="s: float"),
        body("if (x > 0.0) { let s: float = x } return s", locals_="s: float"),
        body("let s: float = x let s: float = x return s", locals_="s: float"),
    ],
)
def test_verify__undeclared_local__is_found_when_they_must_be_declared(text: str) -> None:
    assert codes(text) == []
    assert "SA902" in codes(text, declared=True)


def test_walk__operands_of_every_expression__are_its_fields_of_expressions() -> None:
    assert set(_OPERANDS) == set(get_args(Expr))
    for kind, names in _OPERANDS.items():
        formulas = {"formula"} if kind is Const else set()  # of what a number was computed from: not evaluated
        assert {field.name for field in fields(kind) if "Expr" in str(field.type)} - formulas == set(names), kind


def test_verify__a_body_that_was_right__is_wrong_with_other_parameters_result_or_body() -> None:
    module, sound = parse(f'module m from "m.py"\n{F}'), SoundBodies()
    assert verify(module, sound=sound) == verify(module, sound=sound) == []
    (function,) = module.functions
    (returned,) = function.body  # type: ignore[misc]  # statements, as the text says
    first, *others = function.params
    for changed in (
        replace(function, params=(replace(first, type=INT), *others)),
        replace(function, result=INT),
        replace(function, body=(replace(returned, value=replace(returned.value, name="n", type=INT)),)),
    ):
        problems = verify(map_functions(module, lambda _, changed=changed: changed), sound=sound)
        assert [d.code for d in problems] == ["SA901"]
    assert verify(module, sound=sound) == []


def test_verify__a_body_without_declarations_that_was_right__is_wrong_where_they_are_asked_for() -> None:
    (function,) = parse(f'module m from "m.py"\n{F}').functions
    (returned,) = function.body  # type: ignore[misc]  # statements, as the text says
    local = Var("y", FLOAT)
    module = parse(f'module m from "m.py"\n{F}')
    stored = replace(function, body=(Assign(local, returned.value), replace(returned, value=local)))
    module, sound = map_functions(module, lambda _: stored), SoundBodies()
    assert verify(module, sound=sound) == verify(module, sound=sound) == []
    assert verify(module, declared=True, sound=sound) != []
