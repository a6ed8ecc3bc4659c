"""Programs whose threads run long: marches along rays with a network at each step, simulations of many steps."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from check.in_process import InProcess

from slangad.compiler.check import method
from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs import table
from slangad.compiler.check.model.budget import OutOfTimeError, budget, budget_of
from slangad.compiler.check.reference import entries
from slangad.compiler.check.twins import declared
from slangad.compiler.check.workers import pool
from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from check.conftest import Checked

    from slangad.compiler.check.reference.differences import Ladder, Slices
    from slangad.compiler.check.reference.function import ExaminedFunction

MARCH = """
import slangad as sa
from slangad import Each, NoDiff, Param, Uniform, float3

Grid = sa.nn.HashGrid(levels=4, features=2, table=256, base=4, growth=1.6, dims=3)


@sa.kernel(ranges={"origin": (0.2, 0.8), "direction": (-0.5, 0.5)})
def march(
    origin: NoDiff[Each[float3]], direction: NoDiff[Each[float3]], grid: Param[Grid], steps: Uniform[int]
) -> sa.Mean[float]:
    light = 1.0
    for k in sa.range(steps, max_iters=64):
        y = grid(origin + direction * ((float(k) + 0.5) / 64.0))
        light *= sa.exp(-y[0] * y[0] - y[3] * y[6])
        if light < 1e-3:
            break
    return light
"""
"""Each step has 96 numbers without gradient: the coordinates of 8 vertices on 4 levels."""


def test_check__thousands_of_numbers_without_gradient_in_a_launch__are_kept_for_the_reference(checked: Checked) -> None:
    result = checked(MARCH, samples=16)["march"]
    assert result.verdict.good, result.reason
    assert result.counts.compared == result.counts.drawn


def test_check__more_numbers_than_a_twin_keeps__accuse_nothing(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = declared.PRELUDE.replace(f"place >= {1 << 18}", "place >= 600")
    assert short != declared.PRELUDE
    monkeypatch.setattr(declared, "PRELUDE", short)
    result = checked(MARCH, samples=16)["march"]
    assert result.verdict in (Verdict.PASS, Verdict.KINK_OK, Verdict.INCONCLUSIVE), result.reason
    assert not result.failures
    assert result.counts.compared < result.counts.drawn


def test_check__a_thread_with_more_such_numbers__is_not_finite(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
import slangad as sa
from slangad import Array


@sa.differentiable(ranges={"n": (0, 8)})
def looked_up(w: Array[float, 4], x: float, n: int) -> float:
    s = x
    for k in sa.range(n, max_iters=8):
        s += w[int(sa.no_diff(sa.floor(sa.saturate(x) * 3.0)))] * s
    return s
"""
    assert checked(text, samples=16)["looked_up"].verdict.good
    monkeypatch.setattr(declared, "PRELUDE", declared.PRELUDE.replace(f"place >= {1 << 18}", "place >= 4"))
    result = checked(text, samples=16)["looked_up"]
    assert not result.failures
    assert any("not finite at" in note.message for note in result.notes), result.notes


def test_check__a_grid_of_the_library__is_not_called_a_declaration_of_the_user(checked: Checked) -> None:
    text = """
import slangad as sa
from slangad import float2

Grid = sa.nn.HashGrid(levels=2, features=2, table=16, base=2, growth=2.0)


@sa.differentiable
def looked_up(grid: Grid, x: float2) -> float:
    return grid(x)[0]


@sa.differentiable
def stopped(grid: Grid, x: float2) -> float:
    return grid(x)[0] * sa.no_diff(x.x)
"""
    notes = {name: [note.message for note in result.notes] for name, result in checked(text, samples=16).items()}
    library, user = notes["looked_up"][0], notes["stopped"][0]
    assert library.startswith("a library that it uses declares parts without gradient (grids.py:"), notes
    assert user == "compared with the declared derivative, not with the derivative of the function", notes


