"""Measure value and gradients of long loops: ``python benchmarks/loops.py --device cuda --device vulkan``.

Three workloads (benchmarks/workloads), each written as a user would:

splats    512 x 512 pixels, 20,000 gaussians, tiles of 16 x 16, about 95 gaussians a tile, at most 256
marching  512 x 512 rays, 128 steps through a grid of 64^3 densities with trilinear reads
springs   2^16 chains of four masses, 200 leapfrog steps

On the CPU: 128 x 128 pixels and rays (1250 gaussians), 2^12 chains. Times as in ``gradients.py``: the median of
5 x 10 runs, buffers on the device. ``error`` is that of the derivative along a random direction in all inputs, against
float64 by a complex step (``--check``, slow in full size). JAX (``--peers``) has a scan over the iterations. gsplat has
its ``rasterize_to_pixels`` for splats on CUDA, called from torch, and as a captured CUDA graph. It leaves out gaussians
with an alpha below 1/255, and ends a pixel at a transmittance of 1e-4, so its values differ slightly. ``loss`` is
slangad's, and for others the relative difference from it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from gradients import median_us, resident_backward

import slangad as sa

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
WORKLOADS = ("splats", "marching", "springs")
Arrays = dict[str, np.ndarray]
TILE = 16
MOST = 256
"""Gaussians of a tile."""


def made(workload: str, size: int) -> Arrays:
    """Return the inputs of a workload by slangad's keys; ``size`` is the side of the image, or that of 2^16 chains."""
    rng = np.random.default_rng(12)
    if workload == "splats":
        return splats_inputs(rng, size)
    if workload == "marching":
        side = max(4, size // 8)
        grid = rng.uniform(0, 2, (side, side, side))
        return _floats({"seen": rng.uniform(0, 1, (size, size)), "grid": grid})
    shape = (size * size // 4, 4)
    given = {"place": rng.uniform(-1, 1, shape), "velocity": rng.uniform(-1, 1, shape)}
    return _floats(given | {"stiffness": rng.uniform(0.5, 2, shape), "last": rng.uniform(0.5, 2, shape[0])})


def _floats(given: Arrays) -> Arrays:
    return {k: v.astype(np.float32) for k, v in given.items()}


def splats_inputs(rng: np.random.Generator, size: int) -> Arrays:
    """Return gaussians, and for each tile the list of those within three radii."""
    number, tiles = 20000 * size * size // (512 * 512), size // TILE
    mean, radius = rng.uniform(0, size, (number, 2)).astype(np.float32), rng.uniform(2, 6, number)
    low, high = (((mean[:, ::-1] + side * radius[:, None]) // TILE).astype(int) for side in (-3, 3))
    first, count, order = sa.bin(low, high + 1, tiles=(tiles, tiles), capacity=16 * number)
    floats = _floats({
        "seen": rng.uniform(0, 1, (size, size, 3)),
        "conic": np.stack([radius**-2.0, 0 * radius, radius**-2.0], -1),
        "color": rng.uniform(0, 1, (number, 3)),
        "opacity": rng.uniform(0.2, 0.9, number),
    })  # fmt: skip
    lists = {"order": order, "first": first.reshape(-1), "count": np.minimum(count, MOST).reshape(-1)}
    return floats | lists | {"mean": mean, "tiles": np.int32(tiles)}


# --- the values, in numpy (float64 and complex) and in JAX ---


def splats_value(xp: object, given: Arrays, scan: Callable) -> object:
    """Return the mean squared error of the image."""
    size, tiles = given["seen"].shape[0], int(given["seen"].shape[0]) // TILE
    row, column = xp.meshgrid(xp.arange(size), xp.arange(size), indexing="ij")
    tile = (row // TILE) * tiles + column // TILE
    first, count = given["first"][tile], given["count"][tile]

    def step(state: tuple, k: object) -> tuple:
        light, through = state
        g = given["order"][xp.minimum(first + k, len(given["order"]) - 1)]
        mean, q = given["mean"][g], given["conic"][g]
        dx, dy = column - mean[..., 0], row - mean[..., 1]
        power = -0.5 * (q[..., 0] * dx * dx + q[..., 2] * dy * dy) - q[..., 1] * dx * dy
        full = given["opacity"][g] * xp.exp(power)
        alpha = xp.where(k < count, xp.where(full.real < 0.99, full, 0.99), 0.0)
        light = light + given["color"][g] * (alpha * through)[..., None]
        return light, through * (1 - alpha)

    start = (
        given["color"].dtype.type(0) * xp.ones((size, size, 3)),
        given["color"].dtype.type(1) * xp.ones((size, size)),
    )
    light, _ = scan(step, start, MOST)
    error = light - given["seen"]
    return (error * error).sum() / (size * size)


def marching_value(xp: object, given: Arrays, scan: Callable) -> object:
    """Return the mean squared error of the image."""
    size, grid, steps = given["seen"].shape[0], given["grid"], 128
    side = grid.shape[0]
    y, x = xp.meshgrid((xp.arange(size) + 0.5) / size, (xp.arange(size) + 0.5) / size, indexing="ij")

    def step(state: tuple, turn: object) -> tuple:
        light, through = state
        z = (turn + 0.5) / steps
        at = [xp.clip(v * (side - 1), 0.0, side - 1.001) for v in (x + 0.2 * (z - 0.5) * y, y, z + 0 * x)]
        k, j, i = (v.astype(int) for v in at)
        f, g, h = (v - n for v, n in zip(at, (k, j, i), strict=True))

        def line(i: object, j: object) -> object:
            return grid[i, j, k] * (1 - f) + grid[i, j, k + 1] * f

        front = line(i, j) * (1 - g) + line(i, j + 1) * g
        back = line(i + 1, j) * (1 - g) + line(i + 1, j + 1) * g
        passed = xp.exp(-(front * (1 - h) + back * h) * (4.0 / steps))
        return light + through * (1 - passed) * (0.2 + z), through * passed

    start = (grid.dtype.type(0) * x, grid.dtype.type(0) * x + 1)
    light, _ = scan(step, start, steps)
    error = light - given["seen"]
    return (error * error).sum() / (size * size)


def springs_value(xp: object, given: Arrays, scan: Callable) -> object:
    """Return the mean energy."""
    stiffness = given["stiffness"]
    pull = xp.concatenate([stiffness[:, 1:], given["last"][:, None]], 1)

    def step(state: tuple, _: object) -> tuple:
        x, v = state
        nothing = 0 * x[:, :1]
        left = x - xp.concatenate([nothing, x[:, :3]], 1)
        right = xp.concatenate([x[:, 1:], nothing], 1) - x
        v = v + (pull * (right + 0.3 * right**3) - stiffness * (left + 0.3 * left**3)) * 0.02
        return x + v * 0.02, v

    x, v = scan(step, (given["place"] + 0 * stiffness, given["velocity"] + 0 * stiffness), 200)
    return ((x * x).sum() + 0.5 * (v * v).sum()) / len(x)


VALUES = {"splats": splats_value, "marching": marching_value, "springs": springs_value}
FIXED = ("seen", "order", "first", "count", "tiles")
"""Inputs without gradient."""


def _loop(step: Callable, state: tuple, count: int) -> tuple:
    for k in range(count):
        state = step(state, k)
    return state


def error_of(workload: str, given: Arrays, found: Arrays) -> tuple[float, float]:
    """Return the errors of the value and of the derivative along a random direction, relative to float64."""
    rng = np.random.default_rng(5)
    exact = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in given.items()}
    moving = {k: rng.standard_normal(v.shape) * np.abs(v).mean() for k, v in exact.items() if k not in FIXED}
    step = 1e-30
    moved = exact | {k: exact[k] + 1j * step * v for k, v in moving.items()}
    value = VALUES[workload](np, moved, _loop)
    along = sum(float((found[f"grad.{k}"].astype(np.float64) * v).sum()) for k, v in moving.items())
    size = sum(float(((found[f"grad.{k}"] * v) ** 2).sum()) for k, v in moving.items()) ** 0.5
    return abs(float(found["result"]) / value.real - 1), abs(along - value.imag / step) / size


def slangad_time(device_name: str, workload: str, size: int, *, check: bool) -> dict[str, float]:
    """Return slangad's time in microseconds, and the errors."""
    given = made(workload, size)
    us, found, *_ = resident_backward(f"{workload}.py:{workload}", given, device_name, cache=None)
    norms = {k: float(np.linalg.norm(v.astype(np.float64))) for k, v in sorted(found.items())}
    errors = dict(zip(("value", "gradient"), error_of(workload, given, found), strict=True)) if check else {}
    return {"us": us, "loss": float(found["result"]), **errors, "norms": norms}


def jax_time(device_name: str, workload: str, size: int, *, check: bool) -> dict[str, float]:
    """Return JAX's time in microseconds, and the errors."""
    import jax
    import jax.numpy as jnp

    given = made(workload, size)
    given.pop("tiles", None)
    where = jax.devices("cpu" if device_name == "cpu" else "gpu")[0]
    fixed = {k: jax.device_put(v, where) for k, v in given.items() if k in FIXED}
    moving = {k: jax.device_put(v, where) for k, v in given.items() if k not in FIXED}

    def scan(step: Callable, state: tuple, count: int) -> tuple:
        state = jax.tree.map(lambda v: v.astype(jnp.float32), state)
        return jax.lax.scan(lambda s, k: (step(s, k), None), state, jnp.arange(count))[0]

    step = jax.jit(jax.value_and_grad(lambda p: VALUES[workload](jnp, {**fixed, **p}, scan)))
    value, gradients = step(moving)
    found = {f"grad.{k}": np.asarray(v) for k, v in gradients.items()} | {"result": np.asarray(value)}
    last = [step(moving)]

    def run() -> None:
        last[0] = step(moving)

    us = median_us(run, lambda: jax.block_until_ready(last[0]), 3 if device_name == "cpu" else 10)
    errors = dict(zip(("value", "gradient"), error_of(workload, given, found), strict=True)) if check else {}
    return {"us": us, "loss": float(value), **errors}


def gsplat_lists(given: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Return where the list of each tile begins, (1, rows, columns), and the gaussians of all tiles in one list."""
    begins = np.cumsum(given["count"]) - given["count"]
    entries = np.repeat(given["first"] - begins, given["count"]) + np.arange(given["count"].sum())
    side = int(given["tiles"])
    return begins.reshape(1, side, side).astype(np.int32), given["order"][entries].astype(np.int32)


def gsplat_time(device_name: str, workload: str, size: int, *, check: bool, graph: bool) -> dict[str, float]:
    """Return gsplat's time in microseconds, and the errors, which contain the gaussians that it leaves out.

    gsplat has the centres of pixels at halves, so means move by a half. With ``graph``, a CUDA graph has the calls.
    """
    import gsplat
    import torch

    given = made(workload, size)
    where = torch.device("cpu" if device_name == "cpu" else "cuda")
    begins, entries = (torch.tensor(v, device=where) for v in gsplat_lists(given))
    seen = torch.tensor(given["seen"], device=where)[None]
    moving = {k: torch.tensor(given[k], device=where)[None] for k in ("mean", "conic", "color", "opacity")}
    moving["mean"] += 0.5
    for value in moving.values():
        value.requires_grad_()

    def step() -> tuple[torch.Tensor, ...]:
        image, _ = gsplat.rasterize_to_pixels(*moving.values(), size, size, TILE, begins, entries)
        loss = torch.nn.functional.mse_loss(image, seen, reduction="sum") / size**2
        return loss.detach(), *torch.autograd.grad(loss, [*moving.values()])

    run, last = step, step()
    if graph:
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            last = step()
        run = captured.replay
        run()
    values = [v.cpu().numpy() for v in last]
    found = {f"grad.{k}": v[0] for k, v in zip(moving, values[1:], strict=True)} | {"result": values[0]}
    us = median_us(run, (lambda: None) if device_name == "cpu" else torch.cuda.synchronize, 10)
    errors = dict(zip(("value", "gradient"), error_of(workload, given, found), strict=True)) if check else {}
    return {"us": us, "loss": float(values[0]), **errors}


LIBRARIES = {
    "slangad": slangad_time,
    "jax": jax_time,
    "gsplat": partial(gsplat_time, graph=False),
    "gsplat graph": partial(gsplat_time, graph=True),
}


def runs(library: str, device: str, workload: str) -> bool:
    """Return True if a library has a workload on a device."""
    return not library.startswith("gsplat") or (device, workload) == ("cuda", "splats")


def measured(library: str, device: str, workload: str, size: str, *, check: bool) -> dict | str:
    """Return the row of a process of its own, or why there is none."""
    if not importlib.util.find_spec(library.partition(" ")[0]):
        return f"{library.partition(' ')[0]} is not installed"
    command = [sys.executable, __file__, "--one", library, device, workload, size, *(["--check"] if check else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table; each library, device and workload has a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="cpu, cuda, vulkan or webgpu; repeatable")
    parser.add_argument("--workload", action="append", choices=WORKLOADS, help="repeatable")
    parser.add_argument("--size", type=int, help="side of the image in place of 512, or of 128 on the CPU")
    parser.add_argument("--check", action="store_true", help="compare with float64")
    parser.add_argument("--peers", action="store_true", help="JAX and gsplat too")
    parser.add_argument("--library", action="append", choices=LIBRARIES, help="only this one; repeatable")
    parser.add_argument("--one", nargs=4, metavar=("LIBRARY", "DEVICE", "WORKLOAD", "SIZE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        library, device, workload, size = arguments.one
        print(json.dumps(LIBRARIES[library](device, workload, int(size), check=arguments.check)))
        return
    print("| device | workload | library | µs | loss | error of value | of gradient | norms |")
    print("|---|---|---|---|---|---|---|---|")
    failed = False
    for device in arguments.device or ["cpu"]:
        size = str(arguments.size or (128 if device == "cpu" else 512))
        for workload in arguments.workload or WORKLOADS:
            own = None
            for library in arguments.library or (LIBRARIES if arguments.peers else ("slangad",)):
                if not runs(library, device, workload):
                    continue
                row = measured(library, device, workload, size, check=arguments.check)
                if isinstance(row, str):
                    failed |= not row.endswith("is not installed")
                    print(f"| {device} | {workload} | {library} | {row} | | | | |", flush=True)
                    continue
                own = row["loss"] if library == "slangad" else own
                loss = f"{row['loss']:.7g}" if library == "slangad" or not own else f"{row['loss'] / own - 1:+.1e}"
                errors = " | ".join(f"{row[k]:.1e}" if k in row else "" for k in ("value", "gradient"))
                norms = " ".join(f"{k} {v:.5g}" for k, v in row.get("norms", {}).items())
                us = f"{row['us']:.0f}"
                print(f"| {device} | {workload} | {library} | {us} | {loss} | {errors} | {norms} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
