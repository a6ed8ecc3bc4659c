"""Measure rows that groups compute together: ``python benchmarks/groups.py --device cuda --device vulkan --peers``.

attention   softmax in rows of 64, 2^22 numbers (2^16 on the CPU)
layer_norm  normalisation in rows of 256, as many numbers

Value and all gradients, in microseconds: the median of 5 x 10 runs, buffers on the device, as in ``gradients.py``.
``error`` is the largest distance of a gradient from float64, by the norm of its array. Peers: JAX with ``jit``, torch
without and with ``torch.compile``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from gradients import median_us, resident_backward

HERE = Path(__file__).parent
ROWS = {"attention": 64, "layer_norm": 256}
Arrays = dict[str, np.ndarray]


def made(workload: str, count: int) -> Arrays:
    """Return the inputs by slangad's keys."""
    rng = np.random.default_rng(5)
    x, seen = rng.normal(size=(2, count)).astype(np.float32)
    if workload == "attention":
        return {"score": x, "heat": np.float32(1.5), "value": seen}
    gain, offset = rng.uniform(0.5, 1.5, (2, 256)).astype(np.float32)
    return {"x": x, "gain": gain, "offset": offset, "seen": seen}


def value(workload: str, xp: Any, given: dict[str, Any]) -> Any:
    """Return the value, in numpy, JAX or torch."""
    if workload == "attention":
        x = (given["heat"] * given["score"]).reshape(-1, 64)
        e = xp.exp(x - (x.max(1)[0] if xp.__name__ == "torch" else x.max(1))[:, None])
        return (given["value"].reshape(-1, 64) * e / e.sum(1)[:, None]).sum()
    x = given["x"].reshape(-1, 256)
    away = x - x.mean(1)[:, None]
    normal = away / xp.sqrt((away * away).mean(1)[:, None] + 1e-5)
    return (given["seen"].reshape(-1, 256) * (given["gain"] * normal + given["offset"])).sum()


def gradients(workload: str, given: Arrays, dtype: str) -> Arrays:
    """Return torch's gradients on the CPU."""
    import torch

    tensors = {k: torch.tensor(v, dtype=getattr(torch, dtype)) for k, v in given.items()}
    active = active_of(workload)
    for key in active:
        tensors[key].requires_grad_()
    value(workload, torch, tensors).backward()
    return {key: tensors[key].grad.numpy() for key in active}


def active_of(workload: str) -> tuple[str, ...]:
    """Return the inputs with gradients."""
    return ("score", "heat") if workload == "attention" else ("x", "gain", "offset")


def slangad_time(workload: str, device: str, count: int) -> dict[str, float]:
    """Return slangad's time in microseconds, and its error."""
    given = made(workload, count)
    run = resident_backward(f"rows.py:{workload}", given, device, cache=None)
    norm, found = np.linalg.norm, {key.removeprefix("grad."): array for key, array in run.results.items()}
    exact = gradients(workload, given, "float64")
    errors = (norm(found[key] - v.reshape(found[key].shape)) / norm(v) for key, v in exact.items())
    return {"us": run.us, "error": float(max(errors))}


def jax_time(workload: str, count: int) -> dict[str, float]:
    """Return JAX's time in microseconds."""
    import jax
    import jax.numpy as jnp

    given, active = made(workload, count), active_of(workload)
    rest = {k: jnp.asarray(v) for k, v in given.items() if k not in active}
    step = jax.jit(jax.value_and_grad(lambda chosen: value(workload, jnp, chosen | rest)))
    chosen: dict[str, Any] = {k: jnp.asarray(given[k]) for k in active}
    jax.block_until_ready(step(chosen))
    last: dict[str, Any] = {}
    run, wait = (lambda: last.update(found=step(chosen))), (lambda: jax.block_until_ready(last["found"]))
    return {"us": median_us(run, wait, 10)}


def torch_time(workload: str, count: int, *, compiled: bool) -> dict[str, float]:
    """Return torch's time in microseconds."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = {k: torch.tensor(v, device=device) for k, v in made(workload, count).items()}
    active = [given[k].requires_grad_() for k in active_of(workload)]
    loss = torch.compile(lambda g: value(workload, torch, g)) if compiled else lambda g: value(workload, torch, g)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    return {"us": median_us(lambda: torch.autograd.grad(loss(given), active), wait, 10)}


PEERS = {
    "jax": jax_time,
    "torch": lambda workload, count: torch_time(workload, count, compiled=False),
    "torch.compile": lambda workload, count: torch_time(workload, count, compiled=True),
}


def main() -> None:
    """Measure each workload in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", default=[], help="cpu, cuda, vulkan; several times")
    parser.add_argument("--peers", action="store_true", help="also JAX and torch, on their own device")
    parser.add_argument("--one", nargs=3, metavar=("WHAT", "WORKLOAD", "COUNT"), help="measure one, print JSON")
    options = parser.parse_args()
    if options.one:
        what, workload, count = options.one
        found = PEERS[what](workload, int(count)) if what in PEERS else slangad_time(workload, what, int(count))
        print(json.dumps(found))
        return
    devices = options.device or ["cpu"]
    count = 1 << (16 if devices == ["cpu"] else 22)
    for workload in ROWS:
        for what in (*devices, *(PEERS if options.peers else ())):
            command = [sys.executable, str(HERE / "groups.py"), "--one", what, workload, str(count)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
            lines = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()
            print(f"{workload:11} {what:14} {lines[-1]}", flush=True)


if __name__ == "__main__":
    main()
