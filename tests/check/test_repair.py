"""Slang files with parts that don't compile: these parts and their users fail by name; the rest is checked."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.check.model.outcomes import CheckOutcome
from slangad.compiler.check.repair.load import load_what_compiles
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.frontends.slang.model import SlangSetting
from slangad.compiler.report.model import Leg, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from check.conftest import Checked

    from slangad.compiler.report.model import Result

MIXED = """
interface IShade { [Differentiable] float at(float x); }
struct Flat : IShade, IDifferentiable { float k; [Differentiable] float at(float x) { return k * nothing; } }
struct Bent : IShade, IDifferentiable { float k; [Differentiable] float at(float x) { return k * x * x; } }
[Differentiable] float takes_flat(Flat b, float x) { return b.at(x); }
[Differentiable] float takes_bent(Bent b, float x) { return b.at(x); }
[Differentiable] float shade<T : IShade & IDifferentiable>(T b, float x) { return b.at(x); }
[Differentiable] float by_interface(float x) { return shade(Flat(2.0), x); }

[Differentiable] float scaled(float x) { return 2.0 * x; }
[Differentiable] float2 scaled(float2 x) { return 2.0 * y; }
[Differentiable] float calls_good_overload(float x) { return scaled(x) * x; }
[Differentiable] float2 calls_bad_overload(float2 x) { return scaled(x) * x; }
#define TWICE(a) (scaled(a) + scaled(a))
#define FOURFOLD(a) (TWICE(a) + TWICE(a))
[Differentiable] float2 calls_by_macro(float2 x) { return FOURFOLD(x); }

/* [Differentiable] float none(float x) { return y; } */
[Differentiable]
float head(float x, Missing m) { return x; }
[Differentiable] float calls_head(float x) { return head(x, 1); }
[Differentiable] float local(float x) { float head = x * x; return head * x; }

[BackwardDerivative(own_bwd)] [Differentiable]
float own(float x) { return x * x; }
void own_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.q * d); }

namespace ns { [Differentiable] float bad(float x) { return z; } [Differentiable] float fine(float x) { return x; } }
[Differentiable] float calls_bad(float x) { return ns.bad(x) * ns::bad(x); }
[Differentiable] float calls_that(float x) { return calls_bad(x) * x; }
[Differentiable] float calls_fine(float x) { return ns.fine(x); }
[Differentiable] T generic<T : IFloat>(T x) { return w; }
[Differentiable] float calls_generic(float x) { return generic(x); }

