"""Derivatives in Python execution: automatic, of the user's own, by policy; in both modes and nested."""

from __future__ import annotations

import math

import numpy as np
import pytest

import slangad as sa
from slangad import Array, float2, float3, float3x3


def numbers(value: object) -> list[float]:
    return np.asarray(value).tolist()


@sa.struct
class Lobe:
    tint: float3
    power: float
    count: int = 2
    frozen: sa.NoDiff[float] = 1.0

    def weight(self, x: float) -> float:
        return self.power * x * self.frozen


@sa.differentiable
def smooth(x: float, y: float) -> float:
    return x * x * y + sa.sin(y)


def test_bwd_diff__of_a_function__gives_gradients_in_order() -> None:
    dx, dy = sa.bwd_diff(smooth)(2.0, 3.0, 1.0)
    assert dx == pytest.approx(12.0)
    assert dy == pytest.approx(4.0 + math.cos(3.0))
    assert type(dx) is np.float32
    assert sa.bwd_diff(smooth)(2.0, 3.0, d_out=2.0)[0] == pytest.approx(24.0)


def test_fwd_diff__of_a_function__gives_value_and_tangent() -> None:
    pair = sa.fwd_diff(smooth)(sa.diff_pair(2.0, 1.0), sa.diff_pair(3.0, 0.5))
    assert pair.p == smooth(2.0, 3.0)
    assert pair.d == pytest.approx(12.0 + 0.5 * (4.0 + math.cos(3.0)))


@sa.differentiable
def everything(
    lobe: Lobe, a: Array[float, 3], m: float3x3, v: float3, n: int, k: sa.NoDiff[float]
) -> tuple[float, float3]:
    total = 0.0
    for i in range(3):
        total += a[i] * a[i] * lobe.weight(v[i])
    w = m @ v + lobe.tint * k
    w.x = w.x * total
    if total > 0.0:
        w[n] = w[n] * 2.0
    return total, w


def _reference(values: np.ndarray) -> np.ndarray:
    tint, power, a, m, v = values[0:3], values[3], values[4:7], values[7:16].reshape(3, 3), values[16:19]
    total = np.sum(a * a * power * v * 0.5)
    w = m @ v + tint * 1.5
    w[0] *= total
    if total > 0:
        w[1] *= 2
    return np.array([total, *w])


def test_bwd_diff__structs_arrays_matrices__match_differences() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0.2, 1.0, 19).astype(np.float32).astype(np.float64)
    lobe = Lobe(x[0:3], x[3], 2, 0.5)
    seed = np.array([0.3, -0.5, 0.7, 1.1])
    gradients = sa.bwd_diff(everything)(lobe, x[4:7], x[7:16].reshape(3, 3), x[16:19], 1, 1.5, (seed[0], seed[1:]))
    found = [*numbers(gradients[0].tint), gradients[0].power, *numbers(gradients[1])]
    found += [*np.asarray(gradients[2]).ravel().tolist(), *numbers(gradients[3])]
    h = 1e-6
    expected = [(_reference(x + h * e) - _reference(x - h * e)) @ seed / (2 * h) for e in np.eye(19)]
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert (gradients[0].count, gradients[0].frozen) == (0, 0)
    assert len(gradients) == 4


def test_modes__forward_and_reverse__agree() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(0.2, 1.0, 19)
    v = rng.normal(size=19)
    seed = rng.normal(size=4)
    args = (Lobe(x[0:3], x[3], 2, 0.5), x[4:7], x[7:16].reshape(3, 3), x[16:19], 1, 1.5)
    gradients = sa.bwd_diff(everything)(*args, (seed[0], seed[1:]))
    reverse = [*numbers(gradients[0].tint), gradients[0].power, *numbers(gradients[1])]
    reverse += [*np.asarray(gradients[2]).ravel().tolist(), *numbers(gradients[3])]
    moved = (Lobe(v[0:3], v[3], 0, 0.0), Array[float, 3](*v[4:7]), float3x3(*v[7:16]), float3(*v[16:19]))
    starts = (args[0], Array[float, 3](*x[4:7]), float3x3(*x[7:16]), float3(*x[16:19]))
    pairs = [sa.diff_pair(p, d) for p, d in zip(starts, moved, strict=True)]
    value, tangent = sa.fwd_diff(everything)(*pairs, 1, 1.5).d
    assert np.dot(reverse, v) == pytest.approx(value * seed[0] + np.dot(numbers(tangent), seed[1:]), rel=1e-4)


@sa.differentiable
def stopped(x: float) -> float:
    return x * sa.no_diff(x) + int(x) * x


@sa.function
def not_differentiated(x: float) -> float:
    return x * x


