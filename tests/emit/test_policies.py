"""Derivative policies give what they promise, in reverse and forward mode, also at infinities and NaN."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.cpu import Program, build

from slangad.compiler.emit import Mode
from slangad.compiler.frontends import load

pytestmark = pytest.mark.toolchain
INF, NAN = np.inf, np.nan


@pytest.fixture(scope="module")
def program() -> Program:
    return build(load(Path(__file__).parent / "policies" / "policies.py"))


def run(program: Program, kernel: str, mode: Mode, **given: object) -> dict[str, np.ndarray]:
    arrays = {name: np.asarray(value, np.float32) for name, value in given.items()}
    return program.run(kernel, mode, arrays, (len(next(iter(arrays.values()))),))


def test_surrogate__hard_step__has_the_soft_derivative_and_its_own_value(program: Program) -> None:
    x = [-2.0, 0.5]
    assert run(program, "surrogate", Mode.FORWARD, x=x)["result"].tolist() == [0.0, 1.0]
    assert run(program, "surrogate", Mode.BACKWARD, x=x, result_cotangent=[1, 2])["x_grad"].tolist() == [-12.0, 6.0]
    moved = run(program, "surrogate", Mode.JVP, x=x, x_tangent=[1, 2])
    assert moved["result"].tolist() == [0.0, 1.0]
    assert moved["result_tangent"].tolist() == [-12.0, 6.0]


def test_straight_through__floor__passes_the_gradient_on(program: Program) -> None:
    x, d = [[0.3, 0.6, -0.1]], [[1.0, 2.0, 3.0]]
    moved = run(program, "straight", Mode.JVP, x=x, x_tangent=d)
    assert moved["result"].tolist() == [[0.25, 0.5, -0.25]]
    assert moved["result_tangent"].tolist() == d
    assert run(program, "straight", Mode.BACKWARD, x=x, result_cotangent=d)["x_grad"].tolist() == d


def test_subgradient__at_both_zeros__is_the_chosen_one(program: Program) -> None:
    x = [0.0, -0.0, 1.0, -1.0]
    found = run(program, "subgradient", Mode.BACKWARD, x=x, result_cotangent=[2] * 4)["x_grad"]
    assert found.tolist() == [0.5, 0.5, 2.0, 0.0]
    moved = run(program, "subgradient", Mode.JVP, x=x, x_tangent=[2] * 4)
    assert moved["result_tangent"].tolist() == [0.5, 0.5, 2.0, 0.0]
    assert moved["result"].tolist() == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("seed", "wanted"),
    [(0.01, [0.01, 0.1, -0.1]), (1.0, [0.5, 0.5, -0.5]), (INF, [0.5, 0.5, -0.5]), (NAN, [0.0, 0.0, 0.0])],
)
def test_clip__by_component__bounds_every_gradient(program: Program, seed: float, wanted: list[float]) -> None:
    found = run(program, "clipped", Mode.BACKWARD, v=[[1, 1, 1]], s=[1.0], result_cotangent=[seed])
    np.testing.assert_allclose(found["v_grad"], [wanted], rtol=1e-6)


@pytest.mark.parametrize(
    ("seed", "wanted"), [(0.1, [0.3, 0.4, 0.0]), (100.0, [1.2, 1.6, 0.0]), (5e37, [1.2, 1.6, 0.0]), (NAN, [0, 0, 0])]
)
def test_clip__by_norm__keeps_the_direction(program: Program, seed: float, wanted: list[float]) -> None:
    found = run(program, "clipped_norm", Mode.BACKWARD, v=[[1, 1, 1]], s=[1.0], result_cotangent=[seed])
    np.testing.assert_allclose(found["v_grad"], [wanted], rtol=1e-6)


def test_clip__forward_mode__is_not_clipped(program: Program) -> None:
    moved = run(program, "clipped", Mode.JVP, v=[[1, 1, 1]], s=[2.0], v_tangent=[[0, 1, 0]], s_tangent=[0])
    assert moved["result_tangent"].tolist() == [20.0]


def test_clip__of_a_surrogate__clips_the_surrogate(program: Program) -> None:
    found = run(program, "clipped_surrogate", Mode.BACKWARD, x=[1.0, 0.05], result_cotangent=[1, 1])["x_grad"]
    np.testing.assert_allclose(found, [0.5, 0.3], rtol=1e-6)


def test_finite_difference__across_a_jump__is_the_slope_of_the_secant(program: Program) -> None:
    found = run(program, "finite", Mode.BACKWARD, x=[0.9, 0.5], result_cotangent=[3, 3])["x_grad"]
    np.testing.assert_allclose(found, [6.0, 0.0], rtol=1e-5)
    moved = run(program, "finite", Mode.JVP, x=[0.9, 0.5], x_tangent=[3, 3])["result_tangent"]
    np.testing.assert_allclose(moved, [6.0, 0.0], rtol=1e-5)
