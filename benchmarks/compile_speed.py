"""Measure how fast ``slangad compile`` is, as ratios: ``python benchmarks/compile_speed.py``.

Each measurement is the median of several runs in new processes, with byte code on disk:

1. the modules that ``slangad --help`` loads, and its time divided by that of a bare Python;
2. one kernel for six targets with an empty cache, divided by the time of the Slang library for the same entry points
   and targets in one session. Both times include loading the library and making the session. The library is called in
   its fastest way: the front end once, each entry point linked once, its code requested per target. Plain requests for
   several targets take 1.5 times as long;
3. an unchanged rebuild of twenty kernels for six targets: its time, and whether it loaded the Slang library or started
   a process;
4. eight kernels for six targets: the processor time of the command and its workers, divided by that of the library;
5. with ``--many 1000``: a build of so many small kernels for six targets, the same again, and the same on a second
   machine: in another folder with an empty cache, and the cache of the first as shared cache.

The exit code is 1 if a limit is exceeded. ``--json`` prints the numbers for programs.
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

TARGETS = ("spirv", "glsl", "hlsl", "metal", "wgsl", "cuda")
HEAVY = ("numpy", "slangpy", "yaml", "rich")
BARS = {"compile_ratio": 1.3, "rebuild_seconds": 0.5, "processor_ratio": 1.1, "many_rebuild_seconds": 1.5}

KERNEL = '''"""A kernel with a struct, a loop and a custom derivative."""

import slangad as sa
from slangad import Each, NoDiff, Uniform, float3


@sa.struct
class Material:
    albedo: float3
    roughness: float


@sa.differentiable
def soft(x: float) -> float:
    return x / (1.0 + abs(x))


@soft.backward
def soft_backward(x: float, d_out: float) -> float:
    s = 1.0 + abs(x)
    return d_out / (s * s)


@sa.differentiable
def shade(m: Material, light: float3, normal: NoDiff[float3]) -> float:
    total = 0.0
    for i in range(4):
        h = sa.normalize(light + float3(0.1 * i, 0.0, 1.0))
        total += soft(sa.dot(h, normal)) * m.roughness
    return total * sa.dot(m.albedo, float3(0.3, 0.6, 0.1))


@sa.kernel
def NAME(light: Each[float3], target: NoDiff[Each[float]], albedo: Each[float3], rough: Uniform[float]) -> Each[float]:
    r = shade(Material(albedo, rough), light, float3(0.0, 1.0, 0.0)) - target
    return r * r
'''

SMALL = '''"""A small kernel."""

import slangad as sa
from slangad import Each, NoDiff, Param


@sa.kernel
def NAME(x: Each[float], k: Param[float], seen: NoDiff[Each[float]]) -> Each[float]:
    r = x * x / (x * x + k) - seen
    return r * r
'''

RUN = f"""
import resource, sys
from slangad.cli.main import cli
try:
    cli.main(sys.argv[1:], prog_name="slangad")
except SystemExit as end:
    assert not end.code, end.code
heavy = [name for name in {HEAVY!r} if name in sys.modules]
try:
    mapped = "slang-compiler" in open("/proc/self/maps").read()
except OSError:
    mapped = False
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0
print(repr((heavy, mapped, children)), file=sys.stderr)
"""

LIBRARY = """
import pickle, sys, time
from slangad.compiler.toolchain.session import compile_here
jobs = pickle.load(sys.stdin.buffer)
start, spent = time.perf_counter(), time.process_time()
results = compile_here(jobs)
print(time.perf_counter() - start, time.process_time() - spent)
assert all(len(result.artefacts) == len(job.units()) for job, result in zip(jobs, results))
"""


def run(words: list[str], folder: Path, **more: str) -> tuple[float, str]:
    """Run the command line in a new process; return its wall time and its last line."""
    start = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=folder,
        env=environment(folder) | more,
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - start
    if ended.returncode:
        sys.exit(ended.stderr)
    return wall, ended.stderr.splitlines()[-1]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of every process: a separate cache, and byte code on disk."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own = {"SLANGAD_CACHE_DIR": str(folder / "cache"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    return kept | own


def python_seconds() -> float:
    """Return the time that a Python process without work takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


