"""Measure how fast gradients of shared memory are: ``python benchmarks/gradients.py --device cuda --device vulkan``.

Three workloads (benchmarks/workloads) compute values and gradients:

W1  gradients of 3 shared parameters of a quadratic over 2^24 elements (2^22 on the CPU)
W2  a network 4-16-4 with leaky rectifiers, 2^20 inputs, all 148 gradients
W3  bilinear fit of a 1024 x 1024 float4 texture, 2^22 samples, spread over the texture or all in a 32 x 32 corner

A time is the median of 5 x 10 runs after three seconds of warm-up: wall clock until the device has finished, buffers on
the device, gradients from zero in every run. Each run is a submission; "together" has ten runs in one, as ``slangad
train`` submits its steps: a CUDA graph, or one command buffer. JAX uses ``jit`` of ``value_and_grad`` with the highest
matmul precision. Each library and workload has a separate process. Ratios are those of one run of this script.
slangad's gradients are compared with float64 sums. The last column is W3 with ``--deterministic``. ``--divide N`` makes
the work smaller.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
SIDE = 1024
WARM_UP = 3.0
"""Seconds of what is measured afterwards: a GPU is slower for a while after it was idle, or with pauses."""
WORKLOADS = ("W1", "W2", "W3 spread", "W3 hot")
FLOORS = {"W1": 16, "W2": 15, "W3 spread": 60, "W3 hot": 60}
"""Microseconds on an H200: bytes at 4.3 TB/s, or float32 operations at 60 TFLOP/s; W3 without its atomics."""
KINK = 1e-6
"""What rounding in float32 may take a unit of W2 across."""
FILES = {"W1": "quadratic", "W2": "mlp", "W3 spread": "gather", "W3 hot": "gather"}


def made(workload: str, divide: int, *, small: bool) -> dict[str, np.ndarray]:
    """Return the inputs of a workload by slangad's keys; ``small`` is for the CPU's W1."""
    rng = np.random.default_rng(0)
    f = np.float32
    if workload == "W1":
        count = (1 << (22 if small else 24)) // divide
        return {"x": rng.standard_normal(count).astype(f), "a": f(2), "b": f(8), "c": f(-1)}
    if workload == "W2":
        return away_from_kinks({
            "at": rng.uniform(-1, 1, ((1 << 20) // divide, 2)).astype(f),
            "net.w1": (rng.standard_normal((16, 4)) * 0.5).astype(f),
            "net.b1": np.zeros(16, f),
            "net.w2": (rng.standard_normal((16, 4)) * 0.25).astype(f),
            "net.b2": np.zeros(4, f),
        })  # fmt: skip
    samples = (1 << 22) // divide
    uv = rng.uniform(0, 1, (samples, 2)).astype(f)
    if workload == "W3 hot":
        uv = (uv * f(32 / SIDE)).astype(f)
    image = rng.uniform(0, 1, (SIDE, SIDE, 4)).astype(f)
    return {"uv": uv, "image": image, "target": rng.uniform(0, 1, (samples, 4)).astype(f)}


def away_from_kinks(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the network's inputs without those near a kink, where float32 can't decide the side.

    One such input on the other side moves a gradient by 1e-5 of its size.
    """
    at, w1, b1, w2, b2 = (given[k].astype(np.float64) for k in ("at", "net.w1", "net.b1", "net.w2", "net.b2"))
    _, z, o = network(at, w1, b1, w2, b2)
    clear = (abs(z).min(1) > KINK) & (abs(o).min(1) > KINK)
    return given | {"at": np.where(clear[:, None], given["at"], given["at"][np.argmax(clear)])}


