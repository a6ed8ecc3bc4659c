"""Vectors, matrices, arrays and structs in Python execution: parts, conversions, value semantics."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import slangad as sa
from slangad import Array, double3, float2, float2x3, float3, float3x3, float4, int2, int3


@sa.struct
class Ball:
    center: float3
    radius: float = 1.0
    tag: sa.NoDiff[int] = 7

    def moved(self, by: float3) -> Ball:
        return Ball(self.center + by, self.radius, self.tag)

    @sa.differentiable
    def area(self, scale: float = 2.0) -> float:
        return scale * self.radius**2

    @staticmethod
    def unit() -> Ball:
        return Ball(float3(0.0))


@sa.struct
class Pair:
    left: Ball
    right: Ball


def numbers(value: object) -> list[float]:
    return np.asarray(value).tolist()


@sa.function
def swizzles(v: float4) -> tuple[float3, float2, float, float4]:
    return v.zyx, v.rg, v.w, v.xxyy


def test_swizzle__read__gives_components() -> None:
    a, b, c, d = swizzles(float4(1, 2, 3, 4))
    assert numbers(a) == [3, 2, 1]
    assert numbers(b) == [1, 2]
    assert c == 4
    assert numbers(d) == [1, 1, 2, 2]


@sa.function
def swizzle_stores(v: float3, w: float2) -> float3:
    u = sa.copy(v)
    u.xz = w
    u.y = 9
    return u


def test_swizzle__assigned__leaves_the_argument() -> None:
    v = float3(1, 2, 3)
    assert numbers(swizzle_stores(v, float2(5, 6))) == [5, 9, 6]
    assert numbers(v) == [1, 2, 3]


def test_swizzle__unknown_or_doubled__is_refused() -> None:
    v = float2(1, 2)
    with pytest.raises(AttributeError, match="no component 'z'"):
        _ = v.z
    with pytest.raises(TypeError, match="twice"):
        v.xx = v


@sa.function
def vector_at(v: float3, i: int) -> float:
    return v[i] + v[-1]


@sa.function
def matrix_at(m: float2x3, i: int, j: int) -> tuple[float3, float]:
    return m[i], m[i, j]


@sa.function
def array_at(a: Array[float, 4], i: int) -> float:
    return a[i]


def test_index__static_negative__counts_from_the_end() -> None:
    assert vector_at(float3(1, 2, 3), 0) == 4
    row, entry = matrix_at(float2x3(1, 2, 3, 4, 5, 6), 1, 2)
    assert numbers(row) == [4, 5, 6]
    assert entry == 6


@pytest.mark.parametrize("i", [-1, 4, 100])
def test_index__run_time_outside__index_error(i: int) -> None:
    with pytest.raises(IndexError):
        array_at([1, 2, 3, 4], i)
    with pytest.raises(IndexError):
        vector_at(float3(1, 2, 3), i)


@sa.function
def index_by_float(v: float3, x: float) -> float:
    return v[x]


def test_index__of_a_float__type_error() -> None:
    with pytest.raises(TypeError, match="an index must be an int, not float"):
        index_by_float(float3(0), 1.0)


@sa.function
def stores(a: Array[float3, 2], m: float3x3, i: int) -> tuple[Array[float3, 2], float3x3]:
    b, n = sa.copy(a), sa.copy(m)
    b[i].x = 7
    b[i][1] += 1
    n[i].yz = float2(8, 9)
    n[i, 0] = n[i, 0] * 2
    n[2] = float3(1)
    return b, n


def test_store__through_several_steps__reaches_the_part() -> None:
    a, m = Array[float3, 2](float3(1), float3(2)), float3x3(1)
    b, n = stores(a, m, 1)
    assert numbers(b) == [[1, 1, 1], [7, 3, 2]]
    assert numbers(n) == [[1, 1, 1], [2, 8, 9], [1, 1, 1]]
    assert numbers(a) == [[1, 1, 1], [2, 2, 2]]
    assert numbers(m) == [[1, 1, 1]] * 3


def test_matrix__in_ordinary_python__rows_are_parts() -> None:
    m = float3x3(0)
    m[1].x = 5
    m[2, 2] = 6
    assert numbers(m) == [[0, 0, 0], [5, 0, 0], [0, 0, 6]]


@sa.function
def products(m: float2x3, v: float3, w: float2) -> tuple[float2, float3, float2x3, float2x3]:
    return m @ v, sa.mul(w, m), m * m, -m


def test_matrix__products__rows_and_columns() -> None:
    m = float2x3(1, 2, 3, 4, 5, 6)
    column, row, entries, negative = products(m, float3(1, 0, 2), float2(1, -1))
    assert numbers(column) == [7, 16]
    assert numbers(row) == [-3, -3, -3]
    assert numbers(entries) == [[1, 4, 9], [16, 25, 36]]
    assert numbers(negative) == [[-1, -2, -3], [-4, -5, -6]]


def test_construct__parts__concatenate_splat_and_convert() -> None:
    assert numbers(float3(2)) == [2, 2, 2]
    assert numbers(float3(float2(1, 2), 3)) == [1, 2, 3]
    assert numbers(float3(int3(1, 2, 3))) == [1, 2, 3]
    assert numbers(int3(float3(1.9, -1.9, 0.2))) == [1, -1, 0]
    assert numbers(sa.bool2(int2(0, 3))) == [False, True]
    assert numbers(float2x3(float3(1), float3(2))) == [[1, 1, 1], [2, 2, 2]]
    assert numbers(float3x3(2)) == [[2] * 3] * 3
    assert numbers(double3(0.1)) == [0.1] * 3


@pytest.mark.parametrize("parts", [(1, 2), (float2(1, 2), 3, 4), ("a",), (Ball(float3(0)),)])
def test_construct__parts_that_do_not_fit__type_error(parts: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="float3"):
        float3(*parts)


def test_array__zeros_and_lists__and_length() -> None:
    assert numbers(Array[float, 3]()) == [0, 0, 0]
    assert numbers(Array[Array[int, 2], 2](Array[int, 2](1, 2), Array[int, 2](3, 4))) == [[1, 2], [3, 4]]
    assert len(Array[float, 3]()) == 3
    assert Array[float, 3] is Array[float, 3]
    with pytest.raises(TypeError, match="takes 2 items, none, or one to repeat, not 3"):
        Array[float, 2](1, 2, 3)


@sa.function
def compare(a: float3, b: float3) -> tuple[sa.bool3, bool, bool]:
    return a < b, sa.any(a == b), all(a <= b)


@sa.function
def vector_condition(a: float3) -> float:
    return 1.0 if a < 0.0 else 2.0


def test_comparison__of_vectors__goes_by_component() -> None:
    less, some, every = compare(float3(1, 2, 3), float3(2, 2, 2))
    assert numbers(less) == [True, False, False]
    assert (some, every) == (True, False)
    with pytest.raises(TypeError, match="a condition must be a bool, not bool3"):
        vector_condition(float3(1))
    with pytest.raises(TypeError, match="not a condition"):
        bool(float3(1))


@sa.function
def aliasing(a: float3) -> tuple[float3, float3]:
    b = sa.copy(a)
    c = b
    c.x = 100
    return b, c


@sa.function
def change_parameter(b: Ball) -> float:
    b = Ball(b.center, 5.0)
    return b.radius


@sa.function
def struct_holds_copy(v: float3) -> tuple[Ball, float3]:
    u = sa.copy(v)
    ball = Ball(u)
    u.x = 50
    return ball, u


def test_value_semantics__binding_passing_and_storing__copy() -> None:
    b, c = aliasing(float3(1, 2, 3))
    assert numbers(b) == [1, 2, 3]
    assert numbers(c) == [100, 2, 3]
    ball = Ball(float3(1))
    assert change_parameter(ball) == 5
    assert ball.radius == 1
    held, changed = struct_holds_copy(float3(1))
    assert numbers(held.center) == [1, 1, 1]
    assert numbers(changed) == [50, 1, 1]


def test_struct__in_ordinary_python__owns_its_fields() -> None:
    v = float3(1)
    ball = Ball(v)
    v.x = 9
    assert numbers(ball.center) == [1, 1, 1]
    ball.radius = 0.1
    assert type(ball.radius) is np.float32
    ball.center.y = 4
    assert numbers(ball.center) == [1, 4, 1]


def test_struct__constructor__positions_keywords_and_defaults() -> None:
    assert Ball(center=float3(1), radius=2) == Ball(float3(1), 2)
    assert Ball(float3(1)) != Ball(float3(1), 2)
    assert Ball(float3(0)).tag == 7
    assert repr(Ball(float3(0.1))) == "Ball(center=float3(0.1, 0.1, 0.1), radius=1.0, tag=7)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Ball, "misses a value for field center"),
        (lambda: Ball(float3(0), 1, 2, 3), "takes 3 values, not 4"),
        (lambda: Ball(float3(0), colour=1), "no field colour"),
        (lambda: Ball(float3(0), center=float3(0)), "twice"),
        (lambda: Ball(float2(0)), "field center of Ball: float2 is not float3"),
    ],
)
def test_struct__constructor_misused__type_error(make: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


@sa.differentiable
def use_methods(b: Ball) -> tuple[float, float, float3, Pair]:
    moved = b.moved(float3(1.0, 0.0, 0.0))
    both = Pair(left=b, right=moved)
    both.left.radius = 3
    both.right.center.z = both.left.radius
    return moved.area(), b.area(scale=1.0), Ball.unit().center, both


def test_struct__methods__run_in_the_language() -> None:
    area, plain, origin, both = use_methods(Ball(float3(1), 2))
    assert (area, plain) == (8, 4)
    assert numbers(origin) == [0, 0, 0]
    assert both.left.radius == 3
    assert numbers(both.right.center) == [2, 1, 3]
    assert Ball(float3(0), 3).area() == 18


def test_zeros__of_any_type__is_zero() -> None:
    zero = sa.zeros(Pair)
    assert zero.left.radius == 0
    assert zero.left.tag == 0
    assert numbers(sa.zeros(float3)) == [0, 0, 0]
    assert type(sa.zeros(float)) is np.float32
    assert numbers(sa.zeros(Array[int2, 2])) == [[0, 0], [0, 0]]


@sa.function
def takes_float3(v: float3) -> float3:
    return v


@pytest.mark.parametrize("given", [[1, 2, 3], (1, 2, 3), np.array([1.0, 2.0, 3.0])])
def test_argument__sequence_for_a_vector__is_accepted_from_outside(given: object) -> None:
    assert numbers(takes_float3(given)) == [1, 2, 3]


@pytest.mark.parametrize("given", [float2(1, 2), 1.0, int3(1, 2, 3), None])
def test_argument__of_another_type__names_the_parameter(given: object) -> None:
    with pytest.raises(TypeError, match="parameter v of takes_float3 is float3"):
        takes_float3(given)


@sa.function
def wrong_result(v: float3) -> float:
    return v


@sa.function
def swap(a: float, b: float) -> tuple[float, float]:
    a, b = b, a
    return a, b


@sa.function
def unpack_vector(v: float3) -> float:
    x, y, z = v
    return x + y * 10 + z * 100


@sa.function
def keywords(x: float, y: float = 2.0, *, z: float = 3.0) -> float:
    return x + 10 * y + 100 * z


@sa.function
def calls_keywords() -> float:
    return keywords(1, z=5)


def test_result__of_another_type__names_the_function() -> None:
    with pytest.raises(TypeError, match="wrong_result returns float"):
        wrong_result(float3(1))


def test_tuples__swap_and_unpack() -> None:
    assert swap(1, 2) == (2, 1)
    assert unpack_vector(float3(1, 2, 3)) == 321


def test_call__defaults_and_keywords__as_in_python() -> None:
    assert keywords(1) == 321
    assert calls_keywords() == 521
    with pytest.raises(TypeError, match="misses argument x"):
        keywords()
    with pytest.raises(TypeError, match="no parameter w"):
        keywords(1, w=2)
    with pytest.raises(TypeError, match="twice"):
        keywords(1, x=2)


def test_values__copied_and_pickled__are_equal_and_their_own() -> None:
    for value in (float3(1, 2, 3), float2x3(1), Array[float2, 2](float2(1), float2(2))):
        for other in (copy.deepcopy(value), copy.copy(value), sa.copy(value)):
            other[0] = other[1] * 5
            assert numbers(value) != numbers(other)
    assert numbers(pickle.loads(pickle.dumps(float3(1, 2, 3)))) == [1, 2, 3]