@sa.differentiable
def calls_undifferentiated(x: float) -> float:
    return x * sa.no_diff(not_differentiated(x))


def test_no_diff__of_a_value_and_a_call__cuts() -> None:
    assert sa.bwd_diff(stopped)(3.0, 1.0) == 6.0
    assert sa.bwd_diff(calls_undifferentiated)(3.0, 1.0) == 9.0
    assert sa.fwd_diff(stopped)(sa.diff_pair(3.0, 1.0)).d == 6.0


@pytest.mark.parametrize(
    ("name", "x", "slope"),
    [
        ("abs", 0.0, 0.0),
        ("sign", 0.0, 0.0),
        ("frac", 2.0, 1.0),
        ("saturate", 0.0, 1.0),
        ("saturate", 1.0, 1.0),
        ("floor", 2.0, 0.0),
    ],
)
def test_kinks__slope__is_slang_s(name: str, x: float, slope: float) -> None:
    assert sa.bwd_diff(UNARY[name])(x, 1.0) == slope


def _unary(name: str) -> sa.differentiable:
    row = getattr(sa, name)

    @sa.differentiable
    def apply(x: float) -> float:
        return row(x)

    return apply


UNARY = {name: _unary(name) for name in ("abs", "sign", "frac", "saturate", "floor")}


@sa.differentiable
def tied(x: float, y: float) -> float:
    return max(x, y)


@sa.differentiable
def safe_angle(x: float) -> float:
    return sa.acos(sa.clamp(x, -1.0, 1.0))


@sa.differentiable
def safe_length(v: float3) -> float:
    return sa.length(v) + sa.dot(sa.normalize(v), float3(1.0))


def test_kinks__tie_and_ends__split_or_vanish() -> None:
    assert sa.bwd_diff(tied)(1.0, 1.0, 1.0) == (0.5, 0.5)
    assert sa.bwd_diff(safe_angle)(2.0, 1.0) == 0.0
    assert sa.fwd_diff(safe_angle)(sa.diff_pair(2.0, 1.0)).d == 0.0
    assert numbers(sa.bwd_diff(safe_length)(float3(0), 1.0)) == [0, 0, 0]


# --- the user's own --------------------------------------------------------------------------------------------------


@sa.differentiable
def cube(x: float, k: sa.NoDiff[float]) -> float:
    return x * x * x * k


@cube.backward
def cube_bwd(x, k, d_out):
    return 100.0 * x * k * d_out


@sa.differentiable
def both_modes(v: float2, s: float) -> float:
    return sa.dot(v, v) * s


@both_modes.backward
def both_modes_bwd(v: float2, s: float, d_out: float) -> tuple[float2, float]:
    return v * (2.0 * s * d_out), sa.dot(v, v) * d_out


@both_modes.forward
def both_modes_fwd(v, s):
    value = both_modes(v.p, s.p)
    return value, 2.0 * sa.dot(v.p, v.d) * s.p + sa.dot(v.p, v.p) * s.d


@sa.differentiable
def forward_only(v: float2) -> float2:
    return v * v


@forward_only.forward
def forward_only_fwd(v):
    return sa.diff_pair(v.p * v.p, 7.0 * v.d)


@sa.differentiable
def through(x: float) -> float:
    return cube(2.0 * x, 1.0) + both_modes(float2(x, 1.0), x) + forward_only(float2(x, 0.0)).x


def test_own_backward__called__replaces_the_automatic_one() -> None:
    assert sa.bwd_diff(cube)(2.0, 3.0, 1.0) == 600.0
    assert sa.fwd_diff(cube)(sa.diff_pair(2.0, 0.5), 3.0).d == 300.0
    assert cube(2.0, 3.0) == 24.0


def test_own_forward__alone__gives_the_reverse_too() -> None:
    assert numbers(sa.bwd_diff(forward_only)(float2(1, 2), float2(1, 10))) == [7, 70]
    assert numbers(sa.fwd_diff(forward_only)(sa.diff_pair(float2(1, 2), float2(1, 0))).d) == [7, 0]


def test_own_derivatives__through_a_caller__are_used() -> None:
    x = 1.5
    expected = 100.0 * 2.0 * x * 2.0 + (3.0 * x * x + 1.0) + 7.0
    assert sa.bwd_diff(through)(x, 1.0) == pytest.approx(expected)
    assert sa.fwd_diff(through)(sa.diff_pair(x, 1.0)).d == pytest.approx(expected)


@sa.differentiable
def lobe_energy(lobe: Lobe) -> float:
    return lobe.power * sa.sum(lobe.tint)


@lobe_energy.backward
def lobe_energy_bwd(lobe, d_out):
    return Lobe(tint=float3(lobe.power * d_out), power=sa.sum(lobe.tint) * d_out)


