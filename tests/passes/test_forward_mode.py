"""Forward mode inside differentiated functions: tangent functions where Slang would crash, ``fwd_diff`` elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.emit import emit_module
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float3


@sa.struct
class Field:
    w: float3
    bend: float

    def at(self, p: float3) -> float:
        return sa.dot(self.w, p) + self.bend * p.x * p.x


@sa.differentiable
def cube(x: float) -> float:
    return x * x * x


@sa.kernel
def slope(field: Param[Field], p: NoDiff[Each[float3]]) -> Mean[float]:
    still = sa.zeros(Field)
    x = sa.fwd_diff(Field.at)(sa.diff_pair(field, still), sa.diff_pair(p, float3(1.0, 0.0, 0.0))).d
    value = sa.fwd_diff(Field.at)(sa.diff_pair(field, sa.zeros(Field)), sa.diff_pair(p, float3(1.0))).p
    return x * x + value * 0.0


@sa.kernel
def bound(field: Param[Field], p: NoDiff[Each[float3]]) -> Mean[float]:
    moved = sa.diff_pair(p, float3(0.0, 1.0, 0.0))
    if p.x > 0.0:
        moved = sa.diff_pair(moved.d, moved.p)
    at = sa.fwd_diff(Field.at)(sa.diff_pair(field, sa.zeros(Field)), moved)
    return at.d * at.d + at.p


@sa.kernel
def of_numbers(x: Each[float]) -> Each[float]:
    return sa.fwd_diff(cube)(sa.diff_pair(x, 1.0)).d
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "slopes.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_forward_mode__of_a_struct_and_a_vector__is_a_tangent_function_of_what_moves(program: Path) -> None:
    text = emit_module(run_passes(load(program))).text
    (kernel,) = (part for part in text.split("\n\n") if "float slope(" in part)
    assert "fwd_diff" not in kernel
    assert "at_tangent(field, p, float3(1.0, 0.0, 0.0))" in kernel
    assert "fwd_diff(cube)" in text


@pytest.mark.toolchain
def test_forward_mode__differentiated_in_reverse__has_the_second_derivatives(program: Path) -> None:
    p = np.array([[0.5, 1.0, 2.0], [-1.0, 0.0, 0.25]], "f4")
    kernels = sa.load(str(program), device="cpu")
    out = kernels.slope.backward({"w": [2.0, 0.0, 0.0], "bend": 3.0}, p)
    slopes = 2.0 + 6.0 * p[:, 0]
    assert out.result == pytest.approx(np.mean(slopes**2))
    np.testing.assert_allclose(out.grad.field.w, [np.mean(2 * slopes), 0.0, 0.0], rtol=1e-5)
    assert out.grad.field.bend == pytest.approx(np.mean(2 * slopes * 2 * p[:, 0]))
    np.testing.assert_allclose(kernels.of_numbers.backward([0.5, 2.0]).grad.x, [3.0, 12.0], rtol=1e-5)


@pytest.mark.toolchain
def test_forward_mode__bound_to_a_name__has_the_second_derivatives(program: Path) -> None:
    p = np.array([[0.5, 1.0, 2.0], [-1.0, 0.0, 0.25]], "f4")
    w, bend = np.array([2.0, 1.0, -1.0]), 3.0
    kernels = sa.load(str(program), device="cpu")
    out = kernels.bound.backward({"w": w, "bend": bend}, p)
    at, change = np.where(p[:, :1] > 0, [0.0, 1.0, 0.0], p), np.where(p[:, :1] > 0, p, [0.0, 1.0, 0.0])
    d = change @ w + 2 * bend * at[:, 0] * change[:, 0]
    assert out.result == pytest.approx(np.mean(d**2 + at @ w + bend * at[:, 0] ** 2))
    np.testing.assert_allclose(out.grad.field.w, np.mean(2 * d[:, None] * change + at, axis=0), rtol=1e-5)
    assert out.grad.field.bend == pytest.approx(np.mean(4 * d * at[:, 0] * change[:, 0] + at[:, 0] ** 2))


def test_second_order__of_a_file_with_pairs_in_locals__says_what_has_none(program: Path) -> None:
    module = run_passes(load(program), second_order=True)
    reasons = {left.function: left.reason for left in module.left_out if "hvp" in left.modes}
    assert "contains a derivative already" in reasons["bound"]
