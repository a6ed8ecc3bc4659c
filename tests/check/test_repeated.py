"""Descriptions that store through one run-time index twice are checked as others are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

DIAGONALS = """
import slangad as sa
from slangad import Array, double, double2x2, float3, float3x3, half, half2x2

@sa.differentiable
def cholesky(a: float3x3) -> float3x3:
    s = a @ sa.transpose(a)
    low = float3x3(0.0)
    for i in range(3):
        s[i, i] += 1.0
    for i in range(3):
        for j in sa.range(i + 1, max_iters=3):
            rest = s[i, j]
            for k in sa.range(j, max_iters=3):
                rest -= low[i, k] * low[j, k]
            if i == j:
                low[i, i] = sa.sqrt(rest)
            else:
                low[i, j] = rest / low[j, j]
    return low

@sa.differentiable
def scaled(m: Array[float3, 3], s: float3) -> Array[float3, 3]:
    out = sa.copy(m)
    for i in range(3):
        out[i][i] = out[i][i] * s[i]
    return out

@sa.differentiable
def damped(m: float3x3, lam: float, at: int) -> float3x3:
    out = sa.copy(m)
    for i in range(3):
        out[i, i] += lam
    j = at % 3
    out[j, j] *= lam
    return out

@sa.differentiable
def halfs(m: half2x2, x: half) -> half2x2:
    out = sa.copy(m)
    for i in range(2):
        out[i, i] = out[i, i] * x
    return out

@sa.differentiable
def doubles(m: double2x2, x: double) -> double2x2:
    out = sa.copy(m)
    for i in range(2):
        out[i, i] = out[i, i] * x + out[i, 1 - i]
    return out
"""


@pytest.mark.toolchain
def test_check__stores_on_a_diagonal__pass(checked: Checked) -> None:
    results = checked(DIAGONALS, samples=32)
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(results, Verdict.PASS)
    assert len(results) == 5