float plain(float x) { return x * x; }
[Differentiable] float loses(float x) { return plain(x) * x; }
[Differentiable]
float unbounded(float x, int n)
{
    float s = x;
    for (int i = 0; i < n; i++) s = s * x;
    return s;
}
[Differentiable] float last(float x) { return x * x * x; }
"""

UNCOMPILED = {
    "Flat.at": "undefined identifier 'nothing' [SA200]",
    "scaled(float2)": "undefined identifier 'y' [SA200]",
    "head": "undefined identifier 'Missing' [SA200]",
    "own_bwd": "'q' is not a member",
    "ns.bad": "undefined identifier 'z' [SA200]",
    "generic": "undefined identifier 'w' [SA200]",
    "loses": "the call of plain, which is not differentiable [SA202]",
    "unbounded": "needs a bound known at compile time [SA201]",
}
USERS = {
    "takes_flat": "it calls 'Flat.at', which does not compile",
    "by_interface": "it uses 'Flat', whose 'at' does not compile",
    "calls_bad_overload": "it calls 'scaled', which does not compile",
    "calls_by_macro": "it calls 'scaled', which does not compile",
    "calls_head": "it calls 'head', which does not compile",
    "own": "its derivative 'own_bwd' does not compile",
    "calls_bad": "it calls 'ns.bad', which does not compile",
    "calls_that": "it calls 'calls_bad', which does not compile",
    "calls_generic": "it calls 'generic', which does not compile",
}
RIGHT = {"takes_bent", "Bent.at", "calls_good_overload", "local", "ns.fine", "calls_fine", "last"}
CRASH = """
struct S : IDifferentiable { float a; [Differentiable] float m(float x) { return a * x; } }
[Differentiable]
float bad(float x)
{
    S s; s.a = x;
    DifferentialPair<float> q = diffPair(x);
    bwd_diff(s.m)(q, 1.0);
    return q.d * x;
}
"""
GOOD = "\n[Differentiable] float good(float x) { return x * x; }\n"
LATER = "\n[Differentiable] float later(float x) { return x * x * x; }\n"
UNDEFINED = "undefined identifier 'Missing' [SA200]"
WITHOUT_IT = (
    "it does not compile: undefined identifier 'theirs' [SA200]; it may be meant to come from '%s', which fails"
)
LOST = "; if the file exists, name the folder that contains {} with -I"

DECLARED = {
    "struct": (
        "struct S { float k; Missing m; };",
        "[Differentiable] float uses(S s, float x) { return s.k * x; }",
        ("S", f"struct S does not compile: {UNDEFINED}"),
        "it uses 'S', which does not compile",
    ),
    "struct that lacks a semicolon": (
        "struct S\n{\n    float k\n}\n",
        "[Differentiable] float uses(S s, float x) { return s.k * x; }",
        ("S", "struct S does not compile: unexpected '}', expected ';' [SA200]"),
        "it uses 'S', which does not compile",
    ),
    "struct with a broken constructor": (
        "struct S { float k; __init(float x) { k = Missing; } }",
        "float made(float x) { return S(x).k; }\n[Differentiable] float uses(float x) { return x * no_diff made(x); }",
        ("S", f"struct S does not compile: {UNDEFINED}"),
        "it calls 'made', which uses 'S', which does not compile",
    ),
    "struct in a namespace": (
        "namespace ns\n{\n    struct S { Missing m; };\n}",
        "[Differentiable] float uses(ns.S s, float x) { return x; }",
        ("ns.S", f"struct ns.S does not compile: {UNDEFINED}"),
        "it uses 'ns.S', which does not compile",
    ),
    "struct with a broken one in it": (
        "struct A { Missing m; }\nstruct S { A a; float k; }",
        "[Differentiable] float uses(S s, float x) { return s.k * x; }",
        ("A", f"struct A does not compile: {UNDEFINED}"),
        "it uses 'S', which uses 'A', which does not compile",
    ),
    "word that Slang does not know": (
        "structure A { float k; };\nstruct S { A a; float k; }",
        "[Differentiable] float uses(S s, float x) { return s.k * x; }",
        ("A", "global A does not compile: unexpected '{', expected ';' [SA200]"),
        "it uses 'S', which uses 'A', which does not compile",
    ),
    "generic struct": (
        "struct S<T : Missing> { T k; }",
        "[Differentiable] float uses(S<float> s, float x) { return s.k * x; }",
        ("S", f"struct S does not compile: {UNDEFINED}"),
        "it uses 'S', which does not compile",
    ),
    "method of a broken struct": (
        "struct S : IDifferentiable { Missing m; float k;",
        "[Differentiable] float uses(float x) { return k * x; } }",
        ("S", f"struct S does not compile: {UNDEFINED}"),
        "it stands in 'S', which does not compile",
    ),
    "enum": (
        "enum E { A = Missing, B }",
        "[Differentiable] float uses(float x) { return x * float(int(E.B)); }",
        ("E", f"enum E does not compile: {UNDEFINED}"),
        "it uses 'E', which does not compile",
    ),
    "interface": (
        "interface I { [Differentiable] float at(float x); Missing m(); }",
        "[Differentiable] float uses<T : I>(T t, float x) { return t.at(x); }",
        ("I", f"interface I does not compile: {UNDEFINED}"),
        "it uses 'I', which does not compile",
    ),
    "typedef": (
        "typedef Missing Real;",
        "[Differentiable] float uses(Real k, float x) { return k * x; }",
        ("Real", f"typedef Real does not compile: {UNDEFINED}"),
        "it uses 'Real', which does not compile",
    ),
    "typealias": (
        "typealias Real = Missing;",
        "[Differentiable] float uses(Real k, float x) { return k * x; }",
        ("Real", f"typealias Real does not compile: {UNDEFINED}"),
        "it uses 'Real', which does not compile",
    ),
    "global": (
        "static const float j = 1.0, k[2] = { 1.0, Missing };",
        "[Differentiable] float uses(float x) { return k[0] * x; }",
        ("j", f"global j does not compile: {UNDEFINED}"),
        "it uses 'j', which does not compile",
    ),
    "global with attributes": (
        "[[vk::binding(0, 1)]] StructuredBuffer<Missing> k : register(t0);",
        "[Differentiable] float uses(float x) { return k[0] * x; }",
        ("k", f"global k does not compile: {UNDEFINED}"),
        "it uses 'k', which does not compile",
    ),
    "cbuffer": (
        "cbuffer Frame : register(b0) { Missing m; float k; }",
        "[Differentiable] float uses(float x) { return k * x; }",
        ("Frame", f"cbuffer Frame does not compile: {UNDEFINED}"),
        "it uses 'Frame', which does not compile",
    ),
    "extension": (
        "extension float { property float twice { get { return Missing; } } float plus(float x) { return this + x; } }",
        "float sum(float x) { return x.plus(x); }\n[Differentiable] float uses(float x) { return x * no_diff sum(x); }",
        ("float", f"extension float does not compile: {UNDEFINED}"),
        "it calls 'sum', which uses 'extension float', which does not compile",
    ),
    "head of a function": (
        "Missing helper(float x);",
        "[Differentiable] float uses(float x) { return helper(x) * x; }",
        ("helper", f"function helper does not compile: {UNDEFINED}"),
        "it uses 'helper', which does not compile",
    ),
    "two of one name": (
        "static const float k = 1.0;\nstatic const float k = 2.0;",
        "[Differentiable] float uses(float x) { return k * x; }",
        ("k", "global k does not compile: declaration of 'k' conflicts with existing declaration [SA200]"),
        "it uses 'k', which does not compile",
    ),
    "import": (
        "import lost.files;",
        "[Differentiable] float uses(float x) { return theirs(x); }",
        (
            "lost.files",
            "import lost.files does not compile: cannot open file 'lost/files.slang' [SA200]"
            + LOST.format("lost/files.slang"),
        ),
        f"{WITHOUT_IT[:-5]}is not found (-I names its folder)" % "import lost.files",
    ),
    "include": (
        '#include "lost.h"  // ours',
        "[Differentiable] float uses(float x) { return theirs(x); }",
        (
            "lost.h",
            "#include lost.h does not compile: failed to find include file 'lost.h' [SA200]" + LOST.format("lost.h"),
        ),
        f"{WITHOUT_IT[:-5]}is not found (-I names its folder)" % "#include lost.h",
    ),
    "import of a file that does not compile": (
        "import broken;",
        "[Differentiable] float uses(float x) { return theirs(x); }",
        ("broken", f"import broken does not compile: {UNDEFINED}"),
        WITHOUT_IT % "import broken",
    ),
    "nothing that Slang knows": (
        "@@@;",
        "[Differentiable] float uses(float x) { return x * y; }",
        ("@@@", "global @@@ does not compile: unexpected '@', expected identifier [SA200]"),
        "it does not compile: undefined identifier 'y' [SA200]",
    ),
}
"""Of each kind: the declaration, a function, what becomes of the declaration by name, and what of the function."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.session import check
    from slangad.compiler.driver.inputs import parse_inputs

    path = tmp_path_factory.mktemp("mixed") / "mixed.slang"
    path.write_text(MIXED, encoding="utf-8")
    return list(check(parse_inputs([str(path)]), CheckOptions(samples=16)).results)


