"""Every way in which hand-written Slang gets a wrong gradient without a word: each is caught and named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.check.verdict.explain.traps import with_traps
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.errors.spans import Span
from slangad.compiler.report.model import Failure, Leg, LegState, Result, Verdict
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from check.conftest import Checked

FILE = Path(__file__).parent / "slang" / "traps.slang"
NOTHING = "no gradient reaches this input"
TRAPS = {
    "equal_indices": (Leg.REVERSE, "v.", "at some samples", "line 7: v[i & 3] and v[j & 3] may be one element"),
    "remainder_of": (Leg.REVERSE, "y", NOTHING, "line 27: fmod has no gradient for its second argument"),
    "square_by_pow": (Leg.REVERSE, "x", NOTHING, "line 34: the gradients of pow(abs(x) * 1e-7, 2.0) are 0"),
    "smooth_step_of_min": (Leg.REVERSE, "x", "at some samples", "line 210: if the arguments of min are equal at this"),
    "short_length": (Leg.REVERSE, "v.", "term", "line 41: the gradient of length is clamped"),
    "small_root": (Leg.REVERSE, "x", "term", "line 48: the gradient of sqrt is clamped"),
    "small_reciprocal": (Leg.REVERSE, "x", "term", "line 174: the gradient of rcp is clamped"),
    "short_distance": (Leg.REVERSE, "", "term", "line 182: the gradient of distance is clamped"),
    "short_direction": (Leg.REVERSE, "v.", "term", "line 189: the gradient of normalize is clamped"),
    "square_left_of_two": (Leg.REVERSE, "x", NOTHING, "line 196: the gradients of pow(x - 2.0, 2.0) are 0"),
    "forgets_y": (Leg.REVERSE, "y", NOTHING, "line 73: 'forgets_y_bwd' never stores 'y'"),
    "scalar_leaves_loop": (Leg.REVERSE, "background.", NOTHING, "line 113: background * t"),
    "acos_of_clamp": (Leg.FORWARD, "x", "not a number", "line 120: acos of a clamped value"),
    "sign_in_reverse": (Leg.REVERSE, "x", "the sign is wrong", ""),
    "factor": (Leg.REVERSE, "x", "a factor of 1.001", ""),
    "swapped": (Leg.REVERSE, "x", "it is the gradient of y: swapped arguments", ""),
    "transposed": (Leg.REVERSE, "m[", "it is the gradient of m[", ""),
}
"""Where it shows, in which input, what the numbers and the text tell; Slang is not to blame for the last four."""

DISGUISED = {
    "energy": (Leg.REVERSE, "line 7: w[p % 5] and w[q % 5] may be one element"),
    "climbs": (None, "line 28: if the loop runs more iterations than [MaxIters(3)] declares"),
    "wrapped": (Leg.REVERSE, "line 47: fmod has no gradient for its second argument"),
    "lobe": (Leg.REVERSE, "line 56: the gradients of pow(dot(a, b), 3.0) are 0"),
    "gap_of_points": (Leg.REVERSE, "line 69: the gradient of length is clamped"),
    "glow": (Leg.REVERSE, "line 99: 'glow_back' never stores 'away'"),
    "average": (Leg.REVERSE, "line 133: total / count"),
    "tinted": (Leg.REVERSE, "line 148: shade - colour"),
    "tilt": (Leg.FORWARD, "line 157: asin of a clamped value"),
    "folded": (None, "line 173: this loop is nested in the loop of line 171"),
    "phase": (Leg.REVERSE, "line 216: fmod has no gradient"),
    "ring": (Leg.REVERSE, "line 233: w[next] stands in a loop and a branch gives its index"),
    "started": (Leg.FORWARD, "line 195: 'at' begins as numbers and has parts stored before a branch"),
    "forked": (Leg.PRIMAL, "line 255: parts of 't' are stored, and 'p' of the same type too, where branches"),
    "bounce": (Leg.REVERSE, "line 275: parts of 'at' are stored, and 'pace' of the same type too"),
    "layered": (Leg.FORWARD, "line 306: parts of 'over' are stored, and 'under' of the same type too"),
    "mirrored": (Leg.REVERSE, "line 330: parts of 'w' are stored, and 'far' of the same type too"),
    "folding": (Leg.REVERSE, "line 354: parts of 'tip' are stored, and all of it too"),
    "mixing": (Leg.REVERSE, "line 374: fmod has no gradient for its second argument"),
    "turned": (Leg.REVERSE, "line 376: the gradients of pow(a.im - 2.0, 2.0) are 0"),
}


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return by_name(check(parse_inputs([str(FILE)]), CheckOptions()))


@pytest.mark.parametrize("name", TRAPS)
def test_check__a_trap_of_slang__is_caught_and_named(results: dict[str, Result], name: str) -> None:
    leg, column, cause, trap = TRAPS[name]
    result = results[name]
    assert result.verdict is Verdict.FAIL
    (failure,) = (f for f in result.failures if f.leg is leg)
    assert failure.column.startswith(column)
    assert cause in failure.cause
    assert trap in failure.cause
    assert ("Slang's trap" in failure.cause) is ("Remedy" in failure.cause) is bool(trap)
    assert failure.sample is not None
    assert failure.curve is not None
    assert failure.reproduce.endswith(f"--only {name}")


def test_check__a_struct_that_is_not_differentiable__is_named(results: dict[str, Result]) -> None:
    result = results["passive_struct"]
    assert result.verdict is Verdict.FAIL
    assert "Passive is not IDifferentiable" in result.failures[0].cause
    line = FILE.read_text(encoding="utf-8").splitlines()[result.failures[0].span.line - 1]
    assert line.startswith("struct Passive")


def test_check__a_loop_bound_that_is_too_small__is_caught(results: dict[str, Result]) -> None:
    """What comes out is up to what lies beside the memory that reverse mode overruns, so not which leg disagrees."""
    result = results["bound_too_small"]
    assert result.verdict is Verdict.FAIL
    assert "line 17: if the loop runs more iterations than [MaxIters(4)] declares" in result.failures[0].cause


@pytest.mark.parametrize(
    "name", ["right", "backward_alone", "casts", "half_right", "calls_backward_alone", "detaches", "passive_inside"]
)
def test_check__a_right_function_beside_traps__is_not_accused(results: dict[str, Result], name: str) -> None:
    assert results[name].verdict.good, results[name].reason


def test_check__only_a_backward_derivative__says_that_forward_is_missing(results: dict[str, Result]) -> None:
    notes = [note.message for note in results["backward_alone"].notes]
    assert any("forward mode is not checked" in note for note in notes)
    missing = {leg.leg: leg.detail for leg in results["calls_backward_alone"].legs if leg.state is LegState.MISSING}
    assert missing == {Leg.FORWARD: "not available: custom backward of backward_alone"}


def test_check__a_cotangent_that_is_ignored__names_the_leg(results: dict[str, Result]) -> None:
    (failure,) = results["ignores_cotangent"].failures
    assert failure.leg is Leg.TRANSPOSE
    assert failure.cotangent
    assert failure.cause == "the cotangent is not used: the gradient is the one for a cotangent of 1"


@pytest.fixture(scope="module")
def disguised() -> dict[str, Result]:
    options = CheckOptions(samples=16, run_limit=8.0)
    return by_name(check(parse_inputs([str(FILE.with_name("disguised.slang"))]), options))


@pytest.mark.parametrize("name", DISGUISED)
def test_check__a_trap_in_other_clothes__is_named_and_its_remedy_is_right(
    disguised: dict[str, Result], name: str
) -> None:
    leg, trap = DISGUISED[name]
    result = disguised[name]
    assert result.verdict is Verdict.FAIL
    failure = next(f for f in result.failures if leg in (None, f.leg))
    assert f"Slang's trap, {trap}" in failure.cause
    assert "Remedy: " in result.reason
    assert disguised[f"{name}_mended"].verdict.good, disguised[f"{name}_mended"].reason


@pytest.mark.parametrize("name", ["uses_bent", "weighted", "struck"])
def test_check__a_declared_end_of_a_gradient__is_not_accused(disguised: dict[str, Result], name: str) -> None:
    assert disguised[name].verdict.good, disguised[name].reason


def test_traps__text_that_lacks_something__is_looked_at_all_the_same(tmp_path: Path) -> None:
    """The text may have parts that are never compiled, whatever they are."""
    words = [token.text for token in read_text(FILE.with_name("disguised.slang").read_text("utf-8")).tokens]
    failure = Failure(Leg.REVERSE, Verdict.FAIL, "wrong", found=0.0)
    for number, left_out in enumerate(range(0, len(words), 41)):
        path = tmp_path / f"{number}.slang"
        path.write_text(" ".join([*words[:left_out], *words[left_out + 1 :]]), encoding="utf-8")
        span = Span(str(path), 1, 20 * number + 1, 1, 20 * number + 2)
        result = Result(str(path), "f", "function", Verdict.FAIL, span, reason="wrong", failures=(failure,))
        assert with_traps(result, (str(path),)).verdict is Verdict.FAIL


NESTS = ((8, 2), (4, 8), (5, 5))
NEST = """
[Differentiable]
float nest_{outer}_{inner}(float x, float k, uint n, uint m)
{{
    float s = x;
    [MaxIters({outer})]
    for (uint a = 0; a < n; ++a)
    {{
        [MaxIters({inner})]
        for (uint b = 0; b < m; ++b)
            s = sin(k * s + 0.5);
    }}
    return s;
}}
"""


@pytest.mark.parametrize(("outer", "inner"), NESTS)
def test_check__loops_in_loops__are_wrong_on_the_cpu_too_unless_they_have_one_bound(
    checked_once: Checked, outer: int, inner: int
) -> None:
    text = "".join(NEST.format(outer=one, inner=other) for one, other in NESTS)
    line = 7 + NEST.count("\n") * NESTS.index((outer, inner))
    result = checked_once(text, ".slang", samples=32, run_limit=4.0)[f"nest_{outer}_{inner}"]
    assert result.verdict.good is (outer == inner)
    assert (f"nested in the loop of line {line}" in result.reason) is (outer != inner)


def test_check__hand_written_slang_that_is_right__accuses_none() -> None:
    options = CheckOptions(specialize=("cube<float>",))
    results = by_name(check(parse_inputs([str(FILE.with_name("right.slang"))]), options))
    assert len(results) >= 22
    assert not {name: result.reason for name, result in results.items() if not result.verdict.good}


NAMED = """
float edge() { return sqrt(0.3); }
[BackwardDerivative(own_bwd)] [Differentiable] float own(float x) { return length(float2(x, x + 2.0)); }
void own_bwd(inout DifferentialPair<float> x, float d)
{ float l = length(float2(x.p, x.p + 2.0)); x = diffPair(x.p, d * (x.p > edge() ? 2.0 : 2.0 * x.p + 2.0) / l); }
[Differentiable] float4 sum_over_weight(float4 v, int n)
{
    float4 s = float4(0); float w = 0.0;
    [MaxIters(4)] for (int k = 0; k < n; ++k) { s += v * float(k); w += v.x * v.x + 1.0; }
    return s / w;
}
[Differentiable] float gathers(float v[4], int id[3])
{ float s = 1.0; [ForceUnroll] for (int k = 0; k < 3; ++k) s *= v[id[k]]; return s; }
[Differentiable] float bits(float x) { return asfloat(asuint(x)) * x + 0.0001; }
"""


def test_check__traps_that_look_like_others__are_named_for_what_they_are(checked: Checked) -> None:
    results = checked(NAMED, ".slang")
    causes = {name: result.failures[0].cause for name, result in results.items()}
    assert "Slang's trap" not in causes["own"]
    assert "line 10: s / w: reverse mode loses a gradient" in causes["sum_over_weight"]
    assert "MaxIters" not in causes["sum_over_weight"]
    assert "line 13: v[id[k]] of two iterations may be one element" in causes["gathers"]
    assert "line 14: asfloat ends the gradient" in causes["bits"]


OPERATORS = """
struct Wave : IDifferentiable { float re; float im; }
struct Layer : IDifferentiable { float k; }
typealias Level = Layer;
struct Scene : IDifferentiable { Wave wave; }
[Differentiable] Wave operator+(Wave a, Wave b) { return Wave(a.re + b.re, fmod(a.im + 3.0, abs(b.im) + 0.3)); }
[BackwardDerivative(product_bwd)] [Differentiable]
Layer operator*(Layer a, Layer b) { return Layer(a.k * b.k); }
void product_bwd(inout DifferentialPair<Layer> a, inout DifferentialPair<Layer> b, Layer.Differential d)
{ a = diffPair(a.p, { d.k * b.p.k }); }
[Differentiable] Layer operator*(Layer a, float b) { return Layer(pow(a.k - 2.0, 2.0) * b); }
[Differentiable] float by_field(Scene s) { let both = s.wave + s.wave; return both.im; }
[Differentiable] float forgets(float x, float y) { Level z = Level(x) * Level(y); return z.k; }
[Differentiable] float scaled(float x, float y) { return (Layer(x) * y).k; }
[Differentiable] float of_floats(float x, float y) { return fmod(1.0, abs(x) + 0.3) * x + y; }
"""


def test_check__a_power_that_changes_forward_mode_s_value__is_the_first_trap(checked: Checked) -> None:
    text = """
