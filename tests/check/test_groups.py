"""Kernels whose threads compute together: right ones pass, wrong derivatives fail, and races are found."""

from __future__ import annotations

import re
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
VALUES = {
    "tree": """
@sa.kernel(group_size=(32,))
def tree(x: Each[int]) -> Each[int]:
    row = sa.Shared[int, 32]()
    k = sa.thread_id() % 32
    row[k] = x
    sa.barrier()
    for step in sa.range(5):
        half = 16 >> step
        if k < half:
            row[k] = row[k] + row[k + half]
        sa.barrier()
    return row[0] + k
""",
    "turned": """
@sa.kernel(dims=2, group_size=(4, 4))
def turned(x: Each[int]) -> Each[int]:
    tile = sa.Shared[int, 4, 4]()
    i, j = sa.thread_id(0) % 4, sa.thread_id(1) % 4
    tile[i, j] = x
    sa.barrier()
    return tile[3 - i, j] if i != j else x
""",
    "flag": """
@sa.kernel(group_size=(32,))
def flag(x: Each[int], out: OutTensor[int, 1]):
    any_large = sa.Shared[int, 2]()
    if x > 1:
        any_large[1] = 1
    sa.barrier()
    out[sa.thread_id()] = any_large[1] + sa.group_max(x) + sa.group_scan(x)
""",
}
"""Kernels without gradient, and right."""
FAR = {
    "other_end": (
        "row",
        """
@sa.kernel(group_size=(64,))
def other_end(x: Each[float]) -> Each[float]:
    row = sa.Shared[float, 64]()
    k = sa.thread_id() % 64
    row[k] = x
    return row[63 - k] * x
""",
    ),
    "first_step": (
        "row",
        """
@sa.kernel(group_size=(64,))
def first_step(x: Each[int]) -> Each[int]:
    row = sa.Shared[int, 64]()
    k = sa.thread_id() % 64
    row[k] = x
    if k < 32:
        row[k] = row[k] + row[k + 32]
    sa.barrier()
    return row[k] * x
""",
    ),
    "flip": (
        "tile",
        """
@sa.kernel(dims=2, group_size=(8, 8))
def flip(x: Each[float]) -> Each[float]:
    steps = sa.Shared[int, 3]()
    tile = sa.Shared[float, 8, 8]()
    steps[0] = 1
    tile[sa.thread_id(0) % 8, sa.thread_id(1) % 8] = x
    return tile[7 - sa.thread_id(0) % 8, sa.thread_id(1) % 8] * x
""",
    ),
    "sum_is_no_barrier": (
        "row",
        """
@sa.kernel(group_size=(32,))
def sum_is_no_barrier(x: Each[int]) -> Each[int]:
    row = sa.Shared[int, 32]()
    row[sa.thread_id() % 32] = x
    total = sa.group_sum(x)
    return row[31 - sa.thread_id() % 32] * total
""",
    ),
    "added": (
        "row",
        """
@sa.kernel(group_size=(32,))
def added(x: Each[int]) -> Each[int]:
    row = sa.Shared[int, 1]()
    row[0] += x
    sa.barrier()
    return row[0] * x
""",
    ),
    "ints": (
        "row",
        """
@sa.kernel(group_size=(64,))
def ints(x: Each[int]) -> Each[int]:
    row = sa.Shared[int, 64]()
    k = sa.thread_id() % 64
    row[k] = x
    return row[(k + 1) % 64] + 1
""",
    ),
    "last_wins": (
        "row",
        """
@sa.kernel(group_size=(64,))
def last_wins(x: Each[int]) -> Each[int]:
    row = sa.Shared[int, 64]()
    row[sa.thread_id() % 64 // 2] = x
    sa.barrier()
    return row[sa.thread_id() % 64 // 2] + 1
""",
    ),
}
"""Races of threads that small launches don't have, and of values without gradient; the memory of each."""
RACY = """
@sa.kernel(group_size=(8,))
def {}(x: Each[float]) -> Each[float]:
    row = sa.Shared[float, 8]()
    k = sa.thread_id() % 8"""
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
def test_check__races__are_found_by_another_order(checked_once: Checked, name: str) -> None:
    heads = {one: RACY.format(one.replace(" ", "_")) for one in RACES}
    result = checked_once(HEAD + "".join(heads[one] + RACES[one] for one in RACES), samples=8)[name.replace(" ", "_")]
    assert result.verdict is Verdict.NONDETERMINISTIC
    repeat = next(failure for failure in result.failures if failure.leg is Leg.REPEAT)
    assert "in another order" in repeat.message
    in_one_line = name == "two threads store"
    assert ("sa.barrier()" in repeat.cause) is not in_one_line
    assert ("an element of its own" in repeat.cause) is in_one_line


@pytest.mark.parametrize("name", VALUES)
def test_check__right_groups_without_gradient__pass(checked_once: Checked, name: str) -> None:
    result = checked_once(HEAD + "".join(VALUES.values()), samples=8)[name]
    assert result.verdict is Verdict.PASS, result.reason
    (leg,) = result.legs
    assert (leg.leg, leg.state) == (Leg.REPEAT, LegState.AGREES)
    assert leg.compared > 0
    assert "two orders of threads" in result.notes[0].message


@pytest.mark.parametrize("name", FAR)
def test_check__races_of_whole_groups__are_found_with_the_element(checked_once: Checked, name: str) -> None:
    text = HEAD + "".join(text for _, text in FAR.values())
    result = checked_once(text, samples=8)[name]
    assert result.verdict is Verdict.NONDETERMINISTIC, result.reason
    (failure,) = result.failures
    assert failure.leg is Leg.REPEAT
    lines = [text.splitlines()[int(line) - 1] for line in re.findall(r"in line (\d+)", failure.cause)]
    assert len(lines) == (1 if name == "last_wins" else 2)
    memory, _ = FAR[name]
    assert all(f"{memory}[" in line for line in lines)
    assert re.search(rf" {memory}\[\d+(, \d+)?\] ", failure.cause)


def test_check__a_race_within_one_line__is_told_with_a_remedy_for_it(checked_once: Checked) -> None:
    result = checked_once(HEAD + "".join(text for _, text in FAR.values()), samples=8)["added"]
    assert "add up with sa.group_sum" in result.reason
    assert "sa.barrier()" not in result.reason


def test_check__kernels_without_groups_or_gradient__are_skipped(checked: Checked) -> None:
    text = "@sa.kernel\ndef alone(x: Each[int]) -> Each[int]:\n    return x + 1\n"
    assert checked(HEAD + text)["alone"].verdict is Verdict.SKIPPED
