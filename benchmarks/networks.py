"""Measure value and gradients of networks: ``python benchmarks/networks.py --device cuda --device vulkan``.

A network 16-W-W-3 with rectifiers, written as loops (benchmarks/workloads/network.py), over 2^18 samples (2^14 on the
CPU): the mean squared error, its gradients in all weights and in the inputs. With ``--grid``, the inputs are features
of a hash grid of 8 levels with 2^14 entries each (benchmarks/workloads/field.py), and the table has a gradient. Times
as in ``gradients.py``: the median of 5 x 10 runs, buffers on the device. ``slangad half`` has products in half, where
the device has matrix units. JAX has ``jit`` of ``value_and_grad``, with three precisions of matrix products. torch has
``torch.compile`` of the loss, with two; where the samples lie in the grid is computed before. Warp has tiles of samples
in a captured graph, with two precisions; a kernel before it computes the grid's features. Dr.Jit has a frozen function
with tensors, and cooperative vectors in half, which need OptiX on CUDA; where the samples lie in the grid is computed
before. ``error`` is the largest distance of a gradient from float64, by the norm of its array; for Warp and Dr.Jit, the
loss counts too.

With ``--train``, 1000 steps of Adam of slangad and JAX. slangad's time has the upload of the samples and the download
of losses and parameters, JAX's has neither. Both start from weights of their own, so losses differ.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from gradients import median_us, resident_backward

HERE = Path(__file__).parent
WIDTHS = (16, 32, 64, 128)
OWN = ("slangad", "slangad half")
PEERS = (
    *("jax highest", "jax default", "jax bfloat16", "torch highest", "torch high"),
    *("warp default", "warp tf32", "drjit float", "drjit half"),
)
"""Libraries with the precision of their products of float matrices."""
KINK = 1e-6
"""Samples with a unit this near to its kink are left out: float32 can't decide the side."""
LEVELS, FEATURES, TABLE, BASE, GROWTH = 8, 2, 1 << 14, 16, 1.5
PRIME = 2654435761
CORNERS = ((0, 1, 0, 1), (0, 0, 1, 1))
"""The corners of a cell along both axes."""
Arrays = dict[str, np.ndarray]
KEYS = {
    False: {"x": "x", **{f"{kind}{n}": f"net.{kind}{n}" for n in (1, 2, 3) for kind in "wb"}},
    True: {
        "table": "field.grid.table",
        **{f"{kind}{n}": f"field.net.l{n}.{kind}" for n in (1, 2, 3) for kind in "wb"},
    },
}
"""slangad's keys of what has a gradient, without and with a grid."""


def made(width: int, samples: int, *, grid: bool) -> Arrays:
    """Return weights, inputs and targets."""
    rng = np.random.default_rng(width)
    sizes = {"w1": (width, 16), "b1": (width,), "w2": (width, width), "b2": (width,), "w3": (3, width), "b3": (3,)}
    given = {k: rng.uniform(-1, 1, s) * (3 / s[-1]) ** 0.5 for k, s in sizes.items()}
    given["target"] = rng.uniform(-1, 1, (samples, 3))
    if grid:
        given |= {"at": rng.uniform(0, 1, (samples, 2)), "table": rng.uniform(-1, 1, (LEVELS, TABLE, FEATURES))}
    else:
        given["x"] = rng.uniform(-1, 1, (samples, 16))
    given = {k: v.astype(np.float32) for k, v in given.items()}
    _, first, second, _ = forward(given)
    clear = (abs(first).min(1) > KINK) & (abs(second).min(1) > KINK)
    moved = "at" if grid else "x"
    return given | {moved: np.where(clear[:, None], given[moved], given[moved][np.argmax(clear)])}


def corners(at: Any, np: Any = np) -> list[tuple[Any, Any]]:
    """Return the entries of each level that samples read, and their weights: (samples, 4) both, in floats of ``at``."""
    found = []
    for level in range(LEVELS):
        scale = BASE * GROWTH**level - 1
        side = int(scale + 0.5) + 2
        position = at * at.dtype.type(scale) + at.dtype.type(0.5)
        cell = np.floor(position)
        within = position - cell
        x, y = (cell[:, axis, None].astype(np.uint32) + np.asarray(s, np.uint32) for axis, s in enumerate(CORNERS))
        entry = y * np.uint32(side) + x if side * side <= TABLE else (x ^ (y * np.uint32(PRIME))) % np.uint32(TABLE)
        far = [np.where(np.asarray(s) == 1, within[:, a, None], 1 - within[:, a, None]) for a, s in enumerate(CORNERS)]
        found.append((entry.astype(np.int32), far[0] * far[1]))
    return found


