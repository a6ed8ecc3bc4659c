"""Verdicts besides right and wrong gradients: what can't be read, compiled, run or decided; the rest goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.report.model import Leg, LegState, NoteKind, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

GOOD = """
[Differentiable]
float good(float x) { return x * x; }
"""
HEAD_OF_KERNELS = """
import slangad as sa
from slangad import Each, Param, Sum

"""


def test_check__a_slang_function_that_crashes_the_compiler__is_named_and_the_others_checked(checked: Checked) -> None:
    results = checked(
        GOOD
        + """
[Differentiable]
float crashes(float x, int n)
{
    float s = x;
    int k = 0;
    [MaxIters(8)]
    while (k < n && s < 10.0)
    {
        s = s * 1.5;
        k++;
    }
    return s;
}
""",
        ".slang",
    )
    assert results["good"].verdict is Verdict.PASS
    assert results["crashes"].verdict is Verdict.FAIL
    assert results["crashes"].failures[0].leg is Leg.COMPILE
    assert "crashes" in results["crashes"].reason


def test_check__a_slang_function_that_hangs_the_compiler__is_named_and_the_others_checked(checked: Checked) -> None:
    recursive = "\n[Differentiable]\nfloat again(float x) { if (x > 1.0) return again(x * 0.5); return x; }\n"
    results = checked(GOOD + recursive, ".slang", time_limit=4.0)
    assert results["good"].verdict is Verdict.PASS
    assert results["again"].verdict is Verdict.FAIL
    assert results["again"].failures[0].leg is Leg.COMPILE


def test_check__slang_that_does_not_compile__fails_with_the_reason(checked: Checked) -> None:
    (result,) = checked("[Differentiable]\nfloat f(float x) { return y; }\n", ".slang").values()
    assert result.verdict is Verdict.FAIL
    assert "undefined identifier" in result.reason
    assert result.span.line == 2


def test_check__slang_without_differentiable_functions__is_skipped(checked: Checked) -> None:
    (result,) = checked("float f(float x) { return x; }\n", ".slang").values()
    assert result.verdict is Verdict.SKIPPED
    assert not result.fails(strict=False)
    assert result.fails(strict=True)


def test_check__a_generic_function__is_checked_as_an_instance(checked: Checked) -> None:
    text = GOOD + "\n[Differentiable]\nT twice<T : __BuiltinFloatingPointType>(T x) { return x + x; }\n"
    results = checked(text, ".slang")
    assert results["twice<float>"].verdict is Verdict.PASS


def test_check__nan_everywhere__is_not_a_pass(checked: Checked) -> None:
    text = "import slangad as sa\n\n\n@sa.differentiable\ndef f(x: float) -> float:\n    return sa.sqrt(-1.0 - x * x)\n"
    result = checked(text)["f"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "not finite at any sample" in result.reason
    assert result.counts.not_finite == result.counts.drawn


FEW = "[Differentiable]\nfloat f(float x) { return x > 0.99 ? x : sqrt(-1.0 - x * x); }\n"


def test_check__nan_nearly_everywhere__is_not_a_pass(checked: Checked) -> None:
    result = checked(FEW, ".slang")["f"]
    assert 0 < result.counts.compared < 8
    assert result.verdict is Verdict.INCONCLUSIVE
    told = f"only {result.counts.compared} of {result.counts.drawn} samples could be compared"
    remedy = "declare ranges where it is (--range f.x=LO:HI)"
    assert result.reason == f"{told}, it is not finite at {result.counts.not_finite}: {remedy}"


def test_check__too_few_samples_of_which_enough_are_finite__asks_for_more(checked: Checked) -> None:
    text = "[Differentiable]\nfloat f(float x) { return sqrt(x - 0.75); }\n"
    result = checked(text, ".slang", samples=20)["f"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "take more samples (--samples " in result.reason
    number = int(result.reason.partition("--samples ")[2].partition(")")[0])
    assert checked(text, ".slang", samples=number)["f"].verdict is Verdict.PASS


def test_check__nan_nearly_everywhere_with_the_range_that_is_asked_for__passes(checked: Checked) -> None:
    assert checked("// range: x 1 4\n" + FEW, ".slang")["f"].verdict is Verdict.PASS


@pytest.mark.parametrize("product", ["log(x) * log(y)", "log(x) * log(y) * log(z)"])
def test_check__finite_at_an_eighth_of_the_samples__passes(checked: Checked, product: str) -> None:
    result = checked(f"[Differentiable]\nfloat f(float x, float y, float z) {{ return {product}; }}\n", ".slang")["f"]
    assert result.verdict is Verdict.PASS


def test_check__nan_only_in_the_gradient__fails(checked: Checked) -> None:
    text = """