STEPS = """
import slangad as sa
from slangad import Array, Each, Tensor, float3


@sa.differentiable
def pull(d: float3, m: float, eps: float) -> float3:
    r2 = sa.dot(d, d) + eps * eps + 0.01
    return d * (m / (r2 * sa.sqrt(r2)))
{backward}

@sa.kernel(ranges={{"mass": (0.1, 1.0)}}, shapes={{"mass": (3,), "at0": (3,)}})
def simulated(mass: Tensor[float, 1], at0: Tensor[float3, 1], eps: Each[float]) -> Each[float]:
    x = Array[float3, 3]()
    v = Array[float3, 3]()
    for i in range(3):
        x[i] = at0[i]
    for t in range({steps}):
        for i in range(3):
            a = float3(0.0)
            for j in range(3):
                a += pull(x[j] - x[i], mass[j], eps)
            v[i] = v[i] + 0.02 * a
        for i in range(3):
            x[i] += 0.02 * v[i]
    return sa.dot(x[2], x[2]) + x[1].x
"""
"""An N-body simulation in which threads share tensors."""

BACKWARD = """

@pull.backward
def pull_backward(d: float3, m: float, eps: float, d_out: float3):
    r2 = sa.dot(d, d) + eps * eps + 0.01
    f = 1.0 / (r2 * sa.sqrt(r2))
    along = sa.dot(d, d_out) * m * f / r2
    return d_out * (m * f) - 3.0 * along * d, sa.dot(d, d_out) * f, -{factor} * along * eps
"""


def simulation(steps: int, backward: str = "") -> str:
    """Return the description of a simulation of a number of steps."""
    return STEPS.format(steps=steps, backward=backward)


@pytest.fixture
def every_launch_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the check treat every launch as one that takes long."""
    monkeypatch.setattr(pool, "Worker", InProcess)
    monkeypatch.setattr(tol, "TIMED_LEAST", 0.0)
    monkeypatch.setattr(tol, "TIMED_FAR", 0.0)
    monkeypatch.setattr(tol, "WORK_SECONDS", 1e-11)
    monkeypatch.setattr(tol, "WORK_LONG", 1.0)
    monkeypatch.setattr(tol, "SUM_TIME", 0.0)


@pytest.mark.usefixtures("every_launch_takes_long")
def test_check__a_program_that_takes_long__has_fewer_threads_and_a_verdict(checked: Checked) -> None:
    result = checked(simulation(4))["simulated"]
    assert result.verdict.good, result.reason
    assert result.counts.compared >= 16
    inputs = [value.path for value in result.samples[0].inputs]
    assert [path for path in inputs if path.startswith("eps")] == ["eps[0]", "eps[1]"]
    assert all(leg.state is LegState.AGREES for leg in result.legs)
    assert "sums over 257 and 1025 threads are not compared" in str(result.notes)


@pytest.mark.usefixtures("every_launch_takes_long")
@pytest.mark.parametrize(("factor", "verdict"), [("3.0", True), ("2.0", False)])
def test_check__a_factor_that_is_wrong_in_such_a_program__is_found(
    checked: Checked, factor: str, *, verdict: bool
) -> None:
    result = checked(simulation(4, BACKWARD.format(factor=factor)))["simulated"]
    assert result.verdict.good == verdict, result.reason
    assert (result.verdict is Verdict.FAIL) != verdict


@pytest.mark.parametrize("factor", ["3.0", "2.0"])
def test_check__a_leg_that_does_not_end_in_time__leaves_what_the_others_found(
    checked: Checked, monkeypatch: pytest.MonkeyPatch, factor: str
) -> None:
    def endless(_: object) -> None:
        raise OutOfTimeError

    monkeypatch.setattr(pool, "Worker", InProcess)
    legs = [replace(one, compare=endless) if one.leg is Leg.ACCUMULATION else one for one in table.LEGS]
    monkeypatch.setattr(table, "LEGS", tuple(legs))
    result = checked(simulation(2, BACKWARD.format(factor=factor)), samples=16)["simulated"]
    assert result.verdict is (Verdict.FAIL if factor == "2.0" else Verdict.INCONCLUSIVE)
    assert result.counts.compared >= 16
    assert result.seconds > 0.0
    states = {leg.leg: leg.state for leg in result.legs}
    assert states[Leg.ACCUMULATION] is LegState.UNDECIDED
    assert states[Leg.TRANSPOSE] is LegState.AGREES
    if result.verdict is Verdict.INCONCLUSIVE:
        assert states[Leg.REVERSE] is states[Leg.FLOAT32] is LegState.AGREES
        assert result.reason.endswith("--run-limit gives them more; not finished: the leg accumulation")


def test_check__kinks_that_are_not_looked_at_in_time__accuse_nothing_and_acquit_nothing(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object) -> None:
        raise OutOfTimeError

    monkeypatch.setattr(pool, "Worker", InProcess)
    monkeypatch.setattr(method, "excuse_ties", endless)
    result = checked("""