def features(given: Arrays) -> np.ndarray:
    """Return the grid's features in float64; positions in cells are those of float32, as everywhere."""
    levels = zip(corners(given["at"]), given["table"].astype(np.float64), strict=True)
    return np.concatenate([np.einsum("sc,scf->sf", w, table[entry]) for (entry, w), table in levels], 1)


def forward(given: Arrays) -> tuple[np.ndarray, ...]:
    """Return the inputs, those of the rectifiers of both layers, and the answers, in float64."""
    w1, b1, w2, b2, w3, b3 = (given[k].astype(np.float64) for k in ("w1", "b1", "w2", "b2", "w3", "b3"))
    x = features(given) if "at" in given else given["x"].astype(np.float64)
    first = x @ w1.T + b1
    second = np.maximum(first, 0) @ w2.T + b2
    return x, first, second, np.maximum(second, 0) @ w3.T + b3


def exact(given: Arrays) -> Arrays:
    """Return the gradients in float64."""
    x, first, second, answer = forward(given)
    w1, w2, w3 = (given[k].astype(np.float64) for k in ("w1", "w2", "w3"))
    d_answer = 2 * (answer - given["target"]) / len(x) / (3 if "at" in given else 1)
    d_second = d_answer @ w3 * (second > 0)
    d_first = d_second @ w2 * (first > 0)
    products = ((d_first, x), (d_second, np.maximum(first, 0)), (d_answer, np.maximum(second, 0)))
    d_x = d_first @ w1
    found = {}
    for number, (rows, columns) in enumerate(products, 1):
        found |= {f"w{number}": rows.T @ columns, f"b{number}": rows.sum(0)}
    if "at" not in given:
        return found | {"x": d_x}
    table = np.zeros(given["table"].shape)
    for level, (entry, weight) in enumerate(corners(given["at"])):
        for k in range(FEATURES):
            scattered = weight * d_x[:, level * FEATURES + k, None]
            table[level, :, k] = np.bincount(entry.ravel(), scattered.ravel(), TABLE)
    return found | {"table": table}


def exact_loss(given: Arrays) -> float:
    """Return the loss in float64."""
    *_, answer = forward(given)
    return float(((answer - given["target"]) ** 2).sum(-1).mean()) / (3 if "at" in given else 1)


def error_of(given: Arrays, found: Arrays) -> float:
    """Return the largest distance of a gradient from float64, by the norm of its array."""
    norm = np.linalg.norm
    return max(float(norm(found[k] - v.reshape(found[k].shape)) / norm(v)) for k, v in exact(given).items())


def slangad_time(device_name: str, width: int, samples: int, precision: str, *, grid: bool) -> dict[str, float]:
    """Return slangad's time in microseconds, the error, and the seconds until the first result."""
    given = made(width, samples, grid=grid)
    keys = KEYS[grid]
    item = f"{'field' if grid else 'network'}.py:loss_{width}_{precision}"
    run = resident_backward(item, {keys.get(k, k): v for k, v in given.items()}, device_name, cache=None)
    found = {k: run.results[f"grad.{key}"] for k, key in keys.items()}
    return {"us": run.us, "error": error_of(given, found), "first result s": run.first}


def jax_values(given: Arrays, device_name: str, precision: str) -> tuple[dict[str, Any], Any, Any]:
    """Return what JAX differentiates by, the positions and the targets, on the device; sets the products' precision."""
    import jax

    jax.config.update("jax_default_matmul_precision", precision)
    where = jax.devices("cpu" if device_name == "cpu" else "gpu")[0]
    values = {k: jax.device_put(v, where) for k, v in given.items()}
    target, at = values.pop("target"), values.pop("at", None)
    return values, at, target


def jax_loss(p: dict[str, Any], at: Any, target: Any) -> Any:
    """Return JAX's loss; without positions, of the inputs ``x``."""
    import jax.numpy as jnp

    if at is None:
        x = p["x"]
    else:
        levels = enumerate(corners(at, jnp))
        x = jnp.concatenate([(w[..., None] * p["table"][n][entry]).sum(1) for n, (entry, w) in levels], 1)
    h = jnp.maximum(x @ p["w1"].T + p["b1"], 0)
    h = jnp.maximum(h @ p["w2"].T + p["b2"], 0)
    return jnp.mean(jnp.sum((h @ p["w3"].T + p["b3"] - target) ** 2, -1)) / (1 if at is None else 3)


