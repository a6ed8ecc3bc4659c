"""Measure what one call of a small kernel costs: ``python benchmarks/calls.py --device cpu``.

The kernel is ``fit`` of 1000 elements and one parameter. A row is one mode, with numpy arrays, with torch tensors
(``tensors``), or as a function that torch differentiates (``torch``):

* ``first``: the first call of a process with an empty cache. It describes, compiles and opens the device.
* ``again``: the first call of the next process, with that cache.
* ``hundredth``: the median of calls 90 to 110.
* ``fastest``: the fastest of 300 calls.

Each row is two new processes, so that no call profits from another row.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import slangad as sa
from slangad import Each, Param, Sum

ELEMENTS = 1000
ARRAYS = ("numpy", "tensors", "torch")
MODES = ("forward", "backward")


@sa.kernel
def fit(x: Each[float], a: Param[float]) -> Sum[float]:
    """Return the squared distance from one."""
    return (a * x - 1.0) ** 2


def seconds_of_calls(device: str, arrays: str, mode: str, count: int) -> list[float]:
    """Return the seconds of each of ``count`` calls; those of ``torch`` end when the result is read."""
    values = np.linspace(0, 1, ELEMENTS, dtype="f4")
    if arrays != "numpy":
        import torch

        where = device if device == "cuda" else "cpu"
        inputs = torch.from_numpy(values).to(where), torch.tensor(2.0, device=where, requires_grad=arrays == "torch")
        plain = getattr(fit.on(device), mode)

        def call() -> None:
            if arrays == "tensors":
                plain(*inputs)  # on cuda the results are there in torch's stream
                return
            result = fit.torch(device)(*inputs)
            if mode == "backward":
                result.backward()
            result.item()
    else:
        called = getattr(fit.on(device), mode)

        def call() -> None:
            called(x=values, a=2.0)

    seconds = []
    for _ in range(count):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return seconds


def row(device: str, arrays: str, mode: str) -> dict[str, float]:
    """Return the milliseconds of one row."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"SLANGAD_CACHE_DIR": cache}

        def fresh(count: int) -> list[float]:
            command = [sys.executable, __file__, "--calls", f"{device},{arrays},{mode},{count}"]
            run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            found: list[float] = json.loads(run.stdout)
            return [1e3 * seconds for seconds in found]

        first = fresh(1)[0]
        calls = fresh(300)
    return {"first": first, "again": calls[0], "hundredth": statistics.median(calls[89:110]), "fastest": min(calls)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", action="append", help="cpu, cuda, vulkan or webgpu; may be given several times")
    parser.add_argument("--json", action="store_true", help="print the numbers for programs")
    parser.add_argument("--calls", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.calls:
        device, arrays, mode, count = arguments.calls.split(",")
        print(json.dumps(seconds_of_calls(device, arrays, mode, int(count))))
        return
    rows = {
        f"{device}, {arrays}, {mode}": row(device, arrays, mode)
        for device in arguments.device or ["cpu"]
        for arrays in ARRAYS
        if arrays == "numpy" or device in ("cpu", "cuda")
        for mode in MODES
    }
    if arguments.json:
        print(json.dumps(rows))
        return
    print("| call | first, ms | again, ms | hundredth, ms | fastest, ms |\n|---|---|---|---|---|")
    for name, figures in rows.items():
        print(f"| {name} | " + " | ".join(f"{figure:.2f}" for figure in figures.values()) + " |")


if __name__ == "__main__":
    main()
