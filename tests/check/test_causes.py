"""Likely causes: what the wrong entries have in common, whatever the right ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.verdict.explain.callers import _roots
from slangad.compiler.report.model import NoteKind, Verdict
from slangad.compiler.runtime.device.cxx import _knows_fast, find_cxx

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

TEXT = """
import slangad as sa


@sa.differentiable
def steep(x: float) -> float:
    return sa.exp(20.0 * x)


@steep.backward
def steep_bwd(x, d_out):
    g = 20.0 * sa.exp(20.0 * x)
    if x < -0.84:
        g = -3.0 * g
    return g * d_out


@sa.differentiable(ranges={"x": (0.001, 1.0)})
def edge(x: float) -> float:
    return 1.0 / (x * x)


@edge.backward
def edge_bwd(x, d_out):
    g = -2.0 / (x * x * x)
    if x > 0.95:
        g = g * 1.001
    return g * d_out


@sa.differentiable
def close(x: float) -> float:
    return x * x * x


@close.backward
def close_bwd(x, d_out):
    return 3.000006 * x * x * d_out


@sa.differentiable
def jumps(x: float) -> float:
    return x if x > 0.5 else x - 1.0
"""


HUBER = """
// range: r -1 1
[BackwardDerivative(huber_bwd)]
float huber(float r, no_diff float k)
{
    float a = abs(r);
    return a <= k ? 0.5 * r * r : k * (a - 0.5 * k);
}

void huber_bwd(inout DifferentialPair<float> r, float k, float d)
{
    r = diffPair(r.p, clamp(r.p, -k, k) * d);
}
"""


def test_check__wrong_for_one_sign_of_inputs__says_so_with_the_remedy(checked: Checked) -> None:
    (failure,) = checked(HUBER, ".slang")["huber"].failures
    (said,) = (note for note in failure.notes if "k < 0" in note)
    assert said.endswith(" wrong samples have r < 0 and k < 0: declare ranges if that never happens")
    with_range = HUBER.replace("// range: r -1 1", "// range: r -1 1\n// range: k 0.01 1")
    assert checked(with_range, ".slang")["huber"].verdict is Verdict.PASS


SEGMENT = """
void clip_bwd(inout DifferentialPair<float2> v, float d) { v = diffPair(v.p, d * clamp(v.p, -100.0, 0.001)); }
[BackwardDerivative(clip_bwd)] float square(float2 v) { return 0.5 * dot(v, v); }

[Differentiable] float segment(float2 p, float2 a, float2 b)
{
    float t = dot(p - a, b - a) / dot(b - a, b - a);
    return square(p - a - (b - a) * clamp(t, 0.0, 1.0));
}
"""


def test_check__not_finite_at_a_degenerate_input__is_not_the_cause_of_what_is_wrong_elsewhere(checked: Checked) -> None:
    failures = checked(SEGMENT, ".slang", only=("segment",))["segment"].failures
    wrong = [failure for failure in failures if failure.verdict is Verdict.FAIL and "is wrong" in failure.message]
    assert wrong
    assert all("not a number" not in failure.cause for failure in wrong)
    assert any(failure.verdict is Verdict.UNGUARDED for failure in failures)


LINEAR = """
void bounded_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, clamp(3.0 * x.p * x.p * d, -8.0, 8.0)); }
[BackwardDerivative(bounded_bwd)] float bounded(float x) { return x * x * x; }
[Differentiable] float twice(float x) { return 2.0 * bounded(x); }
"""


def test_check__not_linear_without_forward_mode__does_not_say_that_modes_disagree(checked: Checked) -> None:
    results = checked(LINEAR, ".slang")
    messages = [failure.message for failure in results["bounded"].failures]
    assert messages
    assert all(message.startswith("reverse mode is not linear") for message in messages)
    (alone,) = checked(LINEAR, ".slang", only=("twice",))["twice"].failures
    assert alone.message.startswith("reverse mode is not linear")
    assert "so forward mode of its callers" not in alone.cause


CALLEE = """
float bump(float x, float k) { return k * x * x; }
[BackwardDerivativeOf(bump)] void bump_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> k, float d)
{
    x = diffPair(x.p, 2.0 * k.p * x.p * d);
    k = diffPair(k.p, x.p * d);
}
"""
CALLER = """
import slangad as sa

