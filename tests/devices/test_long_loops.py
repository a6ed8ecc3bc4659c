"""Long loops have the gradients of float64, on every device, whatever reverse mode keeps of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import DEVICES, GPUS, largest, loaded, near

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.toolchain

LOOPS = Path(__file__).parent / "long_loops.py"
WORKLOADS = Path(__file__).parents[2] / "benchmarks" / "workloads"
STEP = 1e-30
"""Of the complex step: the derivative is the imaginary part over it, without cancellation."""
X = np.array([0.3, 0.7, 1.1], np.float32)
WEIGHTS = np.linspace(0.5, 1.5, 7).astype(np.float32)
ORDER = np.array([3, 1, 6, 0, 2], np.int32)


def total(x: complex, w: np.ndarray, n: int) -> complex:
    return x + x * x * float(np.sum(1.0 / (1.0 + np.arange(n))))


def product(x: complex, w: np.ndarray, n: int) -> complex:
    s, t = 0j, 1 + 0j
    for k in range(n):
        s += t / (1 + k)
        t *= 1 - 0.3 * x / (1 + k)
    return s + t


def dark(x: complex, w: np.ndarray, n: int) -> complex:
    s, t = 0j, 1 + 0j
    for k in range(n):
        s += t / (1 + k)
        t *= 1 - 0.1 * x * (3 + np.cos(k * x))
    return s + t


def recomputed(x: complex, w: np.ndarray, n: int) -> complex:
    s = x
    for k in range(n):
        s = s * 0.999 + 0.01 * np.sin(s * x) / (1 + 0.1 * k)
    return s


def left(x: complex, w: np.ndarray, n: int) -> complex:
    s, t = 0j, 1 + 0j
    for k in range(n):
        v = w[ORDER[k % len(ORDER)]]
        s += t * v * x
        t *= 1 - 0.01 * v * v * x
        if t.real < 0.2:
            break
    return s + t


def until(x: complex, w: np.ndarray, n: int) -> complex:
    s, k = x, 0
    while s.real < 2.8 and k < n:
        s = s + 0.01 * np.cos(s * w[k % len(w)]) + 0.02
        k += 1
    return 2 * s


def turned(x: complex, w: np.ndarray, n: int) -> complex:
    a, b, s = x, 0.5 + 0j, 0j
    for k in range(n):
        angle = 0.1 * w[k % len(w)]
        a, b = np.cos(angle) * a - np.sin(angle) * b, np.sin(angle) * a + np.cos(angle) * b
        s += a * b / (1 + k)
        if a.real > 1.15:
            break
    return s


def pulled(place: complex, speed: complex, x: complex, k: int) -> tuple[complex, complex]:
    later = speed - 0.01 * np.sin(place * x) / (1 + 0.01 * k)
    return place + 0.01 * later, later


def stepped(x: complex, w: np.ndarray, n: int) -> complex:
    place, speed = x, 0.5 + 0j
    for k in range(n):
        place, speed = pulled(place, speed, x, k)
    return place + speed * speed


def paired(x: complex, w: np.ndarray, n: int) -> complex:
    place, speed = first = pulled(x, 0.5 + 0j, x, 0)
    s = 0j
    for k in range(n):
        place, speed = pulled(place, speed, x, k)
        s += 0.001 * speed * first[0]
        if place.real > 1.4:
            break
    return s + place + speed * speed + first[1]


def traced(x: complex, w: np.ndarray, n: int) -> complex:
    place, speed = x, 0.3 + 0j
    for k in range(n):
        place, speed = pulled(place, speed, x, k)
        if place.real > 1.2:
            place, speed = pulled(place, speed, 2.0 + 0j, k)
            return place + speed * speed
        if speed.real < -0.05:
            return speed + place * place
    return place + 1.0


def blended(x: complex, w: np.ndarray, n: int) -> complex:
    light, t = 0j, 1 + 0j
    for k in range(n):
        light += t * np.sin(x * (k % 11)) * (k % 3) / (1 + k)
        t *= 1 - 0.3 * x / (1 + k)
    return light + t


def added(x: complex, w: np.ndarray, n: int) -> complex:
    k = np.arange(n)
    return complex(np.sum(0.3 * x / (1 + k) ** 2 * np.sin(x * (k % 11))))


def unturned(x: complex, w: np.ndarray, n: int) -> complex:
    a, b, s = x, 0.5 + 0j, 0j
    for k in range(n):
        t = 0.1 * w[k % len(w)] / (1 + 0.01 * k)
        cosine, sine = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
        a, b = cosine * a - sine * b, sine * a + cosine * b
        s += a * b / (1 + k)
    return s


def scattered(x: complex, w: np.ndarray, n: int) -> complex:
    light, t, u, events = 0j, 1 + 0j, 1 + 0j, 0
    for k in range(n):
        alpha = (0.15 if k % 2 == 0 else 0.3) * x / (1 + k)
        light += t * alpha
        if k % 3 == 1:
            continue
        light += t * u * alpha * (1 + events % 4)
        t *= 1 - alpha
        u *= 1 + 0.1 * alpha
        events += 1
    return light + t * u


def counted_down(x: complex, w: np.ndarray, n: int) -> complex:
    s, t = 0j, 1 + 0j
    for k in reversed(range(n)):
        for j in reversed(range(k % 3 + 1)):
            s = 0.9 * s + t * x * j / (1 + k)
        t *= 1 - 0.3 * x / (1 + k)
    return s + t


ALONE = (total, product, dark, recomputed, left, until, turned, scattered, counted_down)
OF_SEVERAL_VALUES = (stepped, paired, traced, blended, added, unturned)
"""Loops that call functions that return several values."""
REFERENCES = {f.__name__: f for f in (*ALONE, *OF_SEVERAL_VALUES)}
ON_GPUS = ("dark", "left", "recomputed", "turned", "scattered", *(f.__name__ for f in OF_SEVERAL_VALUES))
ROUNDED = ("product", "turned", "stepped", "unturned", "scattered", "counted_down")
"""Loops in which the rounding of 100,000 floats adds up to more than the tolerance."""
WITH_WEIGHTS = ("left", "until", "turned", "unturned")


def derivatives(value: Callable[..., complex], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values in float64, the gradient of their sum in x, and that in the weights."""
    w = WEIGHTS.astype(np.complex128)
    moved = [value(complex(x, STEP), w, n) for x in X.astype(np.float64)]
    in_w = np.zeros(len(w))
    if value.__name__ in WITH_WEIGHTS:
        for i in range(len(w)):
            one = w.copy()
            one[i] += 1j * STEP
            in_w[i] = sum(value(complex(x), one, n).imag / STEP for x in X.astype(np.float64))
    return np.array([v.real for v in moved]), np.array([v.imag / STEP for v in moved]), in_w