def test_mend__functions_that_do_not_compile__fail_with_what_slang_says(results: list[Result]) -> None:
    lines = MIXED.splitlines()
    for name, words in UNCOMPILED.items():
        (result,) = (r for r in results if r.function == name and r.verdict is Verdict.FAIL)
        assert result.reason.startswith("it does not compile: ")
        assert words in result.reason
        (failure,) = result.failures
        assert failure.leg is Leg.COMPILE
        assert failure.notes[0].startswith(f"{result.span}: error[SA2")
        assert failure.reproduce.endswith(f"--only {shlex.quote(name)}")
        assert lines[result.span.line - 1]
    places = {r.function: lines[r.span.line - 1][r.span.column - 1 :] for r in results if r.function in UNCOMPILED}
    assert places["Flat.at"].startswith("nothing;")
    assert places["ns.bad"].startswith("z;")
    assert places["head"].startswith("Missing")


def test_mend__what_calls_them__fails_by_their_name(results: list[Result]) -> None:
    found = {r.function: r for r in results if r.function in USERS}
    assert {name: r.reason for name, r in found.items()} == USERS
    assert {r.verdict for r in found.values()} == {Verdict.FAIL}


def test_mend__all_others__are_checked_and_in_order(results: list[Result]) -> None:
    right = [r.function for r in results if r.verdict.good]
    assert sorted(right) == sorted([*RIGHT, "scaled(float)"])
    assert [r.span.line for r in results] == sorted(r.span.line for r in results)
    assert len(results) == len(UNCOMPILED) + len(USERS) + len(right) + 2  # and two instances
    (skipped,) = [r for r in results if r.verdict is Verdict.SKIPPED]
    assert (skipped.function, skipped.reason) == ("shade<Flat>", "it may use 'Flat.at', which does not compile")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("float f(float x) { { return x; }\n", id="bracket"),
        pytest.param("#error this one needs a macro\n", id="directive"),
    ],
)
def test_mend__an_error_in_no_part_of_the_file__fails_the_file(checked: Checked, text: str) -> None:
    result, *functions = checked(text + GOOD, ".slang").values()
    assert {one.verdict for one in functions} <= {Verdict.SKIPPED}
    assert result.verdict is Verdict.FAIL
    assert not result.function