def test_own_backward__of_a_struct__leaves_fields_without_gradient_out() -> None:
    gradient = sa.bwd_diff(lobe_energy)(Lobe(float3(1, 2, 3), 4.0), 2.0)
    assert numbers(gradient.tint) == [8, 8, 8]
    assert gradient.power == 12
    with pytest.raises(TypeError, match="misses a value for field power"):
        Lobe(tint=float3(0))


@sa.differentiable
def wrong_backward(x: float, y: float) -> float:
    return x + y


@wrong_backward.backward
def wrong_backward_bwd(x, y, d_out):
    return d_out


def test_own_backward__too_few_gradients__names_it() -> None:
    with pytest.raises(TypeError, match="wrong_backward_bwd returns"):
        sa.bwd_diff(wrong_backward)(1.0, 2.0, 1.0)


# --- policies --------------------------------------------------------------------------------------------------------


@sa.differentiable(derivative=sa.finite_difference(step=0.25))
def parabola(v: float2, c: sa.NoDiff[float]) -> float:
    return v.x * v.x * v.x + c * v.y


@sa.differentiable(derivative=sa.finite_difference(step=0.125, relative=True))
def cubic(x: float) -> float:
    return x * x * x


@sa.differentiable
def soft_step(x: float) -> float:
    return 1.0 / (1.0 + sa.exp(-x))


@sa.differentiable(derivative=sa.surrogate(soft_step))
def hard_step(x: float) -> float:
    return 1.0 if x > 0.0 else 0.0


@sa.differentiable(derivative=sa.straight_through())
def quantized(x: float) -> float:
    return sa.round(x)


@sa.differentiable(derivative=sa.clip_gradient(2.0))
def steep(x: float, y: float) -> float:
    return 100.0 * x + y


@sa.differentiable(derivative=sa.clip_gradient(norm=5.0))
def long(v: float2) -> float:
    return 30.0 * v.x + 40.0 * v.y


@sa.differentiable(derivative=sa.clip_gradient(1.0, of=sa.finite_difference(step=0.5)))
def stepped(x: float) -> float:
    return sa.floor(x)


@sa.differentiable(derivative=sa.subgradient(at=0.0, value=0.5))
def ramp(x: float) -> float:
    return max(x, 0.0) * 3.0


@sa.differentiable(derivative=sa.clip_gradient(1.0))
def explodes(x: float) -> float:
    return sa.sqrt(x)


def test_finite_difference__both_modes__are_the_central_difference() -> None:
    h = 0.25
    slope = ((1 + h) ** 3 - (1 - h) ** 3) / (2 * h)
    assert numbers(sa.bwd_diff(parabola)(float2(1, 2), 3.0, 2.0)) == pytest.approx([2 * slope, 6.0])
    assert sa.fwd_diff(parabola)(sa.diff_pair(float2(1, 2), float2(1, 0)), 3.0).d == pytest.approx(slope)
    h = 0.5
    assert sa.bwd_diff(cubic)(4.0, 1.0) == pytest.approx(((4 + h) ** 3 - (4 - h) ** 3) / (2 * h))


def test_surrogate__derivative__is_the_soft_one() -> None:
    s = 1 / (1 + math.exp(-0.3))
    assert hard_step(0.3) == 1.0
    assert sa.bwd_diff(hard_step)(0.3, 1.0) == pytest.approx(s * (1 - s))
    pair = sa.fwd_diff(hard_step)(sa.diff_pair(0.3, 1.0))
    assert (pair.p, pair.d) == (1.0, pytest.approx(s * (1 - s)))


def test_straight_through__derivative__is_one() -> None:
    assert sa.bwd_diff(quantized)(1.7, 3.0) == 3.0
    assert sa.fwd_diff(quantized)(sa.diff_pair(1.7, 3.0)).d == 3.0


def test_clip_gradient__backward__is_bounded_and_forward_is_not() -> None:
    assert sa.bwd_diff(steep)(1.0, 1.0, 1.0) == (2.0, 1.0)
    assert sa.bwd_diff(steep)(1.0, 1.0, -1.0) == (-2.0, -1.0)
    assert sa.fwd_diff(steep)(sa.diff_pair(1.0, 1.0), sa.diff_pair(1.0, 0.0)).d == 100.0
    assert numbers(sa.bwd_diff(long)(float2(0), 1.0)) == pytest.approx([3.0, 4.0])
    assert sa.bwd_diff(stepped)(0.5, 10.0) == 1.0
    assert sa.bwd_diff(explodes)(0.0, 1.0) == 1.0
    assert sa.bwd_diff(explodes)(-1.0, 1.0) == 0.0


