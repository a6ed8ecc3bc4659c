"""The network of networks.py in NVIDIA Warp: tiles of samples, products by ``wp.tile_matmul``, a captured graph."""

import time
from collections.abc import Callable
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import warp as wp

INPUTS = 16
WEIGHTS = ("w1", "b1", "w2", "b2", "w3", "b3")
BLOCKS = {
    16: ((64, 128), (128, 128)),
    32: ((32, 128), (64, 128)),
    64: ((32, 128), (64, 256)),
    128: ((16, 128), (16, 256)),
}
"""Samples and threads of a block to try, by width; the faster one counts. Shared memory limits the samples."""


class Levels(NamedTuple):
    """A hash grid: the scale of each level, the cells of a side, the entries of a table, the factor of the hash."""

    scales: tuple[float, ...]
    sides: tuple[int, ...]
    table: int
    prime: int


def product_of(precision: str, name: str) -> Any:
    """Return the function of a matrix product; Warp needs one for each shape, with a name of its own."""
    if precision == "tf32":

        @wp.func(name=name)
        def product(a: Any, b: Any):
            return wp.tile_matmul(a, b, precision="tf32")

    else:

        @wp.func(name=name)
        def product(a: Any, b: Any):
            return wp.tile_matmul(a, b)

    return product


def network_kernel(width: int, rows: int, precision: str) -> Any:
    """Return the kernel of the loss of features; a block has ``rows`` samples, a column of a tile is a sample."""
    name = f"{width}_{rows}_{precision}"
    first_product, second_product, last_product = (product_of(precision, f"product_{n}_{name}") for n in range(3))
    matrix = wp.array2d[float]

    @wp.func
    def rectified(x: float):
        return wp.max(x, 0.0)

    @wp.func
    def squared(x: float):
        return x * x

    @wp.kernel(module="unique")
    def network(
        features: matrix,
        target: matrix,
        w1: matrix,
        b1: matrix,
        w2: matrix,
        b2: matrix,
        w3: matrix,
        b3: matrix,
        factor: float,
        loss: wp.array[float],
    ):
        first = wp.tid() * rows
        x = wp.tile_transpose(wp.tile_load(features, shape=(rows, INPUTS), offset=(first, 0)))
        z = first_product(wp.tile_load(w1, shape=(width, INPUTS)), x)
        h = wp.tile_map(rectified, z + wp.tile_broadcast(wp.tile_load(b1, shape=(width, 1)), shape=(width, rows)))
        z2 = second_product(wp.tile_load(w2, shape=(width, width)), h)
        g = wp.tile_map(rectified, z2 + wp.tile_broadcast(wp.tile_load(b2, shape=(width, 1)), shape=(width, rows)))
        y = last_product(wp.tile_load(w3, shape=(3, width)), g)
        answer = y + wp.tile_broadcast(wp.tile_load(b3, shape=(3, 1)), shape=(3, rows))
        seen = wp.tile_transpose(wp.tile_load(target, shape=(rows, 3), offset=(first, 0)))
        error = wp.tile_sum(wp.tile_map(squared, answer - seen))
        wp.tile_atomic_add(loss, error * factor, offset=(0,))

    return network


def features_kernel(levels: Levels) -> Any:
    """Return the kernel of a hash grid's features; a sample has a thread."""
    number = len(levels.scales)
    scales = wp.types.vector(length=number, dtype=float)(*levels.scales)
    sides = wp.types.vector(length=number, dtype=wp.uint32)(*levels.sides)
    size, prime = wp.uint32(levels.table), wp.uint32(levels.prime)

    @wp.func
    def entry(x: wp.uint32, y: wp.uint32, side: wp.uint32):
        found = y * side + x
        if side * side > size:
            found = (x ^ (y * prime)) % size
        return int(found)

    @wp.kernel(module="unique")
    def grid(at: wp.array[wp.vec2], table: wp.array2d[wp.vec2], features: wp.array2d[float]):
        n = wp.tid()
        for level in range(number):
            place = at[n] * scales[level] + wp.vec2(0.5, 0.5)
            fx = place[0] - wp.floor(place[0])
            fy = place[1] - wp.floor(place[1])
            x = wp.uint32(wp.floor(place[0]))
            y = wp.uint32(wp.floor(place[1]))
            x1 = x + wp.uint32(1)
            y1 = y + wp.uint32(1)
            low = table[level, entry(x, y, sides[level])] * (1.0 - fx) + table[level, entry(x1, y, sides[level])] * fx
            high = (
                table[level, entry(x, y1, sides[level])] * (1.0 - fx) + table[level, entry(x1, y1, sides[level])] * fx
            )
            value = low * (1.0 - fy) + high * fy
            features[n, 2 * level] = value[0]
            features[n, 2 * level + 1] = value[1]

    return grid