@pytest.fixture(scope="module")
def compilers() -> Iterator[SlangCompilers]:
    with SlangCompilers(Options(targets=("cpp",))) as compilers:
        yield compilers


@pytest.mark.parametrize(("text", "user", "told", "reason"), DECLARED.values(), ids=list(DECLARED))
def test_mend__a_declaration_that_does_not_compile__costs_itself_and_what_uses_it(
    compilers: SlangCompilers, tmp_path: Path, text: str, user: str, told: tuple[str, str], reason: str
) -> None:
    (tmp_path / "broken.slang").write_text("public Missing theirs(float x);\n", encoding="utf-8")
    path = tmp_path / "subject.slang"
    whole = f"{GOOD}{text}\n{user}\n{LATER}"
    path.write_text(whole, encoding="utf-8")
    mended = load_what_compiles(path, SlangSetting(compilers.reflect))
    declaration, function = sorted(mended.broken, key=lambda one: one.kind)
    assert (declaration.kind, declaration.name, declaration.failure.message) == ("declaration", *told)
    assert (function.name.rpartition(".")[2], function.failure.message) == ("uses", reason)
    imports = "import" in told[1] or "include" in told[1]
    outcomes = [CheckOutcome.NOT_COMPILED, CheckOutcome.NO_IMPORT if imports else CheckOutcome.NOT_COMPILED]
    assert [declaration.failure.outcome, function.failure.outcome] == outcomes
    assert whole.splitlines()[declaration.span.line - 1] in text.splitlines()
    assert [kernel.name for kernel in mended.module.kernels] == ["good", "later"]
    places = [whole.splitlines()[kernel.span.line - 1][kernel.span.column - 1 :] for kernel in mended.module.kernels]
    assert [place.partition("(")[0] for place in places] == ["good", "later"]