[BackwardDerivative(f_bwd)]
[Differentiable]
float f(float x) { return x * x; }
void f_bwd(inout DifferentialPair<float> x, float d_out) { x = diffPair(x.p, log(x.p) * d_out); }
"""
    result = checked(text, ".slang")["f"]
    assert result.verdict is Verdict.FAIL
    assert "not a number" in result.reason


def test_check__nan_at_a_kink__is_no_subgradient(checked: Checked) -> None:
    head = 'import slangad as sa\n\n\n@sa.differentiable(ranges={"x": (-1.0, 1.0)})\n'
    text = head + "def f(x: float) -> float:\n    return sa.sqrt(x * x)\n"
    result = checked(text)["f"]
    assert result.verdict is Verdict.KINK_BAD
    assert result.failures[0].bounds == pytest.approx((-1.0, 1.0), abs=1e-6)
    assert np.isnan(result.failures[0].found)


def test_check__a_derivative_that_stores_far_outside__is_a_failure_of_that_function(checked: Checked) -> None:
    text = (
        GOOD
        + """
[Differentiable]
[BackwardDerivative(wild_bwd)]
float wild(float a[4], int i) { return a[i & 3]; }
void wild_bwd(inout DifferentialPair<float[4]> a, int i, float d_out)
{
    float g[4] = { 0, 0, 0, 0 };
    g[(i + 1) * 500000000] = d_out;
    a = diffPair(a.p, g);
}
"""
    )
    results = checked(text, ".slang")
    assert results["good"].verdict is Verdict.PASS
    assert results["wild"].verdict is Verdict.FAIL
    assert "crashes" in results["wild"].reason


def test_check__a_struct_with_nothing_to_differentiate__is_no_failure(checked: Checked) -> None:
    text = """
struct Tri : IDifferentiable { int a; int b; }
[Differentiable] float area(float v, Tri t) { return v * v * float(t.a + t.b); }
[Differentiable] float alike(float v, no_diff Tri t) { return v * v * float(t.a + t.b); }
"""
    results = checked(text, ".slang")
    assert results["alike"].verdict is Verdict.PASS
    assert results["area"].verdict is Verdict.PASS


def test_check__a_loop_beyond_its_bound__fails_with_the_cause(checked: Checked) -> None:
    text = """
import slangad as sa


@sa.differentiable(ranges={"n": (0, 9)})
def f(x: float, n: int) -> float:
    for i in sa.range(n, max_iters=8):
        x = x * x + 0.5
    return x


@sa.differentiable(ranges={"n": (0, 8)})
def g(x: float, n: int) -> float:
    return f(x, n)


@sa.differentiable(ranges={"n": (9, 9)})
def h(x: float, n: int) -> float:
    return f(x, n)
