"""Measure how fast ``slangad check`` is: ``python benchmarks/check_speed.py``.

Each measurement is the median of several runs in new processes, with byte code on disk and without a cache:

1. a file with one function;
2. a file with forty functions: scalars, vectors, matrices, structs, arrays, loops, branches, custom derivatives;
3. the number of requests to the Slang compiler for those forty: one per precision.

The exit code is 1 if a limit is exceeded. ``--json`` prints the numbers for programs. The limits hold for two idle
cores.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARS = {"one_seconds": 1.5, "forty_seconds": 10.0, "compiles": 2}

HEAD = """import slangad as sa
from slangad import Array, NoDiff, float2, float3, float3x3, float4


@sa.struct
class Lamp:
    at: float3
    power: float


"""

KINDS = (
    """@sa.differentiable
def poly_N(x: float, y: float) -> float:
    return x * x * K + x * y - y * y * y
""",
    """@sa.differentiable(ranges={"x": (0.1, 4.0)})
def smooth_N(x: float, k: float) -> float:
    return sa.exp(-k * x) * sa.log(x + K) + sa.sqrt(x)
""",
    """@sa.differentiable
def branch_N(x: float, y: float) -> float:
    if x > K * 0.1:
        return x * y
    return sa.sin(x) * y * y
""",
    """@sa.differentiable(ranges={"n": (0, 6)})
def loop_N(x: float, n: int) -> float:
    total = x
    for i in sa.range(n, max_iters=8):
        total = total * x * 0.5 + K * float(i)
    return total
""",
    """@sa.differentiable
def lit_N(lamp: Lamp, p: float3, n: NoDiff[float3]) -> float3:
    to = lamp.at + float3(0.0, K + 2.0, 0.0) - p
    return n * (lamp.power * sa.dot(to, n) / (sa.dot(to, to) + 0.1))
""",
    """@sa.differentiable
def turned_N(m: float3x3, v: float3) -> float3:
    return sa.mul(m, v) * K
""",
    """@sa.differentiable
def picked_N(a: Array[float, 5], i: int) -> float:
    return a[i] * a[0] * K
""",
    """@sa.differentiable
def bent_N(v: float4) -> float:
    return sa.max(v.x, v.y * K) + sa.abs(v.z) * sa.min(v.w, 0.5)
""",
    """@sa.differentiable
def own_N(x: float, y: float) -> float:
    return x * y * y * K


@own_N.backward
def own_N_backward(x: float, y: float, d_out: float) -> tuple[float, float]:
    return d_out * y * y * K, d_out * 2.0 * x * y * K
""",
    """@sa.differentiable
def both_N(p: float2, q: float2) -> tuple[float, float2]:
    return sa.dot(p, q) * K, p * q.x + q
""",
)

COUNT = """
import sys
from slangad.compiler.driver.slang_compilers import SlangCompilers
jobs = []
compile = SlangCompilers.compile
def counted(self, given, progress=None):
    jobs.extend(given)
    return compile(self, given, progress)
SlangCompilers.compile = counted
from slangad.cli.main import cli
try:
    cli.main(sys.argv[1:], prog_name="slangad")
except SystemExit as end:
    assert not end.code, end.code
print(len(jobs), file=sys.stderr)
"""


def forty() -> str:
    """Return a description of forty different functions."""
    texts = [kind.replace("_N", f"_{n}").replace("K", f"{1.0 + 0.25 * n}") for n in range(4) for kind in KINDS]
    return HEAD + "\n\n".join(texts)


def run(file: str, folder: Path) -> tuple[float, float, int]:
    """Check a file in a new process; return wall time, processor time with children, requests to the Slang compiler."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    before, start = _spent(), time.perf_counter()
    command = [sys.executable, "-c", COUNT, "check", file, "--no-cache"]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, spent = time.perf_counter() - start, _spent() - before
    if ended.returncode:
        sys.exit(ended.stdout + ended.stderr)
    return wall, spent, int(ended.stderr.splitlines()[-1])


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(runs: int, folder: Path) -> dict[str, float]:
    """Return all numbers."""
    (folder / "one.py").write_text("import slangad as sa\n\n\n" + KINDS[0].replace("_N", "").replace("K", "1.5"))
    (folder / "forty.py").write_text(forty())
    run("one.py", folder)  # leaves the byte code
    ones = [run("one.py", folder) for _ in range(runs)]
    forties = [run("forty.py", folder) for _ in range(runs)]
    return {
        "one_seconds": statistics.median(wall for wall, _, _ in ones),
        "one_processor_seconds": statistics.median(spent for _, spent, _ in ones),
        "forty_seconds": statistics.median(wall for wall, _, _ in forties),
        "forty_processor_seconds": statistics.median(spent for _, spent, _ in forties),
        "compiles": max(count for _, _, count in forties),
    }


def main() -> int:
    """Measure, print and compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="write the file of forty functions here and exit")
    chosen = parser.parse_args()
    if chosen.keep:
        chosen.keep.write_text(forty())
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found = measure(chosen.runs, Path(folder))
    missed = [name for name, bar in BARS.items() if found[name] > bar]
    if chosen.json:
        print(json.dumps({**found, "missed": missed}, indent=1))
        return bool(missed)
    for name in ("one", "forty"):
        bar, seconds, spent = BARS[f"{name}_seconds"], found[f"{name}_seconds"], found[f"{name}_processor_seconds"]
        print(f"{name:<6} {seconds:6.2f} s  (bar {bar}), {spent:.2f} s of processor time")
    print(f"requests to the Slang compiler for forty: {found['compiles']:.0f}  (bar {BARS['compiles']})")
    print("missed: " + ", ".join(missed) if missed else "all bars held")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