def test_mend__a_broken_struct_that_one_of_three_uses__leaves_two(checked: Checked) -> None:
    text = """
struct Params { Missing m; float k; }
struct Others : IDifferentiable { float k; }
[Differentiable] float uses(Params p, float x) { return p.k * x; }
[Differentiable] float others(Others p, float x) { return p.k * x; }
[Differentiable] float alone(float x) { float Params = x * x; return Params * x; }
"""
    results = checked(text, ".slang", samples=16)
    verdicts = {name: (one.kind, one.verdict) for name, one in results.items()}
    assert verdicts == {
        "Params": ("declaration", Verdict.FAIL),
        "uses": ("function", Verdict.FAIL),
        "others": ("function", Verdict.PASS),
        "alone": ("function", Verdict.PASS),
    }


def test_mend__an_operator_that_does_not_compile__costs_itself_and_what_uses_it(checked: Checked) -> None:
    text = """
struct V : IDifferentiable { float k; }
[Differentiable] V operator+(V a, V b) { return Missing; }
[Differentiable] V operator*(V a, V b) { V c = { a.k * b.k }; return c; }
[Differentiable] V operator-(V a, Missing b) { return a; }
[Differentiable] float adds(float x) { V v = { x }; return (v + v).k; }
[Differentiable] float takes(float x) { V v = { x }; return (v - v).k; }
[Differentiable] float times(float x) { V v = { x }; return (v * v).k; }
"""
    results = checked(text, ".slang", samples=16)
    assert results["operator+"].reason == f"it does not compile: {UNDEFINED}"
    assert results["operator-"].reason == f"it does not compile: {UNDEFINED}"
    assert results["adds"].reason == "it calls 'operator+', which does not compile"
    assert results["takes"].reason == "it calls 'operator-', which does not compile"
    assert results["times"].verdict is Verdict.PASS
    assert results["operator*"].verdict is Verdict.PASS


def test_mend__mistakes_in_declarations_and_functions__are_all_told(checked: Checked) -> None:
    text = """
struct S { Missing m; float k; }
static const float k = gone;
[Differentiable] float own(S s, float x) { return s.k * lost * x; }
[Differentiable] float both(S s, float x) { return s.k * k * x; }
"""
    results = checked(text + GOOD, ".slang", samples=16)
    assert results["own"].reason == "it does not compile: undefined identifier 'lost' [SA200]"
    assert results["both"].reason == "it uses 'S', which does not compile"
    assert results["k"].reason == "global k does not compile: undefined identifier 'gone' [SA200]"
    assert results["S"].reason == f"struct S does not compile: {UNDEFINED}"
    assert results["good"].verdict is Verdict.PASS


def test_mend__a_forward_derivative_that_does_not_compile__costs_its_function_too(checked: Checked) -> None:
    text = """
[Differentiable] [ForwardDerivative(cubed_fwd)] float cubed(float x) { return x * x * x; }
DifferentialPair<float> cubed_fwd(DifferentialPair<float> x) { return diffPair(gone, 3.0 * x.p * x.p * x.d); }
[Differentiable] float calls(float x) { return cubed(x) * x; }
"""
    results = checked(text + GOOD, ".slang", samples=16)
    assert results["cubed_fwd"].reason == "it does not compile: undefined identifier 'gone' [SA200]"
    assert results["cubed"].reason == "its derivative 'cubed_fwd' does not compile"
    assert results["calls"].reason == "it calls 'cubed', which does not compile"
    assert results["good"].verdict is Verdict.PASS


def test_mend__a_range_of_what_is_no_parameter__costs_only_its_line(checked: Checked) -> None:
    text = "\n// range: y 0 1\n[Differentiable] float bad(float x) { return x; }\n"
    results = checked(text + GOOD, ".slang", samples=16)
    assert {results["bad"].verdict, results["good"].verdict} == {Verdict.PASS}
    assert [r.reason[:28] for r in results.values() if r.verdict.bad] == ["there is no parameter 'y' [S"]


