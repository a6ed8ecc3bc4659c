"""Measure value and gradients of networks: ``python benchmarks/networks.py --device cuda --device vulkan``.

A network 16-W-W-3 with rectifiers, written as loops (benchmarks/workloads/network.py), over 2^18 samples (2^14 on the
CPU): the mean squared error, its gradients in all weights and in the inputs. Times as in ``gradients.py``: the median
of 5 x 10 runs, buffers on the device. JAX has ``jit`` of ``value_and_grad``, once with the highest matmul precision and
once with its default. ``slangad half`` has products in half, where the device has matrix units. ``error`` is the
largest distance of a gradient from float64, by the norm of its array.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from gradients import median_us, resident_backward

HERE = Path(__file__).parent
WIDTHS = (16, 32, 64, 128)
KINK = 1e-6
"""Samples with a unit this near to its kink are left out: float32 can't decide the side."""
Arrays = dict[str, np.ndarray]


def made(width: int, samples: int) -> Arrays:
    """Return weights, inputs and targets by slangad's keys."""
    rng = np.random.default_rng(width)
    sizes = {"w1": (width, 16), "b1": (width,), "w2": (width, width), "b2": (width,), "w3": (3, width), "b3": (3,)}
    given = {f"net.{k}": rng.uniform(-1, 1, s) * (3 / s[-1]) ** 0.5 for k, s in sizes.items()}
    given |= {"x": rng.uniform(-1, 1, (samples, 16)), "target": rng.uniform(-1, 1, (samples, 3))}
    given = {k: v.astype(np.float32) for k, v in given.items()}
    _, first, second, _ = forward(given)
    clear = (abs(first).min(1) > KINK) & (abs(second).min(1) > KINK)
    return given | {"x": np.where(clear[:, None], given["x"], given["x"][np.argmax(clear)])}


def forward(given: Arrays) -> tuple[np.ndarray, ...]:
    """Return the inputs, those of the rectifiers of both layers, and the answers, in float64."""
    x, w1, b1, w2, b2, w3, b3 = (given[k].astype(np.float64) for k in ("x", *_WEIGHTS))
    first = x @ w1.T + b1
    second = np.maximum(first, 0) @ w2.T + b2
    return x, first, second, np.maximum(second, 0) @ w3.T + b3


_WEIGHTS = ("net.w1", "net.b1", "net.w2", "net.b2", "net.w3", "net.b3")


def exact(given: Arrays) -> Arrays:
    """Return the gradients in float64."""
    x, first, second, answer = forward(given)
    w1, w2, w3 = (given[k].astype(np.float64) for k in ("net.w1", "net.w2", "net.w3"))
    d_answer = 2 * (answer - given["target"]) / len(x)
    d_second = d_answer @ w3 * (second > 0)
    d_first = d_second @ w2 * (first > 0)
    products = ((d_first, x), (d_second, np.maximum(first, 0)), (d_answer, np.maximum(second, 0)))
    found = {"grad.x": d_first @ w1}
    for number, (rows, columns) in enumerate(products, 1):
        found |= {f"grad.net.w{number}": rows.T @ columns, f"grad.net.b{number}": rows.sum(0)}
    return found


def error_of(given: Arrays, found: Arrays) -> float:
    """Return the largest distance of a gradient from float64, by the norm of its array."""
    norm = np.linalg.norm
    return max(float(norm(found[k] - v.reshape(found[k].shape)) / norm(v)) for k, v in exact(given).items())


def slangad_time(device_name: str, width: int, samples: int, precision: str) -> dict[str, float]:
    """Return slangad's time in microseconds, the error, and the seconds until the first result."""
    given = made(width, samples)
    run = resident_backward(f"network.py:loss_{width}_{precision}", given, device_name, cache=None)
    return {"us": run.us, "error": error_of(given, run.results), "first result s": run.first}


def jax_time(device_name: str, width: int, samples: int, precision: str) -> dict[str, float]:
    """Return JAX's time in microseconds and its error."""
    import jax
    import jax.numpy as jnp

    given = made(width, samples)
    jax.config.update("jax_default_matmul_precision", precision)
    where = jax.devices("cpu" if device_name == "cpu" else "gpu")[0]
    values = {k: jax.device_put(v, where) for k, v in given.items()}
    target = values.pop("target")

    def loss(p: dict[str, jax.Array]) -> jax.Array:
        h = jnp.maximum(p["x"] @ p["net.w1"].T + p["net.b1"], 0)
        h = jnp.maximum(h @ p["net.w2"].T + p["net.b2"], 0)
        return jnp.mean(jnp.sum((h @ p["net.w3"].T + p["net.b3"] - target) ** 2, -1))

    step = jax.jit(jax.value_and_grad(loss))
    found = {f"grad.{k}": np.asarray(v) for k, v in step(values)[1].items()}
    last = [step(values)]

    def run() -> None:
        last[0] = step(values)

    return {
        "us": median_us(run, lambda: jax.block_until_ready(last[0]), 3 if device_name == "cpu" else 10),
        "error": error_of(given, found),
    }


def main() -> None:
    """Print a table; each library, device and width has a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="cpu, cuda or vulkan; repeatable")
    parser.add_argument("--width", action="append", type=int, choices=WIDTHS, help="repeatable")
    parser.add_argument("--samples", type=int, help="samples in place of 2^18, or 2^14 on the CPU")
    parser.add_argument("--peers", action="store_true", help="JAX too")
    parser.add_argument("--one", nargs=4, metavar=("LIBRARY", "DEVICE", "WIDTH", "SAMPLES"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        library, device, width, samples = arguments.one
        if library.startswith("slangad"):
            precision = "half" if library.endswith("half") else "float"
            print(json.dumps(slangad_time(device, int(width), int(samples), precision)))
        else:
            print(json.dumps(jax_time(device, int(width), int(samples), library.partition(" ")[2])))
        return
    print("| device | W | library | µs | error by norm | first result, s |")
    print("|---|---|---|---|---|---|")
    for device in arguments.device or ["cpu"]:
        samples = str(arguments.samples or (1 << 14 if device == "cpu" else 1 << 18))
        for width in arguments.width or WIDTHS:
            for library in ("slangad", "slangad half", *(("jax highest", "jax default") if arguments.peers else ())):
                command = [sys.executable, __file__, "--one", library, device, str(width), samples]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"| {device} | {width} | {library} | {done.stderr.strip().splitlines()[-1]} | | |")
                    continue
                row = json.loads(done.stdout.splitlines()[-1])
                first = f"{row['first result s']:.1f}" if "first result s" in row else ""
                print(
                    f"| {device} | {width} | {library} | {row['us']:.0f} | {row['error']:.1e} | {first} |", flush=True
                )


if __name__ == "__main__":
    main()