@sa.differentiable
def steep_of_double(x: float) -> float:
    return 0.001 * steep(x, x * x)


def test_clip_gradient__inside_a_caller__clips_the_cotangent_that_arrives() -> None:
    assert sa.bwd_diff(steep_of_double)(3.0, 1.0) == pytest.approx(0.1 + 0.001 * 6.0)
    assert sa.bwd_diff(steep_of_double)(3.0, 1000.0) == pytest.approx(2.0 + 6.0)


def test_subgradient__at_the_point__has_the_chosen_value() -> None:
    assert sa.bwd_diff(ramp)(0.0, 2.0) == 1.0
    assert sa.bwd_diff(ramp)(-0.0, 2.0) == 1.0
    assert sa.bwd_diff(ramp)(1.0, 2.0) == 6.0
    assert sa.fwd_diff(ramp)(sa.diff_pair(0.0, 2.0)).d == 1.0


# --- nested ----------------------------------------------------------------------------------------------------------


@sa.differentiable
def quartic(x: float) -> float:
    return x * x * x * x


@sa.differentiable
def slope_forward(x: float) -> float:
    return sa.fwd_diff(quartic)(sa.diff_pair(x, 1.0)).d


@sa.differentiable
def slope_backward(x: float) -> float:
    return sa.bwd_diff(quartic)(x, 1.0)


@sa.differentiable
def curvature(x: float) -> float:
    return sa.fwd_diff(slope_forward)(sa.diff_pair(x, 1.0)).d


def test_nested__second_and_third_derivatives() -> None:
    assert slope_forward(2.0) == 32.0
    assert slope_backward(2.0) == 32.0
    assert curvature(2.0) == 48.0
    assert sa.bwd_diff(slope_forward)(2.0, 1.0) == 48.0
    assert sa.fwd_diff(slope_backward)(sa.diff_pair(2.0, 1.0)).d == 48.0
    assert sa.fwd_diff(curvature)(sa.diff_pair(2.0, 1.0)).d == 48.0


def test_nested__reverse_of_reverse__is_refused() -> None:
    with pytest.raises(sa.DescriptionError, match="itself differentiated in reverse"):
        sa.bwd_diff(slope_backward)(2.0, 1.0)


@sa.differentiable
def newton(x: float) -> float:
    y = x
    while sa.max_iters(20) and abs(y * y - 2.0) > 0.0001:
        y = y - (y * y - 2.0) / sa.bwd_diff(square_less)(y, 1.0)
    return y


@sa.differentiable
def square_less(y: float) -> float:
    return y * y - 2.0


def test_bwd_diff__inside_a_body__works_like_any_call() -> None:
    assert newton(1.0) == pytest.approx(math.sqrt(2.0), abs=1e-4)


@sa.function
def pair_parts() -> float:
    pair = sa.diff_pair(2.0, 3)
    return pair.p * 10.0 + pair.d


def test_diff_pair__parts__are_of_one_type() -> None:
    assert pair_parts() == 23


def test_fwd_diff__value_where_a_pair_belongs__is_refused() -> None:
    with pytest.raises(TypeError, match="parameter x of smooth takes a pair"):
        sa.fwd_diff(smooth)(1.0, sa.diff_pair(1.0, 1.0))
    with pytest.raises(TypeError, match="parameter k of cube has no gradient"):
        sa.fwd_diff(cube)(sa.diff_pair(1.0, 1.0), sa.diff_pair(1.0, 1.0))


def test_bwd_diff__of_something_else__is_refused() -> None:
    with pytest.raises(sa.DescriptionError, match="takes a described function"):
        sa.bwd_diff(3)
    with pytest.raises(sa.DescriptionError, match="not differentiated"):
        sa.bwd_diff(not_differentiated)


STAND_IN = sa.extern("cosine", "lib.slang", "(x: float) -> float", differentiable=True, python=math.cos)


def soft(x: float) -> float:
    return x * 5.0


KNOWN = sa.extern("soft", "lib.slang", "(x: float) -> float", differentiable=True, python=soft)
UNKNOWN = sa.extern("hidden", "lib.slang", "(x: float) -> float")


@sa.differentiable
def uses_extern(x: float) -> float:
    return KNOWN(x) * x


@sa.function
def uses_unknown(x: float) -> float:
    return UNKNOWN(x)


def test_extern__stand_in__runs_and_is_differentiated() -> None:
    assert uses_extern(2.0) == 20
    assert sa.bwd_diff(uses_extern)(2.0, 1.0) == 20
    with pytest.raises(sa.DescriptionError, match="hidden is written in Slang"):
        uses_unknown(1.0)