class Step:
    """Value and gradients on a device: ``run``, ``wait`` and ``results``."""

    def __init__(self, given: dict[str, np.ndarray], device: str, precision: str, levels: Levels | None) -> None:
        wp.init()
        self.device = wp.get_device("cpu" if device == "cpu" else "cuda:0")
        wp.set_device(self.device)
        self.precision = precision
        self.samples, self.width = len(given["target"]), len(given["b1"])
        shaped = {k: v[:, None] if k in ("b1", "b2", "b3") else v for k, v in given.items()}
        self.arrays = {
            k: wp.array(v, dtype=wp.vec2 if k in ("at", "table") else float, requires_grad=k not in ("at", "target"))
            for k, v in shaped.items()
        }
        self.grid, self.factor = None, 1 / self.samples
        if levels:
            self.grid, self.factor = features_kernel(levels), 1 / (3 * self.samples)
            self.arrays["x"] = wp.zeros((self.samples, INPUTS), dtype=float, requires_grad=True)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True)
        self.run = min(filter(None, starmap(self._built, BLOCKS[self.width])), key=self._time, default=None)
        if self.run is None:
            raise RuntimeError(f"no kernel of Warp fits this device: {self.refused}")
        self.run()

    def wait(self) -> None:
        """Wait for the device."""
        wp.synchronize_device(self.device)

    def results(self) -> dict[str, np.ndarray]:
        """Return the gradients, and the loss by the key ``loss``."""
        gradients = {k: v.grad.numpy() for k, v in self.arrays.items() if v.requires_grad}
        return gradients | {"loss": self.loss.numpy()[0]}

    def _built(self, rows: int, threads: int) -> Callable[[], None] | None:
        """Return a step with as many samples and threads a block, or None if the device refuses it."""
        try:
            step = self._step(rows, threads)
            step()
            if self.device.is_cpu:
                return step
            with wp.ScopedCapture(device=self.device) as capture:
                step()
            run = lambda: wp.capture_launch(capture.graph)  # noqa: E731
            run()
            self.wait()
        except Exception as refused:
            self.refused = refused
            return None
        return run

    def _step(self, rows: int, threads: int) -> Callable[[], None]:
        kernel = network_kernel(self.width, rows, self.precision)
        arrays = self.arrays
        inputs = [arrays["x"], arrays["target"], *[arrays[k] for k in WEIGHTS], self.factor]
        blocks = [self.samples // rows]
        cleared = [a.grad for a in arrays.values() if a.requires_grad]

        def step() -> None:
            for array in (self.loss, *cleared):
                array.zero_()
            with wp.Tape() as tape:
                if self.grid:
                    wp.launch(self.grid, self.samples, [arrays["at"], arrays["table"]], [arrays["x"]])
                wp.launch_tiled(kernel, dim=blocks, inputs=inputs, outputs=[self.loss], block_dim=threads)
            tape.backward(self.loss)

        return step

    def _time(self, run: Callable[[], None]) -> float:
        """Return the seconds of twenty runs."""
        self.wait()
        start = time.perf_counter()
        for _ in range(1 if self.device.is_cpu else 20):
            run()
        self.wait()
        return time.perf_counter() - start
