"""A kernel that scatters to many tensors: each gets its own gradient, whether groups keep its sums or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import loaded, near

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("many_tensors.py")
TENSORS = 17
SIZE = 700


@pytest.mark.parametrize("device", ["cpu", "vulkan", "cuda"])
def test_scattered__to_many_tensors__gives_each_its_own(cxx: object, device: str) -> None:
    kernels = loaded(DESCRIBED, device)
    rng = np.random.default_rng(3)
    at = rng.integers(0, SIZE, 70_001).astype(np.int32)
    seed = rng.uniform(0.5, 1.5, len(at)).astype(np.float32)
    shapes = [(SIZE, 3) if n % 5 == 3 else (SIZE,) for n in range(TENSORS)]
    out = kernels.many.backward(at, *(np.ones(shape, np.float32) for shape in shapes), cotangent=seed)
    sums = np.bincount(at, seed.astype(np.float64), SIZE)
    for n, shape in enumerate(shapes):
        wanted = np.zeros(shape)
        wanted[(slice(None), 1) if len(shape) > 1 else slice(None)] = (n + 1) * sums
        near(out.grad[f"w{n}"], wanted)
