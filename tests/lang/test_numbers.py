"""Numbers in Python execution: 32-bit floats, checked ints, wrapping uints, weak literals, IEEE for the rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

import slangad as sa


@sa.differentiable
def tenth_of(x: float) -> float:
    return x * 0.1


def test_float__product__is_rounded_to_32_bits() -> None:
    result = tenth_of(0.3)
    assert type(result) is np.float32
    assert result == np.float32(0.3) * np.float32(0.1)


@sa.differentiable
def third(x: float) -> float:
    y = x / 3.0
    return y - 0.333333343267


def test_float__every_step__is_rounded() -> None:
    assert third(1.0) == np.float32(1) / np.float32(3) - np.float32(0.333333343267)


@sa.function
def add_one(i: int) -> int:
    return i + 1


@sa.function
def negate(i: int) -> int:
    return -i


@sa.function
def magnitude(i: int) -> int:
    return abs(i)


@sa.function
def double_it(i: int) -> int:
    return i << 1


@sa.function
def square(i: int) -> int:
    return i * i


@sa.function
def to_int(x: float) -> int:
    return int(x)


LOWEST = -(2**31)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (add_one, 2**31 - 1),
        (negate, LOWEST),
        (magnitude, LOWEST),
        (double_it, 2**30),
        (square, 2**16),
        (to_int, 3e9),
        (to_int, math.inf),
    ],
)
def test_int__result_out_of_range__overflow_error(function: sa.differentiable, value: float) -> None:
    with pytest.raises(OverflowError):
        function(value)


def test_int__argument_out_of_range__names_the_parameter() -> None:
    with pytest.raises(OverflowError, match="parameter i of add_one"):
        add_one(2**31)


@sa.function
def mix(a: sa.uint, b: sa.uint) -> tuple[sa.uint, sa.uint, sa.uint, sa.uint]:
    return a + b, a - b, a * b, -a


def test_uint__arithmetic__wraps() -> None:
    top = 2**32 - 1
    assert mix(top, 2) == (1, top - 2, top - 1, 1)
    assert all(type(v) is np.uint32 for v in mix(1, 2))


@sa.function
def quotients(a: int, b: int) -> tuple[float, int, int]:
    return a / b, a // b, a % b


@sa.function
def float_quotients(a: float, b: float) -> tuple[float, float, float]:
    return a / b, a // b, a % b


@pytest.mark.parametrize("a", [-7, -6, 0, 5, 7])
@pytest.mark.parametrize("b", [-3, -2, 2, 3])
def test_division__negatives__as_in_python(a: int, b: int) -> None:
    assert quotients(a, b) == (np.float32(a / b), a // b, a % b)
    assert float_quotients(a, b) == (np.float32(a / b), float(a // b), float(a % b))


def test_integer_division__by_zero__raises() -> None:
    with pytest.raises(ZeroDivisionError):
        quotient(1, 0)
    with pytest.raises(ZeroDivisionError):
        remainder(1, 0)


@sa.function
def quotient(a: int, b: int) -> int:
    return a // b


@sa.function
def remainder(a: int, b: int) -> int:
    return a % b


@sa.differentiable
def ieee(x: float) -> tuple[float, float, float, float]:
    return 1.0 / x, sa.sqrt(x - 1.0), sa.log(x), math.log(x)


@sa.function
def literal_division() -> tuple[float, float, float]:
    return 1.0 / 0.0, 0.0 / 0.0, -1 / 0


def test_ieee__division_root_and_log__do_not_raise() -> None:
    inverse, root, log, math_log = ieee(0.0)
    assert inverse == math.inf
    assert math.isnan(root)
    assert log == math_log == -math.inf
    infinite, nan, negative = literal_division()
    assert infinite == math.inf
    assert math.isnan(nan)
    assert negative == -math.inf


@sa.function
def powers(x: float) -> tuple[float, float, float, float, float]:
    return x**3, x**-2, x**0, x**1, x**2.0


@sa.differentiable
def root(x: float) -> float:
    return x**0.5


@sa.function
def int_powers(i: int) -> tuple[int, float, int]:
    return i**3, i**-1, i**0


@sa.function
def run_time_power(x: float, n: int) -> float:
    return x**n


def test_power__integer_constants__are_products() -> None:
    x = np.float32(-1.1)
    assert powers(-1.1) == (x * x * x, np.float32(1) / (x * x), 1.0, x, x * x)
    assert int_powers(-3) == (-27, np.float32(1) / np.float32(-3), 1)
    assert type(int_powers(-3)[0]) is np.int32


def test_power__fraction__needs_positive_base() -> None:
    assert root(4.0) == 2.0
    assert math.isnan(root(-4.0))


def test_power__run_time_integer__is_refused() -> None:
    with pytest.raises(TypeError, match="exponent must be a constant or floating"):
        run_time_power(2.0, 3)


@sa.function
def half_scale(h: sa.half) -> sa.half:
    return h * 0.1 + 1


@sa.function
def half_and_float(h: sa.half, x: float) -> float:
    return h + x


@sa.function
def uint_and_int(u: sa.uint, i: int) -> sa.uint:
    return u + i


@sa.function
def uint_literal(u: sa.uint) -> sa.uint:
    return u + 3


@sa.function
def int_and_half(i: int, h: sa.half) -> sa.half:
    return i * h


@sa.function
def double_tenth() -> sa.double:
    return sa.double(0.1) + 0.2


def test_literals__next_to_half_double_and_uint__take_their_type() -> None:
    result = half_scale(3.0)
    assert type(result) is np.float16
    assert result == np.float16(3.0) * np.float16(0.1) + np.float16(1.0)
    assert double_tenth() == 0.1 + 0.2
    assert type(uint_literal(1)) is np.uint32
    assert type(int_and_half(2, 1.5)) is np.float16


@pytest.mark.parametrize(("function", "args"), [(half_and_float, (1.0, 2.0)), (uint_and_int, (1, 2))])
def test_mixing__half_with_float_or_uint_with_int__is_refused(function: object, args: tuple[float, ...]) -> None:
    with pytest.raises(TypeError, match="convert one of them"):
        function(*args)


@sa.function
def conversions(x: float) -> tuple[int, sa.uint, sa.half, sa.double, bool, float]:
    return int(x), sa.uint(x), sa.half(x), sa.double(x), bool(x), float(int(x))


def test_conversions__from_float__truncate_and_round() -> None:
    assert conversions(2.7) == (2, 2, np.float16(2.7), np.float64(np.float32(2.7)), True, 2.0)
    assert to_int(-2.7) == -2


def test_conversion__nan_to_int__value_error() -> None:
    with pytest.raises(ValueError, match="nan"):
        to_int(math.nan)


@sa.function
def reinterpret(i: int) -> tuple[sa.uint, int]:
    return sa.uint(i), int(sa.uint(i))


def test_conversion__int_to_uint_and_back__keeps_bits() -> None:
    assert reinterpret(-1) == (2**32 - 1, -1)


@sa.function
def bits(a: int, b: int) -> tuple[int, int, int, int, int, int]:
    return a & b, a | b, a ^ b, ~a, a << 2, a >> 1


def test_bits__of_ints__as_in_python() -> None:
    assert bits(-6, 3) == (-6 & 3, -6 | 3, -6 ^ 3, ~-6, -6 << 2, -6 >> 1)


@sa.function
def bits_of_float(x: float) -> float:
    return x & 1


@sa.function
def bits_of_bools(a: bool, b: bool) -> bool:
    return a & b


@sa.function
def far_shift(a: int, n: int) -> int:
    return a >> n


def test_bits__of_floats_and_bools__are_refused() -> None:
    with pytest.raises(TypeError):
        bits_of_float(1.0)
    with pytest.raises(TypeError):
        bits_of_bools(True, False)
    with pytest.raises(OverflowError, match="shift count"):
        far_shift(1, 32)


@sa.function
def rounded(x: float) -> tuple[int, float, int, int, int]:
    return round(x), sa.round(x), math.floor(x), math.ceil(x), math.trunc(x)


@pytest.mark.parametrize("x", [-2.5, -1.5, -0.4, 0.5, 1.5, 2.5, 3.7])
def test_round__halves__go_to_even(x: float) -> None:
    whole, same, floor, ceil, trunc = rounded(x)
    assert (whole, same, floor, ceil, trunc) == (round(x), float(round(x)), math.floor(x), math.ceil(x), math.trunc(x))
    assert type(whole) is np.int32
    assert type(same) is np.float32


@sa.function
def on_number(x: float) -> float:
    if x:
        return 1.0
    return 0.0


@sa.function
def either(x: float) -> float:
    return 1.0 if x or x else 0.0


@sa.function
def true_plus(b: bool) -> int:
    return b + 1


def test_condition__on_a_number__is_refused() -> None:
    with pytest.raises(TypeError, match="a condition must be a bool, not float"):
        on_number(1.0)
    with pytest.raises(TypeError, match="a condition must be a bool"):
        either(1.0)
    with pytest.raises(TypeError, match="does not take bool"):
        true_plus(True)


@sa.function
def chain(x: float, y: float) -> bool:
    return 0.0 < x <= y != 3.0


def test_comparison_chain__links__all_hold() -> None:
    assert chain(1.0, 2.0) is True
    assert chain(1.0, 3.0) is False
    assert chain(-1.0, 2.0) is False


@sa.function
def equals_tenth(x: float) -> bool:
    return x == 0.1


def test_comparison__with_a_literal__is_at_32_bits() -> None:
    assert equals_tenth(0.1) is True


EPSILON = np.float64(0.1)
COUNT = np.int64(3)
TABLE = (1, 0.5)
WEIGHTS = np.array([0.25, 0.5])
GRID = np.arange(6).reshape(2, 3)


@sa.function
def use_constants(h: sa.half, i: int) -> tuple[sa.half, int, float, float, int]:
    return h * EPSILON, COUNT + i, TABLE[i], WEIGHTS[i], GRID[i][2]


def test_constants__of_numpy__are_literals_and_tables() -> None:
    assert use_constants(2.0, 1) == (np.float16(2.0) * np.float16(0.1), 4, 0.5, 0.5, 5)


@sa.function
def table_is_floats() -> float:
    return TABLE[0] // 2


def test_constants__tuple_of_int_and_float__is_all_floats() -> None:
    assert type(table_is_floats()) is np.float32