"""
    results = checked(text)
    for name in ("f", "h"):
        assert results[name].verdict is Verdict.FAIL
        (failure,) = results[name].failures
        assert failure.leg is Leg.BOUND
        assert failure.message.startswith("the loop in line 7 runs longer than its bound")
        assert failure.sample is not None
        assert failure.sample.inputs[-1].value == 9
    assert results["g"].verdict is Verdict.PASS


def test_check__pure_noise_of_cancellation__is_undecided_rather_than_wrong(checked: Checked) -> None:
    text = (
        "import slangad as sa\n\n\n@sa.differentiable(ranges={'x': (1e-6, 1e-5)})\n"
        "def f(x: float) -> float:\n    return (1.0 - sa.cos(x)) / (x * x)\n"
    )
    assert checked(text)["f"].verdict is Verdict.INCONCLUSIVE


def test_check__imprecise_in_float32_only__says_so(checked: Checked) -> None:
    text = (
        "import slangad as sa\n\n\n@sa.differentiable\n"
        "def f(x: float) -> float:\n    return sa.exp(300.0 * x * x + 10.0) / sa.exp(300.0 * x * x)\n"
    )
    result = checked(text)["f"]
    assert result.verdict is Verdict.PRECISION
    assert next(leg for leg in result.legs if leg.leg is Leg.REVERSE).state is LegState.AGREES


def test_check__same_seed__gives_the_same_numbers(checked: Checked) -> None:
    text = (
        "import slangad as sa\n\n\n@sa.differentiable\ndef f(x: float, y: float) -> float:\n    return sa.sin(x) * y\n"
    )
    first, second, third = (checked(text, seed=seed)["f"] for seed in (3, 3, 4))
    assert first.samples == second.samples
    assert first.samples != third.samples


def test_check__declared_ranges__hold_and_the_command_line_wins(checked: Checked) -> None:
    text = (
        "// range: x 2 3\n// range: v.y 5 6\n[Differentiable]\nfloat f(float x, float2 v) { return x * v.x * v.y; }\n"
    )
    result = checked(text, ".slang", ranges=(("f.v.x", -9.0, -8.0),))["f"]
    spans = {"x": (2, 3), "v.x": (-9, -8), "v.y": (5, 6)}
    for sample in result.samples:
        for value in sample.inputs:
            low, high = spans[value.path]
            assert low <= value.value <= high


def test_check__a_cut_gradient__says_what_it_was_held_against(checked: Checked) -> None:
    text = "import slangad as sa\n\n\n@sa.differentiable\ndef f(x: float) -> float:\n    return x * sa.no_diff(x)\n"
    result = checked(text)["f"]
    assert result.verdict is Verdict.PASS
    intent, stop = result.notes
    assert intent.kind is NoteKind.INTENT
    assert stop.kind is NoteKind.STOP
    x = next(sample.inputs[0].value for sample in result.samples if sample.number == stop.sample)
    assert f"d result / d x is {2 * x:.4g}"[:-1] in stop.message
    assert f"declared to be {x:.4g}"[:-1] in stop.message


def test_check__a_conversion_to_int__is_named_as_the_end_of_a_gradient(checked: Checked) -> None:
    text = (
        "import slangad as sa\n\n\n@sa.differentiable\ndef f(x: float) -> float:\n    return x + float(int(x * 4.0))\n"
    )
    notes = [note.message for note in checked(text)["f"].notes if note.kind is NoteKind.STOP]
    assert notes == ["the conversion to int in line 6 ends the gradient"]


KERNELS = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Sum, Uniform


@sa.kernel
def fitted(x: Each[float], target: NoDiff[Each[float]], k: Param[float], s: Uniform[float]) -> Sum[float]:
    r = x * k * s - target
    return r * r


@sa.kernel
def numbered(x: Each[float]) -> Mean[float]:
    return x * x * float(sa.thread_id(0))


@sa.kernel
def probed(x: Each[float]) -> Each[float]:
    return sa.probe("square", x * x) * x


@sa.kernel
def fixed(x: NoDiff[Each[float]]) -> Each[float]:
    return x * 2.0
"""


def test_check__kernels__are_checked_as_functions_of_one_thread(checked: Checked) -> None:
    results = checked(KERNELS)
    assert [result.kind for result in results.values()] == ["kernel"] * 4
    for name in ("fitted", "numbered", "probed"):
        assert results[name].verdict is Verdict.PASS, results[name].reason
    (sample, *_) = results["fitted"].samples
    assert sample.jacobian is not None
    assert sample.jacobian.columns == ("x", "k")
    assert results["fixed"].verdict is Verdict.SKIPPED
    assert "gradient" in results["fixed"].reason


