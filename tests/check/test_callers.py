"""A wrong derivative is reported once: for the function that has it, not for both modes and all callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.report.check_text import render_check, render_result
from slangad.compiler.report.model import LegState, Report, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

DESCRIBED = """
import slangad as sa


@sa.differentiable
def inner(x: float, y: float) -> float:
    return x * x * y


@inner.backward
def inner_bwd(x: float, y: float, d_out: float):
    return 2.0 * x * y * d_out, x * d_out


@sa.differentiable
def middle(x: float, y: float) -> float:
    return sa.sin(inner(x, y)) + y


@sa.differentiable(derivative=sa.surrogate(middle))
def stands_for(x: float, y: float) -> float:
    return sa.sin(x * x * y) + y


@sa.differentiable
def own(x: float) -> float:
    return inner(x, x)


@own.backward
def own_bwd(x: float, d_out: float):
    return x * x * d_out


@sa.differentiable
def detached(x: float) -> float:
    return sa.no_diff(inner(x, x)) + x


@sa.kernel
def render(x: sa.Each[float], y: sa.Param[float]) -> sa.Mean[float]:
    return middle(x, y)


@sa.pipeline
def whole(x: sa.Each[float], y: sa.Param[float]) -> sa.Mean[float]:
    return render(x, y)
"""
TWO_MISTAKES = """
import slangad as sa
from slangad import Each, Param, float2


@sa.differentiable
def inner(x: float) -> float:
    return x * x


@inner.backward
def inner_bwd(x: float, d_out: float):
    return 3.0 * x * d_out


@sa.function
def back(x: float, v: float, h: float) -> tuple[float, float]:
    return x - h * v, v + h * sa.sin(x)  # of the later x


@sa.kernel
def swing(start: Each[float2], h: Param[float]) -> Each[float]:
    x = start.x
    v = start.y
    e = 0.0
    for _ in sa.range(12, inverse=back):
        v = v - h * sa.sin(x)
        x = x + h * v
        e += inner(x)
    return e


@sa.kernel
def calls(x: Each[float]) -> Each[float]:
    return inner(x)


@sa.pipeline
def whole(start: Each[float2], h: Param[float]) -> Each[float]:
    return swing(start, h)
"""
WRITTEN = """
[BackwardDerivative(inner_bwd)] [Differentiable] float inner(float x) { return x * x; }
void inner_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 3.0 * x.p * d); }
[Differentiable] float middle(float x) { return inner(x) + 1.0; }
[Differentiable] float outer(float x) { return middle(x) * middle(x); }
[BackwardDerivative(own_bwd)] [Differentiable] float own(float x) { return inner(x); }
void own_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 5.0 * x.p * d); }
[Differentiable] float right(float x) { return x * x; }
"""


def test_check__a_wrong_function_is_called__its_callers_fail_because_of_it_in_one_line(checked: Checked) -> None:
    results = checked(DESCRIBED)
    assert {name: result.because for name, result in results.items() if result.because} == {
        "middle": ("inner",),
        "stands_for": ("inner",),
        "render": ("inner",),
        "whole": ("inner",),
    }
    for name in ("inner", "own", "middle", "stands_for", "render", "whole"):
        assert results[name].verdict is Verdict.FAIL
        assert results[name].failures, f"the report in JSON has the numbers of {name}"
    assert results["detached"].verdict.good
    row, reason = render_result(results["middle"]).splitlines()
    assert row.startswith("  FAIL")
    assert "'inner', which is wrong" in reason
    (failure,) = results["inner"].failures
    assert "forward mode has the same error" in failure.notes
    assert sum(leg.state is LegState.DISAGREES for leg in results["inner"].legs) == 2


def test_check__a_caller_whose_modes_disagree__has_a_mistake_of_its_own(checked: Checked) -> None:
    results = checked(TWO_MISTAKES)
    assert all(results[name].verdict is Verdict.FAIL for name in ("inner", "swing", "calls"))
    assert {name: result.because for name, result in results.items() if result.because} == {
        "calls": ("inner",),
        "whole": ("inner", "swing"),
    }
    notes = results["swing"].failures[0].notes
    assert "it calls 'inner', which is wrong too; but only here do forward and reverse mode disagree" in notes
    corrected = checked(TWO_MISTAKES.replace("h * sa.sin(x)  #", "h * sa.sin(x - h * v)  #"), only=("inner", "swing"))
    assert corrected["swing"].because == ("inner",)


def test_check__a_caller_by_itself__is_shown_in_full(checked: Checked) -> None:
    result = checked(DESCRIBED, only=("middle",))["middle"]
    assert result.because == ()
    assert "expected" in render_result(result)


def test_check__slang_that_calls_a_wrong_function__fails_because_of_it(checked: Checked) -> None:
    results = checked(WRITTEN, ".slang")
    because = {name: result.because for name, result in results.items() if result.verdict.bad}
    assert because == {"inner": (), "middle": ("inner",), "outer": ("inner",), "own": ()}
    report = Report("0", 0, "cpu", 128, tuple(results.values()))
    assert render_check(report).count("  expected ") == len(results["inner"].failures) + len(results["own"].failures)
