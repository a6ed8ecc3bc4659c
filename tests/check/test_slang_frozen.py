"""Parts without gradient are kept constant in the reference, also in functions that store into their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

TEXT = """
float3 turned(float3 n) { return n.yzx * n.x; }

struct Frame : IDifferentiable
{
    float3 t;
    float3 n;
    [mutating] [Differentiable] bool fix(float3 wanted)
    {
        if (wanted.x > 0.25) t = wanted * n.x;
        else { t = no_diff(turned(n)); }
        return wanted.x > 0.25;
    }
    [Differentiable] static Frame make(float3 wanted, float3 n, out bool valid)
    {
        Frame f;
        f.n = n;
        f.t = n;
        valid = f.fix(wanted);
        return f;
    }
}

[Differentiable] bool split<let twice : bool>(float x, inout float y, out float z)
{
    y = y * detach(x) * x;
    z = twice ? 2.0 * detach(y) * y : y;
    return true;
}
"""
HIDDEN = """
float scale(float x, out float kept) { kept = x; return 2.0; }
[Differentiable] float angle(float x, float y)
{ float kept; return no_diff scale(x, kept) * atan2(y, x) + 0.0 * kept; }
"""


def test_check__frozen_parts_of_methods_and_of_functions_that_store__have_a_reference(checked: Checked) -> None:
    results = checked(TEXT, ".slang")
    for name in ("Frame.fix", "Frame.make", "split<false>", "split<true>"):
        assert results[name].verdict.good, (name, results[name].reason)
        assert any("declared to be" in note.message for note in results[name].notes), name


def test_check__a_mistake_beside_a_frozen_part_of_a_function_that_stores__is_found(checked: Checked) -> None:
    text = (
        TEXT.replace("t = wanted * n.x", "t = lit(wanted, n.x)")
        + """
    [BackwardDerivative(lit_bwd)] float3 lit(float3 w, float k) { return w * k; }
    void lit_bwd(inout DifferentialPair<float3> w, inout DifferentialPair<float> k, float3 d)
    { w = diffPair(w.p, d * k.p); k = diffPair(k.p, 2.0 * dot(d, w.p)); }
    """
    )
    results = checked(text, ".slang")
    assert results["lit"].verdict is Verdict.FAIL
    for name in ("Frame.fix", "Frame.make"):
        assert results[name].verdict is Verdict.FAIL, results[name].reason
        assert results[name].because == ("lit",)
    failure = next(one for one in results["Frame.fix"].failures if one.column.startswith("self.n.x"))
    assert failure.found == pytest.approx(2 * (failure.expected or 0.0))


def test_check__a_derivative_that_is_no_number__is_reported_beside_a_part_that_cannot_be_frozen(
    checked: Checked,
) -> None:
    result = checked(HIDDEN, ".slang")["angle"]
    assert result.verdict is Verdict.UNGUARDED, result.reason
