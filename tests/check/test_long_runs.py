"""Programs whose threads run long: marches along rays with a network at each step, simulations of many steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.twins import declared
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    import pytest
    from check.conftest import Checked

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
