"""Groups run loops for whole tiles: gradients are those of float64, in domains of any shape and with dark ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import DEVICES, loaded, near
from support.tile_lists import SHAPES, Arrays, along, floats, least, lists

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).with_name("tile_loops.py")


def splats(shape: tuple[int, int], opacity: tuple[float, float], rng: np.random.Generator) -> Arrays:
    """Return gaussians with lists, and what else an image needs."""
    number = 90
    return lists(shape, number, rng) | {
        "mean": floats(rng, 0, 1, number, 2) * np.float32(shape[::-1]),
        "conic": floats(rng, 0.02, 0.1, number, 3) * np.float32([1, 0.3, 1]),
        "color": floats(rng, 0, 1, number, 3),
        "opacity": floats(rng, *opacity, number),
        "gain": floats(rng, 0.5, 1.5, *shape),
        "behind": floats(rng, 0, 1, 3),
    }


def rendered(given: Arrays, seed: np.ndarray, most: int, left: float = 0.0, *, skips: bool = False) -> np.ndarray:
    """An image; what is below ``left`` stays as it is. If it ``skips``, nothing makes it so, nor has a small part."""
    row, column = np.meshgrid(*(np.arange(n) for n in given["gain"].shape), indexing="ij")
    start = given["first"][row // 16, column // 16]
    count = np.minimum(given["first"][row // 16, column // 16 + 1] - start, most)
    light, through, going = 0j * seed, 0j * row + 1, np.ones(row.shape, bool)
    for k in range(count.max()):
        g = given["order"][np.minimum(start + k, len(given["order"]) - 1)]
        x, y = column - given["mean"][g][..., 0], row - given["mean"][g][..., 1]
        q = given["conic"][g]
        power = -0.5 * (q[..., 0] * x * x + q[..., 2] * y * y) - q[..., 1] * x * y
        alpha = least(given["opacity"][g] * np.exp(power), 0.99)
        if skips:
            alpha = np.where((power.real > 0) | (alpha.real < 1 / 255), 0, alpha)
            going &= (through * (1 - alpha)).real >= left
        alpha = np.where((k < count) & going, alpha, 0)
        going &= (through * (1 - alpha)).real >= left
        light = light + given["color"][g] * (alpha * through)[..., None]
        through = through * (1 - alpha)
    return given["gain"][..., None] * (light + given["behind"] * through[..., None]) * seed


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("kernel", "opacity", "left"),
    [
        ("render", (0.05, 0.4), 0.0),
        ("render", (0.9, 3.0), 0.0),
        ("veils", (0.05, 0.4), 0.05),
        ("veils", (0.9, 3.0), 0.05),
        ("dimmed", (0.9, 3.0), 0.05),
        ("gaussians", (0.05, 0.4), 0.05),
        ("gaussians", (0.9, 3.0), 0.05),
    ],
    ids=["glass", "opaque", "leaving", "leaving at once", "checked first", "skipping", "skipping and leaving at once"],
)
def test_images__have_the_gradients_of_float64__also_where_nothing_passes(
    cxx: object, device: str, shape: tuple[int, int], kernel: str, opacity: tuple[float, float], left: float
) -> None:
    rng = np.random.default_rng(shape)
    given = splats(shape, opacity, rng)
    seed = floats(rng, -1, 1, *shape, 3)
    found = loaded(FILE, device)[kernel].backward(**given, most=120, cotangent=seed)
    wide, skips = seed.astype(np.float64), kernel == "gaussians"
    along(lambda arrays: rendered(arrays, wide, 120, left, skips=skips), given, dict(found.grad), rng)


def counted(kernel: str, given: Arrays, seed: np.ndarray, most: int) -> np.ndarray:
    """An image whose rays count the gaussians that they meet: nothing, or the sixth, ends a ray; or places weigh."""
    row, column = np.meshgrid(*(np.arange(n) for n in given["gain"].shape), indexing="ij")
    start, limited = given["first"][row // 16, column // 16], kernel == "limited"
    count = np.minimum(given["first"][row // 16, column // 16 + 1] - start, most)
    light, through, going = 0j * seed, 0j * row + 1, np.ones(row.shape, bool)
    number, bright = np.zeros(row.shape, int), np.zeros(row.shape, bool)
    for k in range(count.max()):
        g = given["order"][np.minimum(start + k, len(given["order"]) - 1)]
        x, y = column - given["mean"][g][..., 0], row - given["mean"][g][..., 1]
        q = given["conic"][g]
        power = -0.5 * (q[..., 0] * x * x + q[..., 2] * y * y) - q[..., 1] * x * y
        alpha = least(given["opacity"][g] * np.exp(power), 0.99)
        if limited:
            alpha = np.where((power.real > 0) | (alpha.real < 1 / 255), 0, alpha)
            going &= (through * (1 - alpha)).real >= 0.05
        alpha = np.where((k < count) & going, alpha, 0)
        weight = 1 / (1 + 0.25 * number) if kernel == "faded" else np.ones(row.shape)
        light = light + given["color"][g] * (alpha * through * weight)[..., None]
        through = through * (1 - alpha)
        number += alpha.real > (0 if limited else 0.01)
        bright |= alpha.real > 0.5
        going &= (number < 6) | (not limited)
    image = given["gain"][..., None] * (light + given["behind"] * through[..., None]) * seed
    shown = np.where(bright, 1, 0.5) if kernel == "counted" else np.ones(row.shape)
    return image * (shown * (1 if kernel == "faded" else 1 + 0.125 * number))[..., None]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("opacity", [(0.05, 0.4), (0.9, 3.0)], ids=["glass", "opaque"])
@pytest.mark.parametrize("kernel", ["counted", "limited", "faded"])
def test_images__that_count_what_rays_meet__have_the_gradients_of_float64(
    cxx: object, device: str, shape: tuple[int, int], kernel: str, opacity: tuple[float, float]
) -> None:
    rng = np.random.default_rng(shape)
    given = splats(shape, opacity, rng)
    seed = floats(rng, -1, 1, *shape, 3)
    found = loaded(FILE, device)[kernel].backward(**given, most=120, cotangent=seed)
    along(lambda arrays: counted(kernel, arrays, seed.astype(np.float64), 120), given, dict(found.grad), rng)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums__that_a_counter_ends__have_the_gradients_of_float64(
    cxx: object, device: str, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(shape)
    given = lists(shape, 70, rng) | {
        "mean": floats(rng, 0, 1, 70, 2) * np.float32(shape[::-1]),
        "power": floats(rng, -1, 1, 70),
    }
    seed = floats(rng, -1, 1, *shape)
    row, column = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    start = given["first"][row // 16, column // 16]
    count = given["first"][row // 16, column // 16 + 1] - start

    def value(arrays: Arrays) -> np.ndarray:
        total, met = 0j * row, np.zeros(row.shape, int)
        for k in range(count.max()):
            g = arrays["order"][np.minimum(start + k, len(arrays["order"]) - 1)]
            x, y = column - arrays["mean"][g][..., 0], row - arrays["mean"][g][..., 1]
            square = x * x + y * y
            near_ = (k < count) & (met < 7) & (square.real <= 300)
            total = total + np.where(near_, arrays["power"][g] / (1 + square), 0)
            met += near_
        return total * met * seed.astype(np.float64)

    found = loaded(FILE, device)["nearest"].backward(**given, cotangent=seed)
    along(value, given, dict(found.grad), rng)


def repeated(device: str, kernel: str, given: Arrays, **more: object) -> Arrays:
    """The gradients of a kernel with ``--deterministic``, the same bits five times."""
    found, *others = (loaded(FILE, device, deterministic=True)[kernel].backward(**given, **more) for _ in range(5))
    for other in others:
        assert {k: v.tobytes() for k, v in other.grad.items()} == {k: v.tobytes() for k, v in found.grad.items()}
    return dict(found.grad)


@pytest.mark.parametrize("device", DEVICES)
def test_deterministic_images__have_the_gradients_of_float64(cxx: object, device: str) -> None:
    """Some elements leave the loop early; small waves add nine numbers each by itself."""
    shape, rng = (37, 50), np.random.default_rng(5)
    given = splats(shape, (0.05, 0.4), rng)
    seed = floats(rng, -1, 1, *shape, 3)
    found = repeated(device, "veils", given, most=120, cotangent=seed)
    along(lambda arrays: rendered(arrays, seed.astype(np.float64), 120, 0.05), given, found, rng)


@pytest.mark.parametrize("device", DEVICES)
def test_deterministic_sums__of_tensors_alone__are_made_by_waves(cxx: object, device: str) -> None:
    shape, rng = (37, 50), np.random.default_rng(6)
    given = lists(shape, 70, rng) | {
        "mean": floats(rng, 0, 1, 70, 2) * np.float32(shape[::-1]),
        "power": floats(rng, -1, 1, 70),
    }
    seed = floats(rng, -1, 1, *shape)
    found = repeated(device, "warmth", given, cotangent=seed)
    along(lambda arrays: warmed(arrays, shape) * seed, given, found, rng)


def warmed(given: Arrays, shape: tuple[int, int], most: float = 1.0) -> np.ndarray:
    """What reaches each element: all of every third one of the list, and ``most`` of the others."""
    row, column = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    start = given["first"][row // 16, column // 16]
    count = given["first"][row // 16, column // 16 + 1] - start
    total = 0j * row
    for k in range(count.max()):
        g = given["order"][np.minimum(start + k, len(given["order"]) - 1)]
        x, y = column - given["mean"][g][..., 0], row - given["mean"][g][..., 1]
        part = given["power"][g] / (1 + x * x + y * y) * np.where(g % 3 == 0, 1.0, most)
        total = total + np.where(k < count, part, 0)
    return total


def heated(given: Arrays) -> np.ndarray:
    return (warmed(given, given["seen"].shape, 0.5) - given["seen"]) ** 2


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums__need_no_states(cxx: object, device: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape)
    given = lists(shape, 70, rng) | {
        "mean": floats(rng, 0, 1, 70, 2) * np.float32(shape[::-1]),
        "power": floats(rng, -1, 1, 70),
        "seen": floats(rng, 0, 1, *shape),
    }
    found = loaded(FILE, device)["heat"].backward(**given)
    near(
        found.result,
        heated({k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in given.items()}).sum().real,
    )
    along(heated, given, dict(found.grad), rng)
    along(heated, given, repeated(device, "heat", given), rng)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("shape", "most", "density"),
    [
        ((4, 8, 8), 1, 0.05),
        ((5, 9, 20), 130, 0.05),
        ((3, 2, 2), 65, 0.05),
        ((4, 8, 9), 0, 0.05),
        ((5, 9, 20), 40, -0.8),
    ],
)
def test_lists__of_three_axes__of_any_length__also_where_states_grow(
    cxx: object, device: str, shape: tuple[int, int, int], most: int, density: float
) -> None:
    rng = np.random.default_rng(shape)
    given = {"density": floats(rng, 0.2, 1, 150) * np.float32(density), "glow": floats(rng, 0, 1, 150)}
    i, j, k = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")

    def value(arrays: Arrays) -> np.ndarray:
        light, through = 0j * i, 0j * i + 1
        for n in range(most):
            at = i // 4 + 2 * (j // 8) + 3 * (k // 8) + n
            passed = np.exp(-arrays["density"][at] * (1 + 0.1 * np.sin(i + j * k)))
            light, through = light + through * (1 - passed) * arrays["glow"][at], through * passed
        return light * light

    found = loaded(FILE, device)["fog"].backward(**given, most=most, domain=shape)
    near(found.result, value({k: v.astype(np.float64) for k, v in given.items()}).sum().real)
    along(value, given, dict(found.grad), rng)