def library_seconds(folder: Path, names: list[str]) -> tuple[float, float]:
    """Return wall and processor time of the Slang library for files, in one session of one process."""
    import pickle

    from slangad.compiler.driver.compile import describe
    from slangad.compiler.driver.emitted import job_of
    from slangad.compiler.driver.inputs import parse_inputs
    from slangad.compiler.driver.model import Options

    options = Options(targets=TARGETS)
    units = describe(parse_inputs([str(folder / name) for name in names]), options)
    ended = subprocess.run(
        [sys.executable, "-c", LIBRARY],
        input=pickle.dumps([job_of(unit, options) for unit in units]),
        env=environment(folder),
        capture_output=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(ended.stderr.decode())
    wall, processor = ended.stdout.split()
    return float(wall), float(processor)


def processor_seconds(words: list[str], folder: Path) -> float:
    """Return the processor time of a command and of the processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(words, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def many_kernels(count: int, runs: int, folder: Path) -> dict[str, object]:
    """Return times of a build of many kernels, of the same again, and of the same on a second machine."""
    targets = [word for name in TARGETS for word in ("-t", name)]
    machines = [folder / "first", folder / "second" / "elsewhere"]
    for machine in machines:
        machine.mkdir(parents=True)
        for index in range(count):
            (machine / f"small_{index}.py").write_text(SMALL.replace("NAME", f"small_{index}"))
    shared = {"SLANGAD_SHARED_CACHE": str(folder / "shared"), "SLANGAD_CACHE_DIR": str(folder / "cache_1")}
    words = ["compile", ".", *targets]
    first, _ = run(words, machines[0], **shared)
    again = [run(words, machines[0], **shared) for _ in range(runs)]
    shared["SLANGAD_CACHE_DIR"] = str(folder / "cache_2")
    second, loaded = run(words, machines[1], **shared)
    return {
        "many_first_seconds": first,
        "many_rebuild_seconds": statistics.median(wall for wall, _ in again),
        "many_rebuild_processor_seconds": min(processor_seconds(words, machines[0]) for _ in range(runs)),
        "many_rebuild_loads": again[-1][1],
        "many_second_machine_seconds": second,
        "many_second_machine_loads": loaded,
        "many_cache_bytes": sum(file.stat().st_size for file in (folder / "cache_1").rglob("*") if file.is_file()),
    }


def measure(runs: int, many: int, folder: Path) -> dict[str, object]:
    """Return all numbers."""
    targets = [word for name in TARGETS for word in ("-t", name)]
    (folder / "one.py").write_text(KERNEL.replace("NAME", "one"))
    run(["compile", "one.py", "--no-cache", *targets], folder)  # leaves the byte code
    help_time = statistics.median(run(["--help"], folder)[0] for _ in range(runs))
    loaded = run(["--help"], folder)[1]
    bare = statistics.median(python_seconds() for _ in range(runs))
    once = ["compile", "one.py", "--no-cache", "--force", *targets]
    slangad = statistics.median(run(once, folder)[0] for _ in range(runs))
    library = statistics.median(library_seconds(folder, ["one.py"])[0] for _ in range(runs))
    names = [f"many_{index}.py" for index in range(20)]
    for name in names:
        (folder / name).write_text(KERNEL.replace("NAME", name.removesuffix(".py")))
    eight = ["compile", *names[:8], "--no-cache", "--force", *targets]
    processor = processor_seconds(eight, folder) / library_seconds(folder, names[:8])[1]
    first = run(["compile", *names, *targets], folder)[0]
    rebuilds = [run(["compile", *names, *targets], folder) for _ in range(runs)]
    return {
        **(many_kernels(many, runs, folder) if many else {}),
        "processor_ratio": processor,
        "help_seconds": help_time,
        "help_ratio": help_time / bare,
        "help_loads": loaded,
        "compile_seconds": slangad,
        "library_seconds": library,
        "compile_ratio": slangad / library,
        "first_build_seconds": first,
        "rebuild_seconds": statistics.median(wall for wall, _ in rebuilds),
        "rebuild_loads": rebuilds[-1][1],
    }


def main() -> int:
    """Measure, print and compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--many", type=int, default=0, help="also build so many small kernels, which takes minutes")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(chosen.runs, chosen.many, Path(folder))
    clean = repr(([], False, False))
    missed = [name for name, bar in BARS.items() if float(str(found.get(name, 0))) > bar]
    loads = ("help_loads", "rebuild_loads", "many_rebuild_loads", "many_second_machine_loads")
    missed += [name for name in loads if found.get(name, clean) != clean]
    if chosen.json:
        print(json.dumps({**found, "missed": missed}, indent=1))
        return bool(missed)
    print(f"slangad --help       {found['help_seconds']:.3f} s, {found['help_ratio']:.1f} x a bare Python")
    print(
        f"                     loaded of {', '.join(HEAVY)}: {found['help_loads'].split(']')[0].strip('([') or 'none'}"
    )
    print(f"1 kernel, 6 targets  {found['compile_ratio']:.2f} x the library  (bar {BARS['compile_ratio']})")
    print(f"                     {found['compile_seconds']:.3f} s over {found['library_seconds']:.3f} s")
    print(f"20 kernels again     {found['rebuild_seconds']:.3f} s  (bar {BARS['rebuild_seconds']})")
    print(f"                     built at first in {found['first_build_seconds']:.1f} s")
    print(f"                     heavy modules, library loaded, processes started: {found['rebuild_loads']}")
    print(f"8 kernels, processor {found['processor_ratio']:.2f} x the library  (bar {BARS['processor_ratio']})")
    if chosen.many:
        print(f"{chosen.many} kernels         built at first in {found['many_first_seconds']:.1f} s")
        print(
            f"                     again {found['many_rebuild_seconds']:.2f} s (bar {BARS['many_rebuild_seconds']}), "
            f"processor {found['many_rebuild_processor_seconds']:.2f} s, loads {found['many_rebuild_loads']}"
        )
        print(
            f"                     second machine {found['many_second_machine_seconds']:.1f} s, "
            f"loads {found['many_second_machine_loads']}; cache {int(str(found['many_cache_bytes'])) / 1e6:.0f} MB"
        )
    print("missed: " + ", ".join(missed) if missed else "all bars held")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
