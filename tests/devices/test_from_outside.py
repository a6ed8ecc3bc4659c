"""Loops that a tile shares give gradients to what they are given: as float64 has them, in domains of any shape."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import DEVICES, largest, loaded, near
from support.tile_lists import SHAPES, Arrays, along, floats, least, lists

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import Mode, symbols
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).with_name("from_outside.py")
HALVED = ("order", "first", "mean", "color", "opacity", "gain")


def test_loops__with_gradients_from_outside__are_shared() -> None:
    module = run_passes(load(FILE))
    flows = {loop.kernel: (set(loop.per_element), set(loop.per_thread)) for loop in module.tile_loops}
    both = ({"dust"}, {"bright", "lens"})
    assert flows == {
        "seen_through": both, "left_early": both, "mist": ({"sight"}, {"thickness"}), "settled": ({"gain"}, set()),
    }  # fmt: skip


def splats(shape: tuple[int, int], opacity: tuple[float, float], rng: np.random.Generator) -> Arrays:
    number = 90
    return lists(shape, number, rng) | {
        "mean": floats(rng, 0, 1, number, 2) * np.float32(shape[::-1]),
        "color": floats(rng, 0, 1, number, 3),
        "opacity": floats(rng, *opacity, number),
        "lamp": floats(rng, 0.5, 1.5, -(-shape[0] // 16), -(-shape[1] // 16)),
        "gain": floats(rng, 0.5, 1.2, *shape),
        "veil": floats(rng, 0, 1, *shape, 2),
        "behind": floats(rng, 0, 1, 3),
        "lens.shift": floats(rng, -1, 1, 2),
        "lens.focus": floats(rng, 0.8, 1.2),
    }


def rendered(given: Arrays, seed: np.ndarray, most: int, *, leaves: bool) -> np.ndarray:
    row, column = np.meshgrid(*(np.arange(n) for n in given["gain"].shape), indexing="ij")
    tile = (row // 16, column // 16)
    start = given["first"][tile]
    count = np.minimum(given["first"][row // 16, column // 16 + 1] - start, most)
    veil, behind, bright = given["veil"], given["behind"], given["lamp"][tile]
    light, through = 0.3 * behind * veil[..., :1], 1 / (1 + veil[..., 1] ** 2) + 0j
    going = np.ones(row.shape, bool)
    for k in range(count.max()):
        g = given["order"][np.minimum(start + k, len(given["order"]) - 1)]
        x, y = (here - given["mean"][g][..., n] + given["lens.shift"][n] for n, here in enumerate((column, row)))
        bell = np.exp(-0.02 * given["lens.focus"] * (x * x + y * y))
        alpha = np.where(k < count, least(given["opacity"][g] * given["gain"] ** 2 * bell, 0.99), 0)
        if leaves:
            alpha = np.where((alpha.real < 1 / 255) | ~going, 0, alpha)
            going &= (through * (1 - alpha)).real >= 0.05
            alpha = np.where(going, alpha, 0)
        light = light + given["color"][g] * (alpha * through * bright)[..., None]
        through = through * (1 - alpha)
    return given["gain"][..., None] * (light + behind * through[..., None]) * seed


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("opacity", [(0.05, 0.4), (0.9, 3.0)], ids=["glass", "opaque"])
@pytest.mark.parametrize("kernel", ["seen_through", "left_early"])
def test_images__give_gradients_to_what_their_loops_are_given(
    cxx: object, device: str, shape: tuple[int, int], opacity: tuple[float, float], kernel: str
) -> None:
    rng = np.random.default_rng(shape)
    given = splats(shape, opacity, rng)
    seed = floats(rng, 0, 1, *shape, 3)
    found = loaded(FILE, device)[kernel].backward(**given, most=120, cotangent=seed)
    wide, leaves = seed.astype(np.float64), kernel == "left_early"
    value = lambda arrays: rendered(arrays, wide, 120, leaves=leaves)  # noqa: E731
    lens = {f"lens.{name}": gradient for name, gradient in found.grad["lens"].items()}
    along(value, given, {k: v for k, v in found.grad.items() if k != "lens"} | lens, rng)
    elements(value, given, "gain", np.asarray(found.grad["gain"]))


def elements(value: Callable[[Arrays], np.ndarray], given: Arrays, name: str, found: np.ndarray) -> None:
    """Compare the gradient of each element, which nothing but its own result depends on."""
    exact = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in given.items()}
    wanted = value(exact | {name: exact[name] + 1e-30j}).imag / 1e-30
    wanted = wanted.sum(-1) if wanted.ndim > found.ndim else wanted
    near(found, wanted, size=largest(wanted))


def halved(given: Arrays, seed: np.ndarray, most: int) -> np.ndarray:
    row, column = np.meshgrid(*(np.arange(n) for n in given["gain"].shape), indexing="ij")
    start = given["first"][row // 16, column // 16]
    count = np.minimum(given["first"][row // 16, column // 16 + 1] - start, most)
    light, through = 0j * seed + [0.1, 0, 0], 0j * row + 1
    for k in range(count.max()):
        g = given["order"][np.minimum(start + k, len(given["order"]) - 1)]
        x, y = (here - given["mean"][g][..., n] for n, here in enumerate((column, row)))
        q = x * x + y * y
        apart = q.real > 0
        near_ = np.where(apart, 0.5 / (1 + 1 / np.where(apart, q, 1)), 0.5)
        total = given["opacity"][g] * np.where(q.real > 9, 1.75, 3)
        alpha = np.where(k < count, least(given["gain"] * total * near_ / (1 + q), 0.9), 0)
        light = light + given["color"][g] * (alpha * through)[..., None]
        through = through * (1 - alpha)
    return light * seed


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_images__whose_iterations_have_loops__have_the_gradients_of_float64(
    cxx: object, device: str, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(shape)
    given = {k: v for k, v in splats(shape, (0.05, 0.4), rng).items() if k in HALVED}
    given["mean"][:9] = np.round(given["mean"][:9])  # where the distance is zero
    seed = floats(rng, 0, 1, *shape, 3)
    found = loaded(FILE, device)["settled"].backward(**given, most=120, cotangent=seed)
    along(lambda arrays: halved(arrays, seed, 120), given, dict(found.grad), rng)


@pytest.mark.parametrize("word", ["item", "state", "states", "lead", "common", "begin", "shared", "going"])
def test_values_from_outside__may_have_any_name(cxx: object, tmp_path: Path, toolchain: Toolchain, word: str) -> None:
    path = tmp_path / "named.py"
    path.write_text(re.sub(r"\bgain\b", word, FILE.read_text()))
    module = run_passes(load(path))
    emitted = emit_module(module)
    entries = symbols(e for e in emitted.entry_points if e.mode is Mode.BACKWARD)
    modules = tuple(emitted.libraries.items())
    defines = (("SLANGAD_WAVES", ""), ("SLANGAD_GROUP_ATOMICS", ""))
    job = CompileJob(emitted.file_name, emitted.text, entries, ("spirv",), modules=modules, defines=defines)
    (result,) = toolchain.compile([job])
    assert all(found.data for found in result.artefacts), result


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("shape", "most"), [((4, 8, 8), 1), ((5, 9, 20), 70), ((3, 2, 2), 65), ((6, 11, 9), 0)])
def test_lists__of_three_axes__give_gradients_to_elements(
    cxx: object, device: str, shape: tuple[int, int, int], most: int
) -> None:
    rng = np.random.default_rng(shape)
    given = {
        "density": floats(rng, 0.01, 0.03, 150),
        "glow": floats(rng, 0, 1, 150),
        "sight": floats(rng, 0.5, 1.5, *shape),
        "thickness": floats(rng, 0.8, 1.2),
    }
    i, j, k = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")

    def value(arrays: Arrays) -> np.ndarray:
        light, through = 0j * i, 0j * i + 1
        for n in range(most):
            at = i // 4 + 2 * (j // 8) + 3 * (k // 8) + n
            passed = np.exp(-arrays["density"][at] * arrays["sight"] * arrays["thickness"])
            light, through = light + through * (1 - passed) * arrays["glow"][at], through * passed
        return light * light

    found = loaded(FILE, device)["mist"].backward(**given, most=most)
    along(value, given, dict(found.grad), rng)
    elements(value, given, "sight", np.asarray(found.grad["sight"]))