def jax_time(device_name: str, width: int, samples: int, precision: str, *, grid: bool) -> dict[str, float]:
    """Return JAX's time in microseconds and its error."""
    import jax

    given = made(width, samples, grid=grid)
    values, at, target = jax_values(given, device_name, precision)
    step = jax.jit(jax.value_and_grad(lambda p: jax_loss(p, at, target)))
    found = {k: np.asarray(v) for k, v in step(values)[1].items()}
    last = [step(values)]

    def run() -> None:
        last[0] = step(values)

    return {
        "us": median_us(run, lambda: jax.block_until_ready(last[0]), 3 if device_name == "cpu" else 10),
        "error": error_of(given, found),
    }


def torch_time(device_name: str, width: int, samples: int, precision: str, *, grid: bool) -> dict[str, float]:
    """Return torch's time in microseconds and its error, with ``torch.compile`` of the loss."""
    import torch

    given = made(width, samples, grid=grid)
    torch.set_float32_matmul_precision(precision)
    where = torch.device("cpu" if device_name == "cpu" else "cuda")
    values = {k: torch.tensor(v, device=where) for k, v in given.items()}
    target, at = values.pop("target"), values.pop("at", None)
    levels = [] if at is None else [tuple(torch.tensor(a, device=where) for a in one) for one in corners(given["at"])]
    for value in values.values():
        value.requires_grad_()

    @torch.compile(dynamic=False)
    def loss(p: dict[str, torch.Tensor]) -> torch.Tensor:
        if grid:
            read = [(w[..., None] * p["table"][n][entry]).sum(1) for n, (entry, w) in enumerate(levels)]
            x = torch.cat(read, 1)
        else:
            x = p["x"]
        h = torch.relu(x @ p["w1"].T + p["b1"])
        h = torch.relu(h @ p["w2"].T + p["b2"])
        return ((h @ p["w3"].T + p["b3"] - target) ** 2).sum(-1).mean() / (3 if grid else 1)

    def step() -> dict[str, torch.Tensor]:
        return dict(zip(values, torch.autograd.grad(loss(values), [*values.values()]), strict=True))

    found = {k: v.cpu().numpy() for k, v in step().items()}
    wait = (lambda: None) if device_name == "cpu" else torch.cuda.synchronize
    return {"us": median_us(step, wait, 3 if device_name == "cpu" else 10), "error": error_of(given, found)}


def warp_time(device_name: str, width: int, samples: int, precision: str, *, grid: bool) -> dict[str, float]:
    """Return Warp's time in microseconds and its error."""
    from peers.warp_network import Levels, Step

    scales = [BASE * GROWTH**level - 1 for level in range(LEVELS)]
    levels = Levels(tuple(scales), tuple(int(s + 0.5) + 2 for s in scales), TABLE, PRIME) if grid else None
    given = made(width, samples, grid=grid)
    return measured_step(Step(given, device_name, precision, levels), given, device_name)


def drjit_time(device_name: str, width: int, samples: int, precision: str, *, grid: bool) -> dict[str, float]:
    """Return Dr.Jit's time in microseconds and its error."""
    from peers.drjit_network import step_of

    given = made(width, samples, grid=grid)
    return measured_step(step_of(given, device_name, precision, corners if grid else None), given, device_name)


def measured_step(step: Any, given: Arrays, device_name: str) -> dict[str, float]:
    """Return the time of a step in microseconds, and the error of its gradients and loss."""
    us = median_us(step.run, step.wait, 3 if device_name == "cpu" else 10)
    found = step.results()
    error = error_of(given, found)
    return {"us": us, "error": max(error, abs(float(found["loss"]) / exact_loss(given) - 1))}


STEPS = 1000
LR = 1e-2


def slangad_training(device_name: str, width: int, samples: int, precision: str) -> dict[str, float]:
    """Return the seconds of 1000 steps of Adam on all samples, with uploads and downloads, and the last loss."""
    import slangad as sa

    given = made(width, samples, grid=True)
    names = sa.load(HERE / "workloads" / "field.py")
    kernel = names[f"loss_{width}_{precision}"]
    data = given["at"], given["target"]

    def train(steps: int) -> Any:
        return kernel.train(*data, steps=steps, optimizer=sa.Adam(lr=LR), device=device_name)

    train(20)  # compiles
    start = time.perf_counter()
    done = train(STEPS)
    return {"s": time.perf_counter() - start, "loss": float(done.losses[-1])}


