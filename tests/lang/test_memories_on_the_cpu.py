"""Kernels with every memory compute on the CPU what they compute in Python: results, gradients and tangents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.memories import Case, case, drawn

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "lang" / "described" / "memories.py"
SAMPLES = ROOT / "samples"
RNG = np.random.default_rng(23)
Arguments = dict[str, object]


def uniform(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(np.float32)


def fit(of: Case) -> Arguments:
    table = np.array([0.5, 2.0, -1.0], np.float32)
    at = uniform(300, 2, low=0.1, high=2.9)
    return {"image": uniform(4, 5), "at": at, "m": drawn(of, "Layer", RNG), "scale": 1.5, "table": table}


def step(_: Case) -> Arguments:
    return {"v": uniform(1200), "x": uniform(600)}


def gather(_: Case) -> Arguments:
    return {"w": uniform(3, 2, 2), "k": RNG.integers(0, 3, 700).astype(np.int32), "x": uniform(700)}


def look(_: Case) -> Arguments:
    return {"uv": uniform(500, 2, low=-0.3, high=1.3), "t": uniform(3, 4, 3), "r": uniform(2, 5)}


def taps(_: Case) -> Arguments:
    return {"uv": uniform(400, 2, low=-1.3, high=2.3), "m": uniform(3, 5), "n": uniform(4, 3)}


def halve(_: Case) -> Arguments:
    return {"image": uniform(34, 18, 3), "small": np.zeros((17, 9, 3), np.float32)}


def rewrite(_: Case) -> Arguments:
    return {"x": uniform(150), "w": uniform(2), "out": np.zeros(150, np.float32)}


def kinds(of: Case) -> Arguments:
    k, on = RNG.integers(0, 5, 140).astype(np.int32), RNG.integers(0, 2, 140).astype(bool)
    h, u, d = uniform(2).astype(np.float16), np.array([3], np.uint32), np.array([1.0, 2.0])
    return {
        "m": uniform(2, 2, 2), "h": h, "k": k, "on": on, "u": u, "d": d, "s": drawn(of, "Mixture", RNG),
        "x": uniform(140),
    }  # fmt: skip


def box(_: Case) -> Arguments:
    return {"w": uniform(3, 4, 5), "out": np.zeros((5, 4, 3), np.float32)}


def loss(of: Case) -> Arguments:
    return {"at": uniform(20, 2), "net": drawn(of, "Network", RNG)}


def half_loss(of: Case) -> Arguments:
    return {"at": uniform(20, 2), "net": drawn(of, "HalfNetwork", RNG)}


def fit_texture(of: Case) -> Arguments:
    albedo = uniform(5, 6, 3, low=0.0)
    return {"at": uniform(90, 2), "seen": uniform(90, 3), "albedo": albedo, "placement": drawn(of, "Placement", RNG)}


def potential(of: Case) -> Arguments:
    first = RNG.integers(0, 10, 200).astype(np.int32)
    second = (first + RNG.integers(1, 10, 200).astype(np.int32)) % 10
    rest, positions = uniform(200, low=0.2), uniform(10, 2)
    return {"first": first, "second": second, "rest": rest, "positions": positions, "m": drawn(of, "Material", RNG)}


def advance(_: Case) -> Arguments:
    moved = np.zeros((70, 2), np.float32)
    return {"positions": uniform(70, 2), "velocities": uniform(70, 2), "dt": 0.1, "moved": moved}


CASES: list[tuple[Path, str, Callable[[Case], Arguments], float]] = [
    *((FILE, make.__name__, make, 2e-5) for make in (fit, halve, step, gather, look, taps, rewrite, box)),
    (FILE, "kinds", kinds, 2e-3),
    (SAMPLES / "mlp" / "mlp.py", "loss", loss, 5e-5),
    (SAMPLES / "mlp" / "mlp.py", "half_loss", half_loss, 2e-2),
    (SAMPLES / "texture_fit" / "texture_fit.py", "fit", fit_texture, 2e-5),
    (SAMPLES / "particles" / "particles.py", "potential", potential, 2e-5),
    (SAMPLES / "particles" / "particles.py", "advance", advance, 2e-5),
]


@pytest.fixture(scope="module")
def loaded() -> dict[Path, Case]:
    return {}


@pytest.mark.toolchain
@pytest.mark.parametrize(("file", "kernel", "make", "tolerance"), CASES, ids=[f"{f.stem}-{k}" for f, k, *_ in CASES])
def test_kernel__on_the_cpu__is_what_python_says(
    loaded: dict[Path, Case], file: Path, kernel: str, make: Callable[[Case], Arguments], tolerance: float
) -> None:
    of = loaded.setdefault(file, case(file))
    of.check(kernel, make(of), RNG, tolerance=tolerance)


def test_kernels__of_the_file__are_all_compared() -> None:
    described = {name for name, value in case(FILE).python.items() if type(value).__name__ == "KernelObject"}
    assert described == {kernel for file, kernel, *_ in CASES if file == FILE}
