"""Measure training by several ranks: ``python benchmarks/distributed.py --device cuda --ranks 1 --ranks 2``.

The workload is ``fit`` of benchmarks/workloads/hash_grid.py with 2^20 samples for each rank (2^12 on the CPU). A time
is that of a step in one submission, from the clock of the first rank, until the device has finished. Half as many steps
before are the warm-up. ``efficiency`` is the time of one rank over that of several with as much work for each.

The gradients of one step of the same 2^13 samples by each number of ranks are compared: the distance from those of one
rank by the norm, and the bits with ``--deterministic`` (``small``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import slangad as sa

WORKLOAD = Path(__file__).parent / "workloads" / "hash_grid.py"
COMPARED = 1 << 13
"""Samples of the step whose gradients are compared."""


def data(samples: int) -> dict[str, np.ndarray]:
    """Return positions and colours of a picture of waves."""
    at = np.random.default_rng(0).uniform(0, 1, (samples, 2)).astype("f4")
    waves = np.sin(at @ np.array([[9, 31, 5], [14, 7, 40]], "f4"))
    return {"at": at, "colour": (0.5 + 0.5 * waves).astype("f4")}


@cache
def loaded_on(device: str, *, exact: bool) -> tuple[Any, ...]:
    """Return ``fit``, or ``small`` with ``--deterministic``, compiled for a device."""
    from slangad.compiler.api.load import opened_device
    from slangad.compiler.api.program import as_pipeline
    from slangad.compiler.emit.model import Mode
    from slangad.compiler.runtime.training.trainable import with_optimizer

    program = sa.load(WORKLOAD, device=device, deterministic=exact).program
    runnable = with_optimizer(as_pipeline(program, program.plans["small" if exact else "fit"], ()), "adam", 1e-3)
    opened = opened_device(device)
    loaded = program.load_on(opened, runnable.entry_names((Mode.FORWARD, Mode.BACKWARD)))
    return opened, loaded, runnable, program.source.cache


def started(device: str, samples: int, ranks: Any, *, exact: bool) -> Any:
    """Return the training of this rank."""
    from slangad.compiler.runtime.training.distributed import SharedData, start_distributed
    from slangad.compiler.runtime.training.train import TrainingPlan

    opened, loaded, runnable, cache_of_steps = loaded_on(device, exact=exact)
    optimizer = runnable.pipeline.optimizer
    shared = SharedData(runnable, data(samples), samples, ranks, exact)
    trainer, _ = start_distributed(opened, loaded, shared, TrainingPlan(optimizer, 0, 3), cache_of_steps)
    return trainer


def gradients(trainer: Any) -> np.ndarray:
    """Return the sums of the gradients of a first step."""
    trainer._sum(0)
    found = [bucket.flat.cpu().numpy() for bucket in trainer.buckets]
    found[-1] = found[-1][:-2]
    return np.concatenate(found)


def step_time(trainer: Any, steps: int) -> float:
    """Return the microseconds of a step, after half as many for the warm-up."""
    trainer.advance(trainer.room(steps // 2))
    begun = time.perf_counter()
    trainer.advance(trainer.room(steps))
    return 1e6 * (time.perf_counter() - begun) / steps


def of_rank(device: str, samples: int, steps: int, file: str) -> None:
    """Measure as one rank; the first writes what it found."""
    import torch
    import torch.distributed as dist

    from slangad.compiler.runtime.training.ranks import joined_ranks

    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    ranks = joined_ranks(device)
    summed = gradients(started(device, COMPARED, ranks, exact=False))
    exact = gradients(started(device, COMPARED, ranks, exact=True))
    found: dict[str, Any] = {"bits": hashlib.sha256(exact.tobytes()).hexdigest()}
    if steps:
        trainer = started(device, samples * ranks.size, ranks, exact=False)
        found |= {"us": step_time(trainer, steps), "loss": trainer.losses[-1]}
    if ranks.is_first:
        np.savez(file, summed=summed, found=json.dumps(found))
    dist.destroy_process_group()


def main() -> None:
    """Print a table; each number of ranks is a run of torchrun."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ranks", action="append", type=int, help="repeatable; 1 comes first")
    parser.add_argument("--samples", type=int, help="samples of a rank in a step")
    parser.add_argument("--steps", type=int, default=200, help="steps of the time, at most 256; 0 compares gradients")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    device, samples = arguments.device, arguments.samples or (1 << 12 if arguments.device == "cpu" else 1 << 20)
    if arguments.one:
        of_rank(device, samples, arguments.steps, arguments.one)
        return
    print("| ranks | µs a step | efficiency | loss | distance of gradients | bits with --deterministic |")
    print("|---|---|---|---|---|---|")
    base: tuple[Any, dict[str, Any]] | None = None
    for ranks in arguments.ranks or [1, 2]:
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/found.npz"
            launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), __file__]
            words = ["--device", device, "--samples", str(samples), "--steps", str(arguments.steps), "--one", file]
            subprocess.run([sys.executable, *launcher, *words], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            with np.load(file) as arrays:
                summed, found = arrays["summed"], json.loads(str(arrays["found"]))
        base = base or (summed, found)
        distance = np.linalg.norm((summed - base[0]).astype("f8")) / np.linalg.norm(base[0].astype("f8"))
        same = "equal" if found["bits"] == base[1]["bits"] else "different"
        times = "| |"
        if "us" in found:
            times = f"{found['us']:.0f} | {base[1]['us'] / found['us']:.3f} | {found['loss']:.4g}"
        print(f"| {ranks} | {times} | {distance:.1e} | {same} |", flush=True)


if __name__ == "__main__":
    main()