def jax_training(device_name: str, width: int, samples: int, precision: str) -> dict[str, float]:
    """Return the seconds of JAX without transfers, with a jitted step and Adam written out, and the last loss."""
    import jax
    import jax.numpy as jnp

    values, at, target = jax_values(made(width, samples, grid=True), device_name, precision)

    def step(state: Any, at: jax.Array, target: jax.Array) -> Any:
        p, m, v, t = state
        value, g = jax.value_and_grad(jax_loss)(p, at, target)
        t = t + 1
        m = {k: 0.9 * m[k] + 0.1 * g[k] for k in p}
        v = {k: 0.999 * v[k] + 0.001 * g[k] ** 2 for k in p}
        rate = LR * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return ({k: p[k] - rate * m[k] / (jnp.sqrt(v[k]) + 1e-8) for k in p}, m, v, t), value

    jitted = jax.jit(step, donate_argnums=0)

    def train(steps: int) -> float:
        start, mean, square = ({k: fresh(x) for k, x in values.items()} for fresh in (jnp.array, *[jnp.zeros_like] * 2))
        state: Any = (start, mean, square, 0.0)
        for _ in range(steps):
            state, value = jitted(state, at, target)
        return float(value)

    train(20)
    start = time.perf_counter()
    value = train(STEPS)
    return {"s": time.perf_counter() - start, "loss": value}


def main() -> None:
    """Print a table; each library, device and width has a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="cpu, cuda or vulkan; repeatable")
    parser.add_argument("--width", action="append", type=int, choices=WIDTHS, help="repeatable")
    parser.add_argument("--samples", type=int, help="samples in place of 2^18, or 2^14 on the CPU")
    parser.add_argument("--grid", action="store_true", help="with a hash grid before the network")
    parser.add_argument("--train", action="store_true", help="1000 steps of Adam with the hash grid, in place of one")
    parser.add_argument("--peers", action="store_true", help="JAX, torch, Warp and Dr.Jit too")
    parser.add_argument("--library", action="append", choices=OWN + PEERS, help="only this one; repeatable")
    parser.add_argument("--one", nargs=4, metavar=("LIBRARY", "DEVICE", "WIDTH", "SAMPLES"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        library, device, width, samples = arguments.one
        print(json.dumps(measured(library, device, int(width), int(samples), arguments)))
        return
    columns = "seconds of 1000 steps | last loss" if arguments.train else "µs | error by norm | first result, s"
    print(f"| device | W | library | {columns} |")
    print("|" + "---|" * (3 + len(columns.split("|"))))
    for device in arguments.device or ["cpu"]:
        samples = str(arguments.samples or (1 << 14 if device == "cpu" else 1 << 18))
        for width in arguments.width or WIDTHS:
            for library in arguments.library or (*OWN, *(PEERS if arguments.peers else ())):
                name = library.partition(" ")[0]
                if arguments.train and name not in TRAINING:
                    continue
                if importlib.util.find_spec(name):
                    row = row_of(library, device, width, samples, arguments)
                else:
                    row = f"{name} is not installed"
                keys = columns_of(arguments)
                if isinstance(row, str):
                    cells = (row, *[""] * (len(keys) - 1))
                else:
                    cells = tuple(FORMS[key].format(row[key]) if key in row else "" for key in keys)
                print(f"| {device} | {width} | {library} | {' | '.join(cells)} |", flush=True)


def row_of(library: str, device: str, width: int, samples: str, arguments: argparse.Namespace) -> dict | str:
    """Return the row of a process of its own, or the last line of its error."""
    command = [sys.executable, __file__, "--one", library, device, str(width), samples]
    command += [f"--{flag}" for flag in ("grid", "train") if getattr(arguments, flag)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def measured(library: str, device: str, width: int, samples: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Return what was measured of one library."""
    name, _, precision = library.partition(" ")
    if name == "slangad":
        precision = precision or "float"
    if arguments.train:
        return TRAINING[name](device, width, samples, precision)
    return STEP[name](device, width, samples, precision, grid=arguments.grid)


def columns_of(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the keys of a row."""
    return ("s", "loss") if arguments.train else ("us", "error", "first result s")


FORMS = {"us": "{:.0f}", "error": "{:.1e}", "first result s": "{:.1f}", "s": "{:.3f}", "loss": "{:.5f}"}
STEP = {
    "slangad": slangad_time,
    "jax": jax_time,
    "torch": torch_time,
    "warp": warp_time,
    "drjit": drjit_time,
}
TRAINING = {"slangad": slangad_training, "jax": jax_training}

if __name__ == "__main__":
    main()
