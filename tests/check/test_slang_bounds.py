"""Loops of Slang files that turn more often than their bound allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.twins.slang_loop_bounds import with_counters
from slangad.compiler.report.model import Leg, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

LOOPS = """
[Differentiable] float undeclared(float x, int n)
{ float s = x; [MaxIters(2)] for (int i = 0; i < n; ++i) s = s * x + 1.0; return s; }
// range: n 0 6
[Differentiable] float declared(float x, int n)
{ float s = 0.0; [MaxIters(4)] for (int i = 0; i < n; ++i) if (i > 1) s += x; else s += x * x; return s; }
[Differentiable] float within(float x, int n)
{ float s = x; [MaxIters(4)] for (int i = 0; i < n; ++i) { s = s * x + 1.0; } return s; }
[Differentiable] float called(float x, int n) { return within(x, n + 3) * x; }
[Differentiable] float whiles(float x, out float y)
{ float s = x; [MaxIters(3)] while (s < 3.0) { s = s + 0.9 + 0.01 * x * x; } y = s; return s * x; }
[Differentiable] float fixed(float x)
{ float s = x; [MaxIters(4)] for (int i = 0; i < 6; ++i) s = s * x + 1.0; return s; }
[BackwardDerivative(own_bwd)] [Differentiable] float own(float x, int n)
{ float s = 0.0; [MaxIters(2)] for (int i = 0; i < n; ++i) s += x; return s; }
void own_bwd(inout DifferentialPair<float> x, int n, float d) { x = diffPair(x.p, d * float(n)); }
"""


def test_check__loops_of_slang_beyond_their_bound__fail(checked: Checked) -> None:
    results = checked(LOOPS, ".slang")
    failing = {name for name, result in results.items() if Leg.BOUND in {failure.leg for failure in result.failures}}
    assert failing == {"undeclared", "declared", "called", "whiles"}
    (bound,) = (failure for failure in results["undeclared"].failures if failure.leg is Leg.BOUND)
    assert "line 3: if the loop runs more iterations than [MaxIters(2)] declares" in bound.cause
    for name in ("within", "fixed", "own"):
        assert results[name].verdict is Verdict.PASS
    assert "'n' ends a loop of [MaxIters(4)] and has no declared range" in results["within"].notes[0].message
    assert not results["fixed"].notes


def test_counted__loops_in_one_another_without_braces__turns_are_counted_in_each() -> None:
    text = (
        "[Differentiable] float f(float x, int n) { [MaxIters(3)] for (int i = 0; i < n; ++i) "
        "[MaxIters(N)] while (x < 1.0) if (x > 0.0) x += 1.0; else x += 2.0; return x; }"
    )
    assert with_counters(text, "f.slang").startswith(
        "[Differentiable] float f(float x, int n) { { int check_turns_0 = 0; [MaxIters(3)] for (int i = 0; i < n; ++i) "
        "{ if (++check_turns_0 > (3)) check_flag = 1; { int check_turns_3 = 0; [MaxIters(N)] while (x < 1.0) "
        "{ if (++check_turns_3 > (N)) check_flag = 1; if (x > 0.0) x += 1.0; else x += 2.0; }} }} return x; }"
    )