@pytest.mark.parametrize(
    ("name", "device"),
    [(name, "cpu") for name in REFERENCES] + [(n, d) for n in ON_GPUS for d in GPUS],
)
def test_loop__of_any_length__has_the_gradient_of_float64(cxx: object, name: str, device: str) -> None:
    kernel = loaded(LOOPS, device)[name]
    for n in (0, 1, 2, 255, 256, 100_000 if device == "cpu" and name not in ROUNDED else 3000):
        more = {"weights": WEIGHTS} if name in WITH_WEIGHTS else {}
        more |= {"order": ORDER} if name == "left" else {}
        found = kernel.backward(x=X, n=n, **more)
        value, in_x, in_w = derivatives(REFERENCES[name], n)
        near(kernel(x=X, n=n, **more), value, 1e-4, size=largest(value))
        near(found.grad["x"], in_x, 3e-4, size=largest(in_x))
        if more:
            near(found.grad["weights"], in_w, 3e-4, size=max(largest(in_w), 1e-3))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("workload", ["splats", "marching", "springs"])
def test_workload__in_small__has_the_derivative_of_float64(
    cxx: object, device: str, workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(WORKLOADS.parent))
    monkeypatch.delitem(sys.modules, "loops", raising=False)
    import loops

    given = loops.made(workload, 32)
    found = loaded(WORKLOADS / f"{workload}.py", device)[workload].backward(**given)
    errors = loops.error_of(workload, given, {k: np.asarray(v) for k, v in found.items()})
    assert max(errors) < 1e-5, errors