bump = sa.extern("bump", "bump.slang", "(x: float, k: float) -> float", differentiable=True)


@sa.kernel
def fit(x: sa.Each[float], k: sa.Param[float]) -> sa.Sum[float]:
    return bump(x, k)
"""


def test_check__a_kernel_that_calls_wrong_slang__names_the_function_and_its_file(
    checked: Checked, tmp_path: Path
) -> None:
    (tmp_path / "bump.slang").write_text(CALLEE, "utf-8")
    failures = checked(CALLER, ".py", samples=24)["fit"].failures
    assert failures
    for failure in failures:
        (note,) = (note for note in failure.notes if note.startswith("it calls bump of "))
        assert note.endswith("bump.slang' checks it")


def test_check__wrong_at_some_samples__names_the_factor_of_those(checked: Checked) -> None:
    results = checked(TEXT)
    causes = {name: result.failures[0].cause for name, result in results.items() if result.failures}
    assert causes["steep"].startswith("a factor of -3 at some samples")
    assert causes["edge"].startswith("a factor of 1.001 at some samples")
    assert causes["close"].startswith("a factor of 1.00000")
    told = [note.message for note in results["close"].notes if note.kind is NoteKind.SAMPLES]
    assert any("not looked at closely" in text for text in told)
    assert results["jumps"].verdict is Verdict.KINK_OK
    assert results["jumps"].reason == "right; 1 jump, where there is nothing to compare with"


def test_roots__functions_that_explain_each_other__have_the_first_one() -> None:
    assert _roots({2: [1], 1: [2], 3: [1], 4: [5], 5: []}) == {1, 5}


NEVER_STORED = """
[BackwardDerivative(whole_bwd)] float whole(float x, float y, float3 v, float a[2]) { return x * x; }
void whole_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, inout DifferentialPair<float3> v,
               inout DifferentialPair<float[2]> a, float d)
{
    float z;
    float3 w;
    float b[2];
    x = diffPair(x.p, 2.0 * x.p * d);
    y = diffPair(y.p, z);
    v = diffPair(v.p, w);
    a = diffPair(a.p, b);
}

[BackwardDerivative(branch_bwd)] float branch(float x) { return x > 0.5 ? x * x : 0.0; }
void branch_bwd(inout DifferentialPair<float> x, float d)
{
    float z;
    if (x.p > 0.5)
        z = 2.0 * x.p * d;
    x = diffPair(x.p, z);
}

[BackwardDerivative(parts_bwd)] float parts(float3 v) { return v.x * v.y; }
void parts_bwd(inout DifferentialPair<float3> v, float d)
{
    float3 w;
    w.x = v.p.y * d;
    w.y = v.p.x * d;
    v = diffPair(v.p, w);
}

[BackwardDerivative(empty_bwd)] float empty(float x, float y, float3 v) { return x * x; }
void empty_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, inout DifferentialPair<float3> v,
               float d)
{
    float z = {};
    float3 w = {};
    x = diffPair(x.p, 2.0 * x.p * d);
    y = diffPair(y.p, z);
    v = diffPair(v.p, w);
}
"""


def test_check__a_derivative_reads_a_variable_that_is_never_stored__fails_where_0_is_right(checked: Checked) -> None:
    results = checked(NEVER_STORED, ".slang", samples=16)
    assert results["empty"].verdict is Verdict.PASS
    compiler = find_cxx()
    assert compiler is not None
    wrong = {"whole": "y"} | ({"branch": "x", "parts": "v.z"} if _knows_fast(compiler) else {})
    for name, column in wrong.items():
        failure = results[name].failures[0]
        assert (results[name].verdict, failure.column, failure.expected) == (Verdict.FAIL, column, 0.0)
        assert failure.cause == "a local variable is read that this path never stores"