import slangad as sa


@sa.differentiable
def middle(a: float, b: float, c: float) -> float:
    return sa.max(sa.min(a, b), sa.min(sa.max(a, b), c))
""")["middle"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert not result.failures
    assert "a close look at kinks" in result.reason


def test_check__a_first_look_that_does_not_end__is_no_pass(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = entries._measured

    def half(function: ExaminedFunction, slices: Slices, windows: Sequence[int]) -> Ladder:
        return measured(function, slices.pick(np.arange(len(slices) // 2)), windows)

    monkeypatch.setattr(pool, "Worker", InProcess)
    monkeypatch.setattr(entries, "_measured", half)
    result = checked("""
import slangad as sa


@sa.differentiable
def product(a: float, b: float) -> float:
    return a * b
""")["product"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "a first look at each input" in result.reason


def test_check__a_program_whose_time_runs_out__says_what_was_compared(checked: Checked) -> None:
    result = checked(simulation(20_000), run_limit=4.0)["simulated"]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.seconds > 1.0
    assert "its samples take more than 4 s: --run-limit gives them more; not finished: " in result.reason


def test_budget__of_rows_that_take_long__gives_few_at_a_time_and_ends() -> None:
    rows: list[int] = []

    def run() -> None:
        for part in budget().parts(1000, 1000, "rows", 2):
            rows.extend(range(1000)[part])
            busy = time.process_time()
            while time.process_time() - busy < 0.05 * (part.stop - part.start):
                pass

    with budget_of(0.6), pytest.raises(OutOfTimeError):
        run()
    assert rows == list(range(len(rows)))
    assert 4 <= len(rows) <= 30


def test_budget__of_rows_that_are_quick__gives_all_of_them() -> None:
    with budget_of(0.0) as time_of_subject:
        assert sum(part.stop - part.start for part in time_of_subject.parts(100_000, 1 << 14, "rows")) == 100_000
        time_of_subject.require()


@pytest.mark.parametrize("fixtures", [[], ["every_launch_takes_long"]], ids=["quick", "slow"])
def test_check__a_kernel_whose_inner_threads_are_wrong__fails(
    checked: Checked, request: pytest.FixtureRequest, fixtures: list[str]
) -> None:
    """A launch has so many threads that one is neither the first nor the last, however long it takes."""
    for name in fixtures:
        request.getfixturevalue(name)
    result = checked("""
import slangad as sa
from slangad import Each, Tensor


@sa.differentiable
def square(x: float) -> float:
    return x * x


@square.backward
def _(x: float, d_out: float) -> float:
    return 3.0 * x * d_out


@sa.kernel(ranges={"mass": (0.1, 1.0)}, shapes={"mass": (3,)})
def interior(mass: Tensor[float, 1], eps: Each[float]) -> Each[float]:
    x = 1.0
    for _ in range(20):
        x += 0.0001 * sa.sin(x * (eps + mass[0]))
    i = sa.thread_id(0)
    if i > 0 and i < sa.thread_count(0) - 1:
        x += square(mass[1])
    return x
""", samples=8)["interior"]  # fmt: skip
    assert result.verdict is Verdict.FAIL, result.reason