def network(
    at: np.ndarray, w1: np.ndarray, b1: np.ndarray, w2: np.ndarray, b2: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the inputs of W2's network, and the inputs of the rectifiers of its two layers."""
    x, y = at[:, 0], at[:, 1]
    h = np.stack([x, y, x * x, y * y], -1)
    z = h @ w1.T + b1
    return h, z, np.where(z > 0, z, 0.01 * z) @ w2 + b2


def median_us(run: Callable[[], object], wait: Callable[[], object], repeats: int) -> float:
    """Return the median of five times of a run, in microseconds."""
    start = time.perf_counter()
    while time.perf_counter() - start < WARM_UP:
        for _ in range(repeats):
            run()
        wait()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        wait()
        times.append((time.perf_counter() - start) / repeats)
    return statistics.median(times) * 1e6


class Resident(NamedTuple):
    """A backward pass with buffers on the device: µs of a run, the first results, the seconds until they came.

    ``together`` is µs of a run where ten are in one submission, or nothing.
    """

    us: float
    results: dict[str, np.ndarray]
    first: float
    together: float | None


def together_us(device: Any, launches: list[Any], gradients: list[Any], repeats: int) -> float:
    """Return µs of a run where several are in one submission, with steps that set gradients to zero."""
    from slangad.compiler.runtime.pipeline.steps import RepeatedSteps, Steps

    steps = Steps()
    zeros = steps.together([steps.zero(buffer) for buffer in gradients], device)
    steps.load(device, None)
    repeated = RepeatedSteps(device, [*steps.launches(zeros), *launches])
    try:
        return median_us(lambda: repeated.submit(repeats), device.wait, 1) / repeats
    finally:
        repeated.close()


def resident_backward(
    item: str, given: dict[str, np.ndarray], device_name: str, *, together: bool = False, **options: Any
) -> Resident:
    """Compile a kernel of a workload, ``file.py:kernel``, with options of a compile; measure its backward pass."""
    from slangad.compiler.api.program import read_program
    from slangad.compiler.driver.inputs import parse_inputs
    from slangad.compiler.driver.model import Options
    from slangad.compiler.emit.model import Mode, ParameterRole
    from slangad.compiler.ir.nodes import Memory
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import prepare
    from slangad.compiler.runtime.device.open import open_device
    from slangad.compiler.runtime.device.slangpy_device import GpuDevice
    from slangad.compiler.runtime.pipeline.run_kernel import Run

    start = time.perf_counter()
    (described,) = parse_inputs((str(HERE / "workloads" / item),))
    program = read_program(described, Options(**options))
    plan = program.plans[item.partition(":")[2]]
    prepared = prepare(plan.signature, RunMode.BACKWARD, given)
    with open_device(device_name) as device:
        loaded = program.load_on(device, plan.entry_names(RunMode.BACKWARD))
        with Run(device, loaded, plan, prepared) as run:
            run.add(Mode.BACKWARD)
            stored = [value.name for value in plan.signature.parameters if value.memory is Memory.EACH]
            gradients = [
                b for (role, name, _), b in run.buffers.items() if role is ParameterRole.GRADIENT and name not in stored
            ]
            gradients += run.totals()
            before, cleared = device.zeroing(gradients) if isinstance(device, GpuDevice) else ([], gradients)
            launches = [*before, *run.launches]
            device.submit(launches, cleared)
            results = dict(run.results())
            first = time.perf_counter() - start
            repeats = 3 if device_name == "cpu" else 10
            us = median_us(lambda: device.submit(launches, cleared), device.wait, repeats)
            many = together_us(device, run.launches, gradients, repeats) if together else None
    return Resident(us, results, first, many)


def slangad_time(workload: str, device_name: str, divide: int, *, deterministic: bool = False) -> dict[str, float]:
    """Return slangad's time for a workload, and the error of its gradients against float64."""
    given = made(workload, divide, small=device_name == "cpu")
    run = resident_backward(f"{FILES[workload]}.py:fit", given, device_name, together=True, deterministic=deterministic)
    assert run.together is not None
    return {"us": run.us, "together": run.together, "error": error_of(workload, given, run.results)}


def error_of(workload: str, given: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> float:
    """Return the largest distance of a gradient from its float64 sum, divided by the sum of magnitudes."""
    if workload == "W1":
        x = given["x"].astype(np.float64)
        exact = {"grad.a": (x * x, 1), "grad.b": (x, 1), "grad.c": (np.ones_like(x), 1)}
        return max(abs(float(found[k]) - t.sum()) / abs(t).sum() for k, (t, _) in exact.items())
    if workload == "W2":
        return network_error(given, found)
    return texture_error(given, found["grad.image"])


def network_error(given: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> float:
    """Return the error of the network's first layer, whose gradient depends on all others."""
    at, w1, b1, w2, b2 = (given[k].astype(np.float64) for k in ("at", "net.w1", "net.b1", "net.w2", "net.b2"))
    x, y = at[:, 0], at[:, 1]
    h, z, o = network(at, w1, b1, w2, b2)
    want = np.stack([(x + y) / (1 + y * y), 2 * x + y, 0.5 * x * x + 1.2 * y, x + 0.5 * y * y], -1)
    d_o = 2 * (np.where(o > 0, o, 0.01 * o) - want) * np.where(o > 0, 1, 0.01)
    d_z = (d_o @ w2.T) * np.where(z > 0, 1, 0.01)
    exact, size = d_z.T @ h, abs(d_z).T @ abs(h)
    return float((abs(found["grad.net.w1"] - exact) / size).max())


def texture_error(given: dict[str, np.ndarray], found: np.ndarray) -> float:
    """Return the error of a texture's gradient.

    Texels with a small weight in every sample are left out, because float32 rounds their weights.
    """
    place = (given["uv"] * np.float32(SIDE) - np.float32(0.5)).astype(np.float64)
    first = np.floor(place)
    fx, fy = (place - first).T
    j, i = first.astype(int).T
    inside = lambda k: np.clip(k, 0, SIDE - 1)  # noqa: E731
    corners = [
        ((1 - fx) * (1 - fy), inside(i), inside(j)), (fx * (1 - fy), inside(i), inside(j + 1)),
        ((1 - fx) * fy, inside(i + 1), inside(j)), (fx * fy, inside(i + 1), inside(j + 1)),
    ]  # fmt: skip
    value = sum(w[:, None] * given["image"][r, c].astype(np.float64) for w, r, c in corners)
    d = 2 * (value - given["target"])
    exact, size = np.zeros((SIDE * SIDE, 4)), np.zeros((SIDE * SIDE, 4))
    for w, r, c in corners:
        for k in range(4):
            exact[:, k] += np.bincount(r * SIDE + c, w * d[:, k], SIDE * SIDE)
            size[:, k] += np.bincount(r * SIDE + c, abs(w * d[:, k]), SIDE * SIDE)
    kept = size > 1e-2
    return float((abs(found.reshape(-1, 4) - exact)[kept] / size[kept]).max())


def jax_time(workload: str, device_name: str, divide: int) -> dict[str, float]:
    """Return JAX's time for the workload."""
    import jax
    import jax.numpy as jnp

    given = {k: jnp.asarray(v) for k, v in made(workload, divide, small=device_name == "cpu").items()}

    def network(p: dict[str, jnp.ndarray], at: jnp.ndarray) -> jnp.ndarray:
        x, y = at[:, 0], at[:, 1]
        want = jnp.stack([(x + y) / (1 + y * y), 2 * x + y, 0.5 * x * x + 1.2 * y, x + 0.5 * y * y], -1)
        h = jax.nn.leaky_relu(jnp.stack([x, y, x * x, y * y], -1) @ p["net.w1"].T + p["net.b1"])
        return ((jax.nn.leaky_relu(h @ p["net.w2"] + p["net.b2"]) - want) ** 2).sum()

    def texture(image: jnp.ndarray, uv: jnp.ndarray, target: jnp.ndarray) -> jnp.ndarray:
        place = uv * SIDE - 0.5
        first = jnp.floor(place)
        f, k = place - first, first.astype(int)
        x0, x1 = jnp.clip(k[:, 0], 0, SIDE - 1), jnp.clip(k[:, 0] + 1, 0, SIDE - 1)
        y0, y1 = jnp.clip(k[:, 1], 0, SIDE - 1), jnp.clip(k[:, 1] + 1, 0, SIDE - 1)
        fx, fy = f[:, :1], f[:, 1:]
        value = (image[y0, x0] * (1 - fx) + image[y0, x1] * fx) * (1 - fy)
        value += (image[y1, x0] * (1 - fx) + image[y1, x1] * fx) * fy
        return ((value - target) ** 2).sum()

    with jax.default_matmul_precision("highest"):
        if workload == "W1":
            step = jax.jit(jax.value_and_grad(lambda p, x: (p[0] * x * x + p[1] * x + p[2]).sum()))
            arguments = ((given["a"], given["b"], given["c"]), given["x"])
        elif workload == "W2":
            step = jax.jit(jax.value_and_grad(network))
            arguments = ({k: v for k, v in given.items() if k != "at"}, given["at"])
        else:
            step = jax.jit(jax.value_and_grad(texture))
            arguments = (given["image"], given["uv"], given["target"])
        last: list[object] = [step(*arguments)]

        def once() -> None:
            last[0] = step(*arguments)

        return {"us": median_us(once, lambda: jax.block_until_ready(last[0]), 10)}


def slangpy_time(workload: str, device_name: str, divide: int) -> dict[str, float]:
    """Return the time of slangpy's functional interface for W1."""
    import slangpy

    if workload != "W1":
        return {}
    device = slangpy.create_device(type=getattr(slangpy.DeviceType, device_name))
    source = """import "slangpy";
[Differentiable] float polynomial(float a, float b, float c, no_diff float x) { return a*x*x + b*x + c; }"""
    module = slangpy.Module(device.load_module_from_source("polynomial", source))
    x = made("W1", divide, small=False)["x"]
    one = lambda v: slangpy.Tensor.from_numpy(device, np.array([v], np.float32)).with_grads(zero=True)  # noqa: E731
    arguments = {"a": one(2), "b": one(8), "c": one(-1), "x": slangpy.Tensor.from_numpy(device, x)}
    result = module.polynomial(**arguments, _result="tensor").with_grads()
    result.grad.copy_from_numpy(np.ones(x.size, np.float32))
    return {"us": median_us(lambda: module.polynomial.bwds(**arguments, _result=result), device.wait, 3)}


LIBRARIES = {
    "slangad": slangad_time,
    "deterministic": partial(slangad_time, deterministic=True),
    "jax": jax_time,
    "slangpy": slangpy_time,
}


def in_process(library: str, workload: str, device: str, options: argparse.Namespace) -> dict[str, float]:
    """Run one measurement in a separate process; return nothing if the library is missing."""
    python = options.jax_python if library == "jax" and options.jax_python else sys.executable
    command = [python, __file__, "--one", library, "--workload", workload, "--device", device]
    done = subprocess.run(
        [*command, "--divide", str(options.divide)], capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        print(f"{library} {workload} {device}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(options: argparse.Namespace) -> int:
    """Measure everything and print a row for each workload and device."""
    heads = f"{'slangad us':>11} {'together':>9} {'error':>8} {'jax us':>9} {'jax/slangad':>12}"
    print(f"{'':10} {'device':8} {heads} {'slangpy/slangad':>16} {'over floor':>11} {'--deterministic us':>19}")
    for workload in WORKLOADS:
        if options.only and not workload.startswith(options.only):
            continue
        on_gpu = in_process("jax", workload, "gpu", options) if {"cuda", "vulkan"} & {*options.device} else {}
        for device in options.device:
            own = in_process("slangad", workload, device, options)
            if not own:
                continue
            jax = in_process("jax", workload, "cpu", options) if device == "cpu" else on_gpu
            other = in_process("slangpy", workload, device, options) if device != "cpu" and workload == "W1" else {}
            ratio = f"{jax['us'] / own['us']:.2f}" if jax else "-"
            exact = in_process("deterministic", workload, device, options) if workload.startswith("W3") else {}
            exact_us = f"{exact['us']:.1f}" if exact else "-"
            other_ratio = f"{other['us'] / own['us']:.0f}" if other else "-"
            floor = f"{own['us'] / FLOORS[workload]:.1f}" if device != "cpu" else "-"
            jax_us = f"{jax['us']:.1f}" if jax else "-"
            print(
                f"{workload:10} {device:8} {own['us']:11.1f} {own['together']:9.1f} {own['error']:8.1e} {jax_us:>9}"
                f" {ratio:>12} {other_ratio:>16} {floor:>11} {exact_us:>19}",
                flush=True,
            )
    return 0


def main() -> int:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", default=[])
    parser.add_argument("--divide", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jax-python", default="", help="a Python that has JAX, if this one lacks it")
    parser.add_argument("--one", choices=LIBRARIES)
    parser.add_argument("--workload", choices=WORKLOADS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(LIBRARIES[options.one](options.workload, options.device[0], options.divide)))
        return 0
    options.device = options.device or ["cpu"]
    return table(options)


if __name__ == "__main__":
    raise SystemExit(main())
