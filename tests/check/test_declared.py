"""Declared derivatives are compared with the declaration: right ones pass, broken ones fail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

POLICIES = Path(__file__).parent.parent / "emit" / "policies" / "policies.py"

CUTS = """
import slangad as sa
from slangad import NoDiff, float3


@sa.struct
class Pair:
    a: float
    b: NoDiff[float] = 1.0


@sa.differentiable
def by_call(x: float, y: float) -> float:
    return x * sa.no_diff(x * y) + y


@sa.differentiable
def inner(x: float, w: NoDiff[float]) -> float:
    return x * w


@sa.differentiable
def by_parameter(x: float) -> float:
    return inner(x, x * x)


@sa.differentiable
def in_loop(x: float) -> float:
    s = 0.0
    for i in range(4):
        s += x * sa.no_diff(sa.sin(x * i))
    return s


@sa.differentiable
def by_field(x: float) -> float:
    s = Pair(x, x * x)
    return s.a * s.b


@sa.function
def opaque(x: float) -> float:
    return sa.floor(x)


@sa.differentiable
def around_opaque(x: float) -> float:
    return x * sa.no_diff(opaque(x * 5.0))


@sa.differentiable
def of_a_vector(v: float3) -> float:
    return sa.dot(v, sa.no_diff(sa.normalize(v)))


@sa.differentiable(derivative=sa.finite_difference(step=0.25))
def stairs(x: float, v: float3) -> float:
    return sa.floor(x) + x * x * v.y


@sa.differentiable
def over_stairs(x: float, v: float3) -> float:
    return stairs(3.0 * x, v * x) * x
"""


def test_check__every_policy__is_held_against_itself() -> None:
    results = by_name(check(parse_inputs([str(POLICIES)]), CheckOptions()))
    assert len(results) >= 15
    assert not {name: result.reason for name, result in results.items() if not result.verdict.good}


def test_check__every_way_to_cut_a_gradient__counts_as_declared(checked: Checked) -> None:
    results = checked(CUTS)
    assert not {name: result.reason for name, result in results.items() if not result.verdict.good}


RAMP = """
import slangad as sa
from slangad import Each, Param


@sa.differentiable(derivative=sa.clip_gradient(0.5))
def steep(x: float) -> float:
    return x * x * x


@sa.differentiable
def faded(x: float, y: float) -> float:
    return sa.no_diff(x * y) * x


@sa.kernel
def ramp(gain: Param[float], x: Each[float]) -> Each[float]:
    return {body} * float(sa.thread_id()) / float(sa.thread_count())
"""
"""A kernel that is launched besides being checked thread by thread, and reads thread numbers."""


@pytest.mark.parametrize("body", ["sa.no_diff(gain * x) * x", "faded(gain, x)", "steep(gain * x)"])
def test_check__a_kernel_that_reads_thread_numbers__counts_as_declared(checked: Checked, body: str) -> None:
    results = checked(RAMP.replace("{body}", body))
    assert set(results) == {"steep", "faded", "ramp"}
    assert not {name: result.reason for name, result in results.items() if not result.verdict.good}


def test_check__a_clipped_gradient__is_held_against_the_clip() -> None:
    results = by_name(check(parse_inputs([str(POLICIES)]), CheckOptions(only=("steep", "steep_norm"))))
    for result in results.values():
        leg = next(leg for leg in result.legs if leg.leg is Leg.INTENT)
        assert leg.state is LegState.AGREES
        assert leg.compared > 100


def test_check__an_own_backward_alone__says_that_forward_is_made_from_it(checked: Checked) -> None:
    text = (
        "import slangad as sa\n\n\n@sa.differentiable\ndef f(x: float) -> float:\n    return x * x\n\n\n"
        "@f.backward\ndef f_bwd(x, d_out):\n    return 2.0 * x * d_out\n"
    )
    assert ["forward mode is not tested" in note.message for note in checked(text)["f"].notes] == [True]


@pytest.mark.parametrize("cut", ["x * y * 1.001", "x * sa.no_diff(y)"])
def test_check__a_wrong_derivative_beside_a_cut__is_caught(checked: Checked, cut: str) -> None:
    text = f"""
import slangad as sa


@sa.differentiable
def f(x: float, y: float) -> float:
    return x * sa.no_diff(y)


@f.backward
def f_bwd(x, y, d_out):
    dx, dy = sa.bwd_diff(g)(x, y, d_out)
    return dx, dy


@sa.differentiable
def g(x: float, y: float) -> float:
    return {cut}