@pytest.mark.parametrize(
    ("forward", "states"),
    [
        ("3.0", {Leg.REVERSE: "disagrees", Leg.FORWARD: "agrees", Leg.TRANSPOSE: "disagrees"}),
        ("6.0", {Leg.REVERSE: "disagrees", Leg.FORWARD: "disagrees", Leg.TRANSPOSE: "agrees"}),
    ],
)
def test_check__modes_that_differ_where_one_is_wrong__are_not_said_to_agree(
    checked: Checked, forward: str, states: dict[Leg, str]
) -> None:
    result = checked(
        f"""
[BackwardDerivative(f_b)] [ForwardDerivative(f_f)] [Differentiable] float f(float x) {{ return x * x * x; }}
void f_b(inout DifferentialPair<float> x, float d) {{ x = diffPair(x.p, 6.0 * x.p * x.p * d); }}
DifferentialPair<float> f_f(DifferentialPair<float> x)
{{
    return diffPair(x.p * x.p * x.p, {forward} * x.p * x.p * x.d);
}}
""",
        ".slang",
    )["f"]
    assert {leg.leg: leg.state.value for leg in result.legs if leg.leg in states} == states
    assert [failure.leg for failure in result.failures] == [Leg.REVERSE]


def test_check__threads_numbers__are_such_as_a_launch_has(checked: Checked) -> None:
    text = (
        HEAD_OF_KERNELS
        + """
@sa.kernel
def quarters(x: Each[float]) -> Each[float]:
    s = 0.0
    for j in sa.range(sa.thread_id(0) * 4 // sa.thread_count(0), max_iters=4):
        s = s + x * x
    return s


@sa.kernel(dims=3)
def fog(x: Each[float], s: Each[float]) -> Each[float]:
    u = (float(sa.thread_id(0)) + 0.5) / float(sa.thread_count(0))
    v = (float(sa.thread_id(1)) + 0.5) / float(sa.thread_count(1))
    w = (float(sa.thread_id(2)) + 0.5) / float(sa.thread_count(2))
    return x * s * (sa.sqrt(1.0 - u) + sa.sqrt(1.0 - v) + sa.log(1.0 - w))
"""
    )
    results = checked(text)
    assert [result.verdict for result in results.values()] == [Verdict.PASS, Verdict.PASS]
    assert all(result.counts.compared > 100 for result in results.values())


def test_check__loops_of_kernels_that_add_up_and_know_their_thread__compile(checked: Checked) -> None:
    text = (
        HEAD_OF_KERNELS
        + """
@sa.kernel
def until(x: Each[float]) -> Sum[float]:
    s = x * x
    while sa.max_iters(8) and s < 0.25 + float(sa.thread_id(0)):
        s = s * 1.0 + 1.0
    return s


@sa.kernel
def powers(x: Each[float], p: Param[float]) -> Each[float]:
    s = x
    for j in sa.range(sa.thread_count(0), max_iters=4):
        s = s * p
    return s
"""
    )
    verdicts = {name: result.verdict for name, result in checked(text).items()}
    assert verdicts == {"until": Verdict.PASS, "powers": Verdict.PASS}


def test_check__functions_written_in_slang_beside_kernels_with_tensors__keep_their_text(checked: Checked) -> None:
    text = """
slangad: 1
name: f
functions:
  raw: {params: {x: float}, returns: float, slang: "return x * x;"}
kernels:
  sq:
    params: {x: each float}
    returns: each float
    slang: |
      return x * x;
  gather:
    params: {t: "tensor<float, 1>", i: each int}
    returns: each float
    expr: raw(t[i]) * t[i]
"""
    verdicts = {name: result.verdict for name, result in checked(text, ".yaml").items()}
    assert verdicts == dict.fromkeys(("raw", "sq", "gather"), Verdict.PASS)
