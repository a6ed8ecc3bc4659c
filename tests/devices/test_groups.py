"""What the threads of a group compute together has values and gradients of float64, in groups that are cut off too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import DEVICES, largest, loaded, near

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).with_name("groups.py")
Arrays = dict[str, np.ndarray]


def by_groups(size: int, compute: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Return what a function makes of each group of so many elements; it takes the first element's index, too."""
    parts = range(0, len(arrays[0]), size)
    return np.concatenate([compute(start, *(a[start : start + size] for a in arrays)) for start in parts])


def most(x: np.ndarray) -> np.ndarray:
    return np.take_along_axis(x, x.real.argmax(0)[None], 0)[0] if x.ndim > 1 else x[x.real.argmax()]


def softmax(given: Arrays) -> np.ndarray:
    def row(_: int, x: np.ndarray) -> np.ndarray:
        e = np.exp(x - most(x))
        return e / e.sum()

    return by_groups(64, row, given["heat"] * given["score"])


def normalize(given: Arrays) -> np.ndarray:
    def row(_: int, x: np.ndarray) -> np.ndarray:
        away = x - x.mean()
        return given["gain"][: len(x)] * away / np.sqrt((away * away).mean() + 0.01) + given["offset"]

    return by_groups(48, row, given["x"])


def prefix(given: Arrays) -> np.ndarray:
    def row(_: int, x: np.ndarray) -> np.ndarray:
        run = np.cumsum(given["rate"] * x, 0)
        return (run * run).sum(1) * (most(x)[0] + most(-x)[1])

    return by_groups(100, row, given["x"])


def blocks(given: Arrays) -> np.ndarray:
    squares = given["colour"] ** 2
    rows, columns = (range(0, size, step) for size, step in zip(squares.shape, (4, 16), strict=False))
    return np.stack([[squares[i : i + 4, j : j + 16].sum((0, 1)) for j in columns] for i in rows])


def diffuse(given: Arrays) -> np.ndarray:
    result = 0j * given["heat"]
    for i in range(0, result.shape[0], 8):
        for j in range(0, result.shape[1], 8):
            block = given["heat"][i : i + 8, j : j + 8]
            tile = np.zeros((10, 10), np.complex128)
            inside = (slice(1, 1 + block.shape[0]), slice(1, 1 + block.shape[1]))
            tile[inside] = block
            for _ in range(int(given["steps"])):
                own = tile[1:9, 1:9]
                around = tile[:8, 1:9] + tile[2:, 1:9] + tile[1:9, :8] + tile[1:9, 2:]
                new = own + given["rate"] * (around - 4 * own) + 0.1 * own * own
                tile[inside] = new[: block.shape[0], : block.shape[1]]
            result[i : i + 8, j : j + 8] = tile[inside]
    return result


def pull(given: Arrays) -> np.ndarray:
    away = given["body"][None] - given["at"][:, None]
    near_ = (away * away).sum(-1) + 0.5
    return (given["mass"][None, :, None] * away / (near_ * np.sqrt(near_))[..., None]).sum(1)


def tournament(given: Arrays) -> np.ndarray:
    def row(_: int, x: np.ndarray) -> np.ndarray:
        squares = np.zeros(16, np.complex128)
        squares[: len(x)] = x * x
        return x * squares[(5 * np.arange(len(x)) + 3) % 16] / (1 + squares.sum())

    return by_groups(16, row, given["x"])


MEANING: dict[str, Callable[[Arrays], np.ndarray]] = {
    f.__name__: f for f in (softmax, normalize, prefix, blocks, diffuse, pull, tournament)
}


def given_for(kernel: str, size: int, rng: np.random.Generator) -> Arrays:
    """Return arguments; the size is that of the first axis of the domain."""

    def draw(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(np.float32)

    match kernel:
        case "softmax":
            return {"score": draw(size) * 3, "heat": np.float32(1.5)}
        case "normalize":
            return {"x": draw(size), "gain": draw(48), "offset": np.float32(0.2)}
        case "prefix":
            return {"x": draw(size, 2), "rate": np.float32(0.3)}
        case "blocks":
            return {"colour": draw(size, 21, 3)}
        case "diffuse":
            return {"heat": draw(size, 13), "rate": np.float32(0.2), "steps": np.int32(5)}
        case "pull":
            return {"at": draw(size, 3), "body": draw(45, 3), "mass": abs(draw(45))}
        case _:
            return {"x": draw(size)}


def check(kernel: str, size: int, device: str) -> None:
    rng = np.random.default_rng(size)
    given = given_for(kernel, size, rng)
    exact = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in given.items()}
    meaning, program = MEANING[kernel], loaded(FILE, device)[kernel]
    values = meaning(exact).real
    seed, outputs = rng.uniform(-1, 1, values.shape).astype(np.float32), {}
    if kernel == "blocks":
        outputs = {"total": np.zeros(values.shape, np.float32)}
    found = program.forward(**given, **outputs)
    summed = kernel == "prefix"
    wanted = values.sum() if summed else values
    near(found["total" if kernel == "blocks" else "result"], wanted, size=largest(wanted))
    seed = np.ones_like(seed) if summed else seed
    cotangent = {} if summed else {"cotangent": {"total": seed} if kernel == "blocks" else seed}
    gradients = program.backward(**given, **outputs, **cotangent).grad
    for name, gradient in dict(gradients).items():
        for _ in range(2):
            direction = rng.standard_normal(exact[name].shape)
            moved = meaning(exact | {name: exact[name] + 1e-30j * direction}).imag / 1e-30
            wide = np.asarray(gradient, np.float64) * direction
            near(np.array(wide.sum()), np.array((moved * seed).sum()), size=float(np.linalg.norm(wide)) or 1.0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        ("softmax", (1, 63, 64, 203)),
        ("normalize", (48, 50, 1000)),
        ("prefix", (1, 100, 207)),
        ("blocks", (4, 9)),
        ("diffuse", (3, 8, 17)),
        ("pull", (1, 8, 19)),
        ("tournament", (16, 37)),
    ],
)
def test_groups__cut_off_or_not__have_values_and_gradients_of_float64(
    cxx: object, device: str, kernel: str, sizes: tuple[int, ...]
) -> None:
    for size in sizes:
        check(kernel, size, device)
