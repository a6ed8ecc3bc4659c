"""Statements in Python execution: locals of one type, loops and their bounds, names from outside, plain functions."""

# ruff: noqa: PLW2901, B905, B007, PLW0120, RET505, F841, PIE790, RUF021  (the bodies are the test)

from __future__ import annotations

import math
import types

import numpy as np
import pytest

import slangad as sa
from slangad import Array, float3

# --- one type per local ----------------------------------------------------------------------------------------------


@sa.function
def int_then_float(c: bool) -> float:
    x = 7
    if c:
        x = 7.5
    return x // 2 + x / 2


@sa.function
def grows(n: int) -> float:
    total = 16777217
    if n > 0:
        total += 0.5
    return total - 16777216


@sa.function
def scalar_then_vector(v: float3) -> float:
    total = 0.0
    first = total
    total = total + v
    return total.y + first.y


@sa.function
def half_later(h: sa.half, c: bool) -> sa.half:
    x = 0
    if c:
        x = h
    return x + 0.1


@sa.function
def either_side(c: bool) -> float:
    return (1 if c else 0.5) // 2 + (3 if c else 0.5)


@sa.function
def either_type(c: bool, i: int, x: float) -> float:
    y = i if c else x
    return y / 2 + sa.floor(y)


@sa.function
def counted(n: int) -> int:
    count = 0
    for i in range(5):
        if i < n:
            count = count + 1
    return count


def test_local__int_and_float_assigned__is_float_from_the_start() -> None:
    assert int_then_float(False) == 6.5
    assert grows(0) == 0.0, "as a float, 16777217 has no own value"
    assert either_side(True) == 3.0
    assert either_type(True, 3, 0.5) == 4.5


def test_local__scalar_and_vector_assigned__is_a_vector() -> None:
    assert scalar_then_vector(float3(1, 2, 3)) == 2.0


def test_local__literal_and_half_assigned__is_half() -> None:
    assert half_later(1.0, False) == np.float16(0.1)
    assert type(half_later(1.0, True)) is np.float16


def test_local__ints_only__stays_an_int() -> None:
    assert type(counted(3)) is np.int32
    assert counted(3) == 3


@sa.function
def annotated() -> tuple[float, Array[float, 2]]:
    x: float = 3
    y: sa.double
    y = sa.double(0.1)
    a: Array[float, 2] = Array[float, 2](x, float(y))
    return x // 2, a


@sa.function
def wrongly_annotated(x: float) -> int:
    y: int = x
    return y


def test_local__annotated__has_that_type() -> None:
    whole, array = annotated()
    assert (whole, type(whole)) == (1, np.float32)
    assert list(array) == [3, np.float32(0.1)]
    with pytest.raises(TypeError, match="y: int: float does not become int by itself"):
        wrongly_annotated(1.5)


@sa.function
def chained(x: float) -> float:
    a = b = float3(x)
    a.x = 5
    b += 1
    return a.x + b.x


@sa.function
def augmented(v: float3, m: sa.float2x2) -> float:
    u = sa.copy(v)
    n = sa.copy(m)
    u.x += 1
    u[1] *= 3
    n[0] -= 1
    n[1, 1] /= 4
    x = 2.0
    x **= 3
    return u.x + u.y + n[0].y + n[1, 1] + x


def test_assignment__chained_and_augmented() -> None:
    assert chained(1.0) == 7
    assert augmented(float3(1, 2, 3), sa.float2x2(1, 2, 3, 4)) == 2 + 6 + 1 + 1 + 8


# --- loops -----------------------------------------------------------------------------------------------------------


@sa.function
def for_loops(n: int) -> tuple[int, int, int]:
    found = 0
    for i in range(3, 10, 2):
        if i == n:
            break
        if i == 5:
            continue
        i = i * 100
        found += i
    else:
        found = found + 1
    down = 0
    for k in range(5, 0, -2):
        down = down * 10 + k
    return found, i, down


def test_for__break_continue_else__as_in_python() -> None:
    assert for_loops(7) == (300, 7, 531)
    assert for_loops(100) == (300 + 700 + 900 + 1, 900, 531)


@sa.function
def over_values(a: Array[float, 3], v: float3) -> tuple[float, float, float, float]:
    plain = 0.0
    for x in a:
        plain += x
    weighted = 0.0
    for i, x in enumerate(a):
        weighted += i * x
    dotted = 0.0
    for x, y in zip(a, v):
        dotted += x * y
    last = 0.0
    for i in reversed(range(3)):
        last = last * 10 + a[i]
    return plain, weighted, dotted, last


@sa.function
def over_literals() -> float:
    total = 0.0
    for weight in (1, 0.5):
        total += weight // 2
    return total


@sa.function
def changes_item(a: Array[float3, 2]) -> float:
    b = sa.copy(a)
    for v in b:
        v.x = 5.0
    return b[0].x


def test_for__over_arrays_and_their_kin() -> None:
    assert over_values([1, 2, 3], float3(4, 5, 6)) == (6, 8, 32, 321)
    assert over_literals() == 0
    assert changes_item(Array[float3, 2]()) == 0


@sa.function
def bounded(n: int) -> int:
    count = 0
    for i in sa.range(n, max_iters=4):
        count += 1
    return count


@sa.function
def bounded_together(n: int) -> int:
    count = 0
    for i in sa.group_range(1, n, 2, max_iters=4):
        count += i
    return count


@sa.function
def bounded_with_break(n: int) -> int:
    count = 0
    for i in sa.range(n, max_iters=4):
        count += 1
        if i == 3:
            break
    return count