[Differentiable] float norm(float2 v)
{
    float2 root = pow(v * v + float2(1e-9), float2(0.3));
    return length(v) + dot(root, root) + root.x;
}
"""
    failures = checked(text, ".slang")["norm"].failures
    assert {failure.leg for failure in failures} >= {Leg.REVERSE, Leg.PRIMAL}
    for failure in failures:
        assert failure.cause.partition("Slang's trap, ")[2].startswith("line 4: the gradients of pow(")


def test_check__operators_of_several_types__names_those_that_may_be_used(checked: Checked) -> None:
    results = checked(OPERATORS, ".slang")
    causes = {name: result.failures[0].cause for name, result in results.items() if result.failures}
    assert "line 6: fmod has no gradient" in causes["by_field"]
    assert "line 9: 'product_bwd' never stores 'b'" in causes["forgets"]
    assert "line 11: the gradients of pow(a.k - 2.0, 2.0) are 0" in causes["scaled"]
    assert "line 15: fmod has no gradient" in causes["of_floats"]
    assert "line 6" not in causes["of_floats"]


CONFUSABLE = """
[Differentiable] float apart(float x)
{
    float2 p = float2(x), t = float2(x, 2.0);
    if (x > 0.1) { t.x -= 1.5; }
    if (x > 0.3) { p *= fmod(1.0, abs(x) + 0.3); }
    return t.x + p.x;
}
[Differentiable] float inner(float x)
{
    float2 t = float2(x, 2.0);
    for (int k = 0; k < 3; ++k) { float2 p = t * fmod(1.0, abs(x) + 0.3); p.y += 1.0; t = p.yx; }
    return t.x + t.y;
}
[Differentiable] float of_two_types(float x)
{
    float3 p = float3(x); float2 t = float2(x, 2.0);
    if (x > 0.1) { t.x -= 1.5; p *= fmod(1.0, abs(x) + 0.3); }
    return t.x + p.x;
}
"""


@pytest.mark.parametrize("name", ["apart", "inner", "of_two_types"])
def test_check__variables_that_do_not_meet__are_not_called_confused(checked_once: Checked, name: str) -> None:
    failure = checked_once(CONFUSABLE, ".slang")[name].failures[0]
    assert "fmod has no gradient" in failure.cause
    assert "parts of" not in failure.cause