def test_mend__a_function_that_slang_dies_of_while_reading__costs_only_itself(checked: Checked) -> None:
    caller = "\n[Differentiable] float caller(float x) { return bad(x) * x; }\n"
    results = checked(CRASH + GOOD + caller, ".slang", samples=16)
    assert results["caller"].reason == "it calls 'bad', which does not compile"
    assert results["bad"].reason == "it does not compile: the Slang compiler crashes on it [SA240]"
    assert results["good"].verdict is Verdict.PASS
    assert results["S.m"].verdict is Verdict.PASS


def test_mend__nothing_left__names_what_does_not_compile(checked: Checked) -> None:
    (result,) = checked(GOOD.replace("x * x", "x * y"), ".slang", ranges=(("good.x", 0.0, 1.0),)).values()
    assert result.function == "good"
    assert result.verdict is Verdict.FAIL


def test_mend__only_what_compiles_is_asked_for__passes(checked: Checked, tmp_path: Path) -> None:
    (tmp_path / "near.slang").write_text("public float half_of(float x) { return 0.5 * x; }\n", encoding="utf-8")
    text = "import near;\n[Differentiable] float bad(float x) { return y; }\n" + GOOD
    assert {name: r.verdict for name, r in checked(text, ".slang", only=("good",)).items()} == {"good": Verdict.PASS}


def test_mend__a_function_without_a_float64_twin__costs_only_itself_and_its_callers(checked: Checked) -> None:
    text = """
[Differentiable] float packed(float x) { return x * float(no_diff packUnorm4x8(float4(x, x, x, x))); }
uint packs(float x) { return packUnorm4x8(float4(x)); }
[Differentiable] float calls(float x) { return x * float(no_diff packs(x)); }
[Differentiable] float bits(float x) { return x * x + x * float(asuint(x) & 1u); }
"""
    results = checked(text + GOOD, ".slang", samples=16)
    assert results["good"].verdict is Verdict.PASS
    assert {name for name, r in results.items() if r.verdict is Verdict.INCONCLUSIVE} == {"packed", "calls", "bits"}
    for name, line in (("packed", 2), ("calls", 3)):
        assert "no float64 twin of it: Slang: ambiguous call to 'packUnorm4x8'" in results[name].reason
        assert results[name].reason.endswith(f"(subject.slang:{line})")
    assert not results["packed"].failures
    assert "bits of floats" in results["bits"].reason


def test_mend__a_global_without_a_float64_twin__costs_only_what_uses_it(checked: Checked) -> None:
    text = """
static const uint packed = packHalf2x16(float2(1.0, 0.0));
[Differentiable] float uses(float x) { return x * float(packed); }
"""
    results = checked(text + GOOD, ".slang", samples=16)
    assert {name: one.verdict for name, one in results.items()} == {
        "uses": Verdict.INCONCLUSIVE,
        "good": Verdict.PASS,
    }
    assert "no float64 twin of it: Slang: ambiguous call" in results["uses"].reason


DEADLY = """
struct Pair : IDifferentiable { float a; float b; }
struct Twice : IDifferentiable { float a; property float twice { [Differentiable] get { return a * 2.0; } } }
[Differentiable] float right(Pair p, float x) { return p.a * p.b * x; }
[Differentiable] float uses(Twice t, float x) { return t.a * x; }
[BackwardDerivative(wrong_bwd)] [Differentiable] float wrong(float x) { return x * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3.0 * x.p * d); }
"""


def test_mend__a_declaration_that_slang_dies_of__costs_itself_and_what_uses_it(checked: Checked) -> None:
    results = checked(DEADLY, ".slang")
    verdicts = {name: result.verdict for name, result in results.items()}
    assert verdicts == {
        "right": Verdict.PASS, "Twice": Verdict.FAIL, "uses": Verdict.FAIL, "wrong": Verdict.FAIL
    }  # fmt: skip
    assert results["Twice"].reason == "struct Twice does not compile: the Slang compiler crashes on it [SA240]"
    assert "it uses 'Twice', which does not compile" in results["uses"].reason
    assert "a factor of 1.5" in results["wrong"].reason
