"""Every scalar function of slangad's Slang module: value, reverse and forward mode against float64 formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.library import DTYPE, Floats, Found, Function, build, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.runtime.device.cpu_kernels import CpuModule

pytestmark = pytest.mark.toolchain

TYPES = ("float", "double", "half")
EPSILON = {t: float(np.finfo(DTYPE[t]).eps) for t in TYPES}
SMALLEST = {"half": 6.2e-5, "float": 1.2e-38, "double": 2.3e-308}
LARGEST = {"half": 6.5e4, "float": 3e38, "double": 1.7e308}


@dataclass(frozen=True)
class Row:
    """A function, the points it is tried at, and its slopes in each argument."""

    name: str
    points: Callable[[str], Floats]
    value: Callable[..., Floats]
    slopes: tuple[Callable[..., Floats], ...]


def magnitudes(type_: str, count: int = 60) -> Floats:
    """From the smallest normal number of the type to nearly the largest."""
    return np.exp(np.linspace(np.log(SMALLEST[type_]), np.log(LARGEST[type_]), count))


def positive(type_: str) -> Floats:
    return np.concatenate([magnitudes(type_), np.linspace(0.1, 5.0, 40)])[:, None]


def everywhere(type_: str) -> Floats:
    half = positive(type_)
    return np.concatenate([-half, [[0.0]], half])


def moderate(_type: str) -> Floats:
    return np.linspace(-8.0, 8.0, 129)[:, None]


def down_to_zero(type_: str) -> Floats:
    small = magnitudes(type_)[magnitudes(type_) < 8.0]
    return np.concatenate([moderate(type_)[:, 0], small, -small])[:, None]


def inside(type_: str) -> Floats:
    near = np.nextafter(np.array([1.0, -1.0], DTYPE[type_]), DTYPE[type_](0)).astype(float)
    return np.concatenate([np.linspace(-0.99, 0.99, 67), near, [SMALLEST[type_]]])[:, None]


def rounding(type_: str) -> Floats:
    halves = np.arange(-9, 9) + 0.5
    beside = np.nextafter(halves.astype(DTYPE[type_]), DTYPE[type_](99)).astype(float)
    whole = 2.0 / EPSILON[type_]
    return np.concatenate([everywhere(type_)[:, 0], halves, beside, [whole - 1, whole, whole / 2 - 0.5]])[:, None]


def powers(type_: str) -> Floats:
    bases = [SMALLEST[type_] * 1.01, 1e-3, 0.3, 1.0, 1.7, 20.0] + ([] if type_ == "half" else [1e-30, 1e-7, 1e9])
    return np.array([(x, y) for x in bases for y in (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5)])


def plane(type_: str) -> Floats:
    sizes = [0.25, 1.0, 3.0] + ([SMALLEST[type_] * 2, LARGEST[type_] / 4] if type_ != "half" else [])
    sides = [s * size for size in sizes for s in (-1.0, 0.7)]
    return np.array([(x, y) for x in sides for y in sides])


def divided(type_: str) -> Floats:
    """Dividends and divisors of every sign, also exact multiples; quotients are moderate."""
    drawn = np.random.default_rng(7).uniform(-9.0, 9.0, (200, 2)).astype(DTYPE[type_]).astype(float)
    exact = np.array([(x, y) for x in (-6.0, -1.5, 0.0, 0.75, 6.0) for y in (-3.0, -0.5, 0.5, 1.5)])
    return np.concatenate([drawn[np.abs(drawn[:, 1]) > 0.3], exact])


def blends(_type: str) -> Floats:
    places = (-0.5, 0.0, 0.2, 0.5, 0.9, 1.0, 2.0)
    return np.array([(a, a + w, a + w * t) for a in (-1.0, 0.5) for w in (0.5, 2.0) for t in places])


def zero(x: Floats, *_: Floats) -> Floats:
    return np.zeros_like(x)


def one(x: Floats, *_: Floats) -> Floats:
    return np.ones_like(x)


def _t(low: Floats, high: Floats, x: Floats) -> Floats:
    return np.clip((x - low) / (high - low), 0.0, 1.0)


def _rise(low: Floats, high: Floats, x: Floats) -> Floats:
    return 6.0 * _t(low, high, x) * (1.0 - _t(low, high, x)) / (high - low)


def _over_square(a: Floats, b: Floats) -> Floats:
    size = np.maximum(np.abs(a), np.abs(b))
    return (a / size) / ((a / size) ** 2 + (b / size) ** 2) / size


def _erf(x: Floats) -> Floats:
    return np.vectorize(math.erf)(x)


def _sigmoid(x: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, -x))


ROWS = [
    Row("sqrt", positive, np.sqrt, (lambda x: 0.5 / np.sqrt(x),)),
    Row("rsqrt", positive, lambda x: 1.0 / np.sqrt(x), (lambda x: -0.5 / np.sqrt(x) / x,)),
    Row("rcp", positive, lambda x: 1.0 / x, (lambda x: -1.0 / x / x,)),
    Row("exp2", moderate, np.exp2, (lambda x: np.exp2(x) * np.log(2.0),)),
    Row("log2", positive, np.log2, (lambda x: 1.0 / np.log(2.0) / x,)),
    Row("log10", positive, np.log10, (lambda x: 1.0 / np.log(10.0) / x,)),
    Row("expm1", down_to_zero, np.expm1, (np.exp,)),
    Row("log1p", positive, np.log1p, (lambda x: 1.0 / (1.0 + x),)),
    Row("erf", down_to_zero, _erf, (lambda x: 2.0 / np.sqrt(np.pi) * np.exp(-x * x),)),
    Row("relu", rounding, lambda x: np.maximum(x, 0.0), (lambda x: (x > 0.0) * 1.0,)),
    Row("sigmoid", moderate, _sigmoid, (lambda x: _sigmoid(x) * _sigmoid(-x),)),
    Row("softplus", down_to_zero, lambda x: np.logaddexp(0.0, x), (_sigmoid,)),
    Row("hypot", plane, np.hypot, (lambda x, y: x / np.hypot(x, y), lambda x, y: y / np.hypot(x, y))),
    Row("radians", moderate, np.radians, (lambda x: np.full_like(x, np.pi / 180.0),)),
    Row("degrees", moderate, np.degrees, (lambda x: np.full_like(x, 180.0 / np.pi),)),
    Row("asin", inside, np.arcsin, (lambda x: 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),)),
    Row("acos", inside, np.arccos, (lambda x: -1.0 / np.sqrt((1.0 - x) * (1.0 + x)),)),
    Row("floor", rounding, np.floor, (zero,)),
    Row("ceil", rounding, np.ceil, (zero,)),
    Row("trunc", rounding, np.trunc, (zero,)),
    Row("round", rounding, np.rint, (zero,)),
    Row("sign", everywhere, np.sign, (zero,)),
    Row("pow", powers, np.power, (lambda x, y: y * x ** (y - 1.0), lambda x, y: x**y * np.log(x))),
    Row("atan2", plane, np.arctan2, (lambda y, x: _over_square(x, y), lambda y, x: -_over_square(y, x))),
    Row("step", divided, lambda edge, x: (x >= edge) * 1.0, (zero, zero)),
    Row("fmod", divided, np.fmod, (one, lambda x, y: -np.trunc(x / y))),
    Row("mod", divided, np.mod, (one, lambda x, y: -np.floor_divide(x, y))),
    Row("floor_div", divided, np.floor_divide, (zero, zero)),
    Row(
        "smoothstep",
        blends,
        lambda a, b, x: _t(a, b, x) ** 2 * (3.0 - 2.0 * _t(a, b, x)),
        (
            lambda a, b, x: _rise(a, b, x) * (_t(a, b, x) - 1.0),
            lambda a, b, x: -_rise(a, b, x) * _t(a, b, x),
            _rise,
        ),
    ),
]
BY_NAME = {row.name: row for row in ROWS}


def function(name: str, type_: str, size: int = 1) -> Function:
    arity = len(BY_NAME[name].slopes)
    call = f"sa::{name}({', '.join(f'x{k}' for k in range(arity))})"
    return Function(f"{name}_{type_}{size}", call, arity, type_, size, size)


@pytest.fixture(scope="module")
def modules() -> dict[str, CpuModule]:
    return {type_: build([function(row.name, type_) for row in ROWS]) for type_ in TYPES}


def close(found: Floats, wanted: Floats, type_: str, what: str) -> None:
    """Asserts agreement to a few units in the last place; where the slope may have left the type, only great size."""
    beyond = np.abs(wanted) > LARGEST[type_] / 2.0
    np.testing.assert_allclose(
        found[~beyond], wanted[~beyond], rtol=24 * EPSILON[type_], atol=4 * SMALLEST[type_], err_msg=what
    )
    assert np.all(np.abs(found[beyond]) > LARGEST[type_] / 2.1), what


def at(
    modules: dict[str, CpuModule], name: str, type_: str, x: Floats, tangent: float, cotangent: float, arg: int
) -> Found:
    moved = np.zeros_like(x)
    moved[:, arg] = tangent
    return run(modules[type_], function(name, type_), x, moved, np.array([[cotangent]]))


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", BY_NAME)
def test_library__value_and_slopes__are_those_of_the_formula(
    name: str, type_: str, modules: dict[str, CpuModule]
) -> None:
    row = BY_NAME[name]
    x = row.points(type_).astype(DTYPE[type_]).astype(np.float64)
    with np.errstate(all="ignore"):
        value = row.value(*x.T)
        slopes = [slope(*x.T) for slope in row.slopes]
    for arg, slope in enumerate(slopes):
        found = at(modules, name, type_, x, 0.75, -1.5, arg)
        close(found.value[:, 0], value, type_, "value")
        close(found.forward_value[:, 0], value, type_, "value in forward mode")
        close(found.gradient[:, arg], -1.5 * slope, type_, f"reverse mode, argument {arg}")
        close(found.tangent[:, 0], 0.75 * slope, type_, f"forward mode, argument {arg}")


EDGES = [
    ("sqrt", (0.0,)),
    ("rsqrt", (0.0,)),
    ("rcp", (0.0,)),
    ("log2", (0.0,)),
    ("log10", (0.0,)),
    ("asin", (1.0,)),
    ("acos", (-1.0,)),
    ("acos", (1.5,)),
    ("pow", (0.0, 0.5)),
    ("pow", (-1.0, 0.5)),
    ("atan2", (0.0, 0.0)),
    ("fmod", (1.0, 0.0)),
    ("mod", (1.0, 0.0)),
]


@pytest.mark.parametrize(("name", "x"), EDGES)
def test_library__zero_tangent_at_infinite_slope__is_zero(
    name: str, x: tuple[float, ...], modules: dict[str, CpuModule]
) -> None:
    found = at(modules, name, "float", np.array([x]), 0.0, 0.0, 0)
    assert np.all(found.gradient == 0.0)
    assert np.all(found.tangent == 0.0)


def test_library__infinite_slope__is_infinite(modules: dict[str, CpuModule]) -> None:
    for name, x, slope in (("sqrt", 0.0, np.inf), ("acos", 1.0, -np.inf), ("asin", -1.0, np.inf)):
        found = at(modules, name, "float", np.array([[x]]), 1.0, 1.0, 0)
        assert found.gradient[0, 0] == found.tangent[0, 0] == slope, name


def test_library__base_zero_of_pow__has_its_limits(modules: dict[str, CpuModule]) -> None:
    found = at(modules, "pow", "float", np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.5]]), 1.0, 1.0, 0)
    assert found.gradient.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]


def test_library__origin_of_atan2__has_zero_gradient(modules: dict[str, CpuModule]) -> None:
    found = at(modules, "atan2", "float", np.array([[0.0, 0.0]]), 1.0, 1.0, 1)
    assert np.all(found.gradient == 0.0)
    assert np.all(found.tangent == 0.0)


def test_library__not_a_number__stays_one(modules: dict[str, CpuModule]) -> None:
    for name in ("sqrt", "floor", "round", "rcp", "log10"):
        assert np.isnan(at(modules, name, "float", np.array([[np.nan]]), 0.0, 0.0, 0).value[0, 0]), name