@sa.function
def halving(x: float) -> int:
    turns = 0
    while sa.max_iters(5) and x > 1.0:
        x = x / 2
        turns += 1
    else:
        turns += 100
    return turns


@sa.function
def twice(x: float) -> int:
    return halving(x) + halving(x)


def test_range__past_its_bound__raises() -> None:
    assert bounded(4) == 4
    with pytest.raises(sa.LoopBoundExceeded, match="5 iterations, its bound is 4"):
        bounded(5)
    assert bounded_with_break(9) == 4
    assert bounded_together(9) == 16
    with pytest.raises(sa.LoopBoundExceeded, match="5 iterations, its bound is 4"):
        bounded_together(10)


def test_while__past_its_bound__raises() -> None:
    assert halving(32.0) == 105
    assert twice(32.0) == 210, "each activation counts for itself"
    with pytest.raises(sa.LoopBoundExceeded, match="more iterations than its bound of 5"):
        halving(33.0)


@sa.function
def bound_once() -> int:
    n = 3
    turns = 0
    for i in range(n):
        n = 10
        turns += 1
    return turns


def test_range__bound__is_taken_once() -> None:
    assert bound_once() == 3


# --- names -----------------------------------------------------------------------------------------------------------

SCALE = 2.0
LIBRARY = types.ModuleType("library")
LIBRARY.OFFSET = 3.0


def plain(x: float) -> float:
    return x * SCALE


def unannotated(x):
    return x


@sa.differentiable
def uses_plain(x: float) -> float:
    return plain(x) + LIBRARY.OFFSET + math.pi


@sa.function
def uses_unannotated(x: float) -> float:
    return unannotated(x)


def test_names__module_global__is_looked_up_live(monkeypatch: pytest.MonkeyPatch) -> None:
    assert uses_plain(1.0) == np.float32(np.float32(5.0) + np.float32(math.pi))
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    assert uses_plain(1.0) == np.float32(np.float32(13.0) + np.float32(math.pi))


def test_plain_function__without_annotations__says_so() -> None:
    with pytest.raises(sa.DescriptionError, match="parameter x of unannotated has no annotation"):
        uses_unannotated(1.0)


def make_power(exponent: int, scale: float) -> sa.differentiable:
    offset = scale * 2

    def helper(x: float) -> float:
        return x + offset

    @sa.differentiable
    def power(x: float) -> float:
        return helper(x**exponent)

    return power


def test_names__closure__keeps_the_factory_s_values() -> None:
    assert make_power(2, 1.0)(3.0) == 11
    assert make_power(3, 0.5)(2.0) == 9


def same_name(x: float) -> float:
    return x + 1


@sa.struct
class Shadow:
    value: float

    def same_name(self) -> float:
        return same_name(self.value)


def test_names__method_like_a_global__calls_the_global() -> None:
    assert Shadow(1.0).same_name() == 2


@sa.function
def early(x: float) -> float:
    if x < 0:
        return -1
    elif x == 0:
        return 0
    return 1


@sa.function
def nothing(x: float) -> None:
    y = x + 1
    pass


@sa.function
def falls_through(x: float) -> float:
    if x > 0:
        return x


@sa.function
def lazy(x: float) -> float:
    return 1 // int(x) if x != 0 else 5


@sa.function
def short(x: int) -> bool:
    return x != 0 and 10 // x > 2 or x == -1


def test_returns__early_and_missing() -> None:
    assert [early(x) for x in (-2, 0, 2)] == [-1, 0, 1]
    assert type(early(1)) is np.float32
    assert nothing(1.0) is None
    with pytest.raises(TypeError, match="falls_through returns float: None"):
        falls_through(-1.0)


def test_ternary_and_bools__evaluate_one_side() -> None:
    assert lazy(0.0) == 5
    assert short(0) is False
    assert short(3) is True
    assert short(-1) is True


@sa.function
def intrinsics(x: float) -> tuple[float, float, float, float]:
    return max(x, 1, 2.5), min(x, 0), sa.clamp(x, high=1.0, low=0.5), pow(x, 2)


def test_builtins__max_min_pow__are_intrinsics() -> None:
    assert intrinsics(-3.0) == (2.5, -3, 0.5, 9)


@sa.function
def sums(v: float3, i: sa.int2) -> tuple[float, int, int]:
    return sum(v), sum(i), len(v)


def test_builtins__sum_and_len__of_vectors() -> None:
    assert sums(float3(1, 2, 3), sa.int2(4, 5)) == (6, 9, 3)


@sa.function
def static(x: float) -> float:
    sa.static_assert(SCALE > 0, "scale must be positive")
    return x


def test_static_assert__failing__raises_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    assert static(1.0) == 1
    monkeypatch.setitem(globals(), "SCALE", -1.0)
    with pytest.raises(sa.DescriptionError, match="scale must be positive"):
        static(1.0)


@sa.differentiable
def probed(x: float) -> float:
    return sa.probe("a", x) + sa.probe("b", x * 2)


@sa.differentiable
def probed_twice(x: float) -> float:
    return sa.probe("a", x) + sa.probe("a", x)


def test_probe__reached_twice__is_an_error() -> None:
    assert probed(1.0) == 3
    assert probed(1.0) == 3, "each call starts anew"
    with pytest.raises(sa.DescriptionError, match="'a' is reached twice"):
        probed_twice(1.0)


def test_thread_id__outside_a_kernel__is_refused() -> None:
    with pytest.raises(sa.DescriptionError, match="outside a kernel"):
        sa.thread_id(0)
