"""Slang files of which some functions don't compile: those fail by name, with their callers; the rest is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Leg, Verdict

if TYPE_CHECKING:
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
    "scaled": "undefined identifier 'y' [SA200]",
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


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    from slangad.compiler.check.session import CheckOptions, check
    from slangad.compiler.inputs import parse_inputs

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
        assert failure.reproduce.endswith(f"--only {name}")
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
    assert sorted(right) == sorted([*RIGHT, "scaled"])
    assert [r.span.line for r in results] == sorted(r.span.line for r in results)
    assert len(results) == len(UNCOMPILED) + len(USERS) + len(right) + 1  # and a generic one, skipped


@pytest.mark.parametrize(
    "text",
    [
        "struct S { Missing m; }\n",
        "static const float k = missing;\n",
        "import missing;\n",
        "float f(float x) { { return x; }\n",
    ],
)
def test_mend__an_error_outside_functions__fails_the_file(checked: Checked, text: str) -> None:
    (result,) = checked(text + GOOD, ".slang").values()
    assert result.verdict is Verdict.FAIL
    assert not result.function


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
    assert results["packed"].reason.startswith("it has no float64 twin: ambiguous call to 'packUnorm4x8'")
    assert results["calls"].reason.startswith("it calls 'packs', which has no float64 twin: ambiguous call")
    assert not results["packed"].failures
    assert "bits of floats" in results["bits"].reason
