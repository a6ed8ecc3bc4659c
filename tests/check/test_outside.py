"""Indices that lead outside: samples with them are left out and told, so nothing right is accused; what is wrong is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import NoteKind, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

    from slangad.compiler.report.model import Result

RIGHT = """
import slangad as sa
from slangad import Array, Each, Param, Sum, Tensor, float3, float3x3

TABLE = (1.0, 2.0, 5.0, 7.0)
ROWS = ((1.0, 2.0), (5.0, 7.0))


@sa.differentiable
def squares(a: Array[float, 4], i: int) -> float:
    return a[i + 1] * a[i + 1] - a[i - 1]


@sa.differentiable
def components(v: float3, i: int) -> float:
    return v[2 * i] * v[i]


@sa.differentiable
def entries(m: float3x3, i: int) -> float:
    return m[2 * i, i] * m[i, 0]


@sa.differentiable
def tables(x: float, i: int) -> float:
    return TABLE[2 * i] * x * x


@sa.differentiable
def rows(x: float, i: int) -> float:
    return ROWS[0][2 * i] * x * x  # beyond its row, and inside the table


@sa.differentiable
def cells(a: Array[float, 4], x: float) -> float:
    return a[int(x * 4.0)] * x


@sa.kernel
def sums(x: Each[float], i: Each[int], w: Param[Array[float, 4]]) -> Sum[float]:
    return x * w[i + 1] * w[i - 1]


@sa.kernel
def shared(x: Each[float], i: Each[int], w: Tensor[float, 1]) -> Sum[float]:
    row = ROWS[i % 2]
    return x * w[i] * TABLE[i + 1] * TABLE[i] * row[1]
"""
RIGHT_SLANG = """
[Differentiable]
float squares(float a[4], int i) { return a[i + 1] * a[i + 1] + a[i]; }

[Differentiable]
float components(float3 v, int i) { return v[i + 1] * v[i + 1]; }

[Differentiable]
float entries(float2x2 m, int i) { return m[i + 1][i] * m[i][1]; }

static const float TABLE[3] = {1.0, 2.0, 4.0};

[Differentiable]
float tables(float x, no_diff int i) { return TABLE[i + 1] * x * x; }

[Differentiable]
float inside(float x, int i)
{
    float a[3];
    a[0] = x;
    a[1] = x * x;
    a[2] = x * x * x;
    return a[i + 1];
}
"""
WRONG = """
import slangad as sa
from slangad import Array


@sa.differentiable
def late(a: Array[float, 4], i: int) -> float:
    return a[2 * i] * a[2 * i]


@late.backward
def late_bwd(a, i, d_out):
    g = Array[float, 4]()
    g[2 * i] = (2.0 if i == 0 else 1.9) * a[2 * i] * d_out
    return g
"""
NOWHERE = """
import slangad as sa

TABLE = (1.0, 2.0, 5.0)


@sa.differentiable
def far(x: float, i: int) -> float:
    return TABLE[i * 5 + 3] * x
"""


def _left_out(result: Result) -> bool:
    return any(note.kind is NoteKind.SAMPLES and "out of bounds" in note.message for note in result.notes)


@pytest.mark.parametrize(("text", "suffix"), [(RIGHT, ".py"), (RIGHT_SLANG, ".slang")], ids=["python", "slang"])
@pytest.mark.parametrize("seed", range(3))
def test_check__right_where_its_indices_stay_inside__passes_and_says_so(
    checked: Checked, text: str, suffix: str, seed: int
) -> None:
    results = checked(text, suffix, seed=seed)
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(results, Verdict.PASS)
    silent = {"shared"}  # its integers are drawn where all indices stay inside
    assert {name for name, result in results.items() if not _left_out(result)} <= silent


def test_check__wrong_at_an_index_inside__fails(checked: Checked) -> None:
    (result,) = checked(WRONG).values()
    assert result.verdict is Verdict.FAIL
    assert _left_out(result)
    assert all(failure.sample is not None for failure in result.failures)
    assert {value.value for f in result.failures for value in f.sample.inputs if value.path == "i"} == {1}  # type: ignore[union-attr]


def test_check__outside_everywhere__is_inconclusive(checked: Checked) -> None:
    (result,) = checked(NOWHERE).values()
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "an index is out of bounds" in result.reason
    assert "declare ranges of the integers that it depends on (--range " in result.reason


def test_check__a_declared_range_far_outside__is_inconclusive_and_no_crash(checked: Checked) -> None:
    (result,) = checked(WRONG, ranges=(("late.i", 0.0, 1e6),)).values()
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "an index is out of bounds" in result.reason