@sa.differentiable
def calls(x: float, y: float) -> float:
    return f(x, y) + sa.no_diff(x) * y
"""
    results = checked(text)
    assert results["calls"].verdict is Verdict.FAIL


CLIPPED = """
import slangad as sa
from slangad import Each


@sa.differentiable(derivative=sa.clip_gradient(0.5))
def steep(y: float) -> float:
    return y * y * 3.0


@sa.differentiable
def own(x: float) -> float:
    return x * x


@own.forward
def own_fwd(x):
    return x.p * x.p, 2.0 * x.p * x.d


@own.backward
def own_bwd(x, d_out):
    return -2.0 * x * d_out


@sa.differentiable
def right(x: float) -> float:
    return sa.sin(x) + steep(x)


@sa.differentiable
def wrong(x: float) -> float:
    return own(x) + steep(x)


@sa.kernel
def wrong_kernel(x: Each[float]) -> Each[float]:
    return wrong(x)
"""


METHODS = """

@sa.struct
class M:
    k: float

    @sa.differentiable(derivative=sa.clip_gradient(0.5))
    def clipped(self, x: float) -> float:
        return self.k * x * x * x

    @sa.differentiable
    def twice(self, x: float) -> float:
        return 2.0 * self.clipped(x) + x

    @sa.differentiable
    def off(self, x: float) -> float:
        return 2.0 * self.clipped(x) + own(x)


@sa.kernel
def stage(x: Each[float], m: sa.Param[M]) -> Each[float]:
    return m.twice(x) + steep(x)


@sa.kernel
def off_stage(x: Each[float], m: sa.Param[M]) -> Each[float]:
    return m.off(x)


@sa.kernel
def loss(x: Each[float]) -> sa.Mean[float]:
    return x * x


@sa.pipeline
def chain(x: Each[float], m: sa.Param[M]) -> sa.Mean[float]:
    return loss(stage(x, m))


@sa.pipeline
def off_chain(x: Each[float], m: sa.Param[M]) -> sa.Mean[float]:
    return loss(off_stage(x, m))
"""


def test_check__clips_in_methods_and_in_stages__hide_no_wrong_backward(checked: Checked) -> None:
    results = checked(CLIPPED + METHODS, samples=32)
    for name in ("M.clipped", "M.twice", "stage", "chain", "right"):
        assert results[name].verdict is Verdict.PASS, results[name].reason
    legs = {leg.leg: leg.state for leg in results["M.clipped"].legs}
    assert legs[Leg.INTENT] is LegState.AGREES
    for name in ("M.twice", "stage", "chain"):
        assert any("without the clips" in note.message for note in results[name].notes)
        assert {leg.leg: leg.state for leg in results[name].legs}[Leg.REVERSE] is LegState.AGREES
    for name in ("M.off", "off_stage", "off_chain"):
        assert results[name].verdict is Verdict.FAIL
        assert results[name].because == ("own",)


def test_check__a_wrong_backward_beside_a_clip__is_caught(checked: Checked) -> None:
    results = checked(CLIPPED)
    assert results["right"].verdict is Verdict.PASS
    assert results["steep"].verdict is Verdict.PASS
    for name in ("right", "wrong", "wrong_kernel"):
        assert any("without the clips" in note.message for note in results[name].notes)
    for name in ("wrong", "wrong_kernel"):
        assert results[name].verdict is Verdict.FAIL
        assert results[name].failures[0].leg is Leg.REVERSE


def test_check__an_argument_without_gradient__has_a_declared_derivative_only_if_it_varies(checked: Checked) -> None:
    results = checked(
        """
import slangad as sa
from slangad import NoDiff, float2, float3


@sa.differentiable
def lit(a: float3, n: NoDiff[float3]) -> float:
    return sa.dot(a, n)


@sa.differentiable
def plain(a: float3, pixel: NoDiff[float2], k: int) -> float:
    n = sa.normalize(float3(pixel.x, pixel.y, 2.0))
    if k > 1:
        n = n * 2.0
    return lit(a, n) * lit(a, float3(1.0))


@sa.differentiable
def direct(a: float3) -> float:
    return lit(a, a * 2.0)


@sa.differentiable
def branch(a: float3) -> float:
    n = float3(1.0)
    if a.x > 0.5:
        n = float3(2.0)
    return lit(a, n)
"""
    )
    declared = {
        name: any("the declared derivative" in note.message for note in result.notes)
        for name, result in results.items()
    }
    assert declared == {"lit": False, "plain": False, "direct": True, "branch": True}
    assert all(result.verdict.good for result in results.values())
