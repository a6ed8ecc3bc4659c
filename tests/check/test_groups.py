"""Kernels whose threads compute together: right ones pass, wrong derivatives fail, and races are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

HEAD = """
import slangad as sa
from slangad import Each, InOutTensor, OutTensor, Param, Sum, Tensor, Texture2D, Uniform, float2

"""
RIGHT = {
    "softmax": """
@sa.kernel(group_size=(8,))
def softmax(x: Each[float], heat: Param[float]) -> Each[float]:
    e = sa.exp(heat * x - sa.group_max(heat * x))
    return e / sa.group_sum(e)
""",
    "running": """
@sa.kernel(group_size=(6,))
def running(x: Each[float2], n: Uniform[int], w: Tensor[float, 1]) -> Sum[float]:
    run = x
    for k in sa.range(n % 3, max_iters=2):
        run = 0.5 * sa.group_scan(run) + w[k] * x
    return run.x * run.y
""",
    "neighbours": """
@sa.kernel(group_size=(4,))
def neighbours(x: Each[float], w: Param[float]) -> Each[float]:
    row = sa.Shared[float, 6]()
    k = sa.thread_id() % 4
    row[k + 1] = w * x
    sa.barrier()
    return row[k] * row[k + 2] + sa.sin(row[k + 1])
""",
    "first": """
@sa.kernel(group_size=(4,), shapes={"out": (2,)})
def first(x: Each[float], out: OutTensor[float, 1]):
    total = sa.group_sum(x * x)
    if sa.thread_id() % 4 == 0:
        out[sa.thread_id() // 4] = sa.sqrt(total + 1.0)
""",
    "histogram": """
@sa.kernel(group_size=(4,))
def histogram(x: Each[float], bins: OutTensor[float, 1]):
    bins[int(sa.floor(3.0 * sa.saturate(x)))] += x * x / (1.0 + sa.group_sum(x * x))
""",
    "extremes": """
@sa.kernel(dims=3, group_size=(1, 2, 2))
def extremes(x: Each[float], w: Param[float2]) -> Sum[float]:
    return sa.group_scan(x) * x + sa.group_max(x) * w.x + sa.group_min(x * x) * w.y
""",
    "in_place": """
@sa.kernel(group_size=(4,))
def in_place(v: InOutTensor[float, 1], t: Texture2D[float], w: Tensor[float, 1]):
    i = sa.thread_id()
    x = v[i] * w[i // 2]
    s = sa.probe("s", 0.1 * sa.group_sum(x))
    v[i] = x * s + t.sample(float2(0.3, 0.1 * x))
""",
}
RACES = {
    "no barrier": """
    row[k] = x * x
    return x * row[(k + 1) % 8]
""",
    "two threads store": """
    row[k // 2] = x * x
    sa.barrier()
    return x * row[k // 2]
""",
    "no barrier before the next store": """
    row[k] = x * x
    sa.barrier()
    y = row[7 - k]
    row[k] = y * x
    sa.barrier()
    return x * row[k]
""",
    "ints": """
    order = sa.Shared[int, 8]()
    order[k] = k + 1
    return x * x * float(order[7 - k])
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_check__right_groups__pass(checked_once: Checked, name: str) -> None:
    result = checked_once(HEAD + "".join(RIGHT.values()), samples=32)[name]
    assert result.verdict.good, result.reason
    compared = {leg.leg for leg in result.legs if leg.state is LegState.AGREES}
    assert {Leg.REVERSE, Leg.FORWARD, Leg.TRANSPOSE, Leg.REPEAT, Leg.FLOAT32, Leg.ACCUMULATION} <= compared
    assert result.counts.compared > 0.5 * result.counts.drawn


def test_check__a_wrong_derivative_in_a_group__fails(checked: Checked) -> None:
    text = """
@sa.differentiable
def square(x: float) -> float:
    return x * x

@square.backward
def square_bwd(x, d_out):
    return 2.002 * x * d_out

@sa.kernel(group_size=(4,))
def shares(x: Each[float]) -> Each[float]:
    return square(x) / (1.0 + sa.group_sum(square(x)))
"""
    result = checked(HEAD + text, samples=32)["shares"]
    assert result.verdict is Verdict.FAIL
    assert result.failures[0].leg is Leg.REVERSE


@pytest.mark.parametrize("name", RACES)
def test_check__races__are_found_by_another_order(checked: Checked, name: str) -> None:
    head = """
@sa.kernel(group_size=(8,))
def racy(x: Each[float]) -> Each[float]:
    row = sa.Shared[float, 8]()
    k = sa.thread_id() % 8"""
    result = checked(HEAD + head + RACES[name], samples=32)["racy"]
    assert result.verdict is Verdict.NONDETERMINISTIC
    repeat = next(failure for failure in result.failures if failure.leg is Leg.REPEAT)
    assert "in another order" in repeat.message
    assert "sa.barrier()" in repeat.cause
