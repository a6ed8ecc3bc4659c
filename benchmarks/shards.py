"""Show that shards of a check are balanced and equal one run: ``python benchmarks/shards.py``.

The zoo is written as files and checked whole, without the cache. Then ``--parts`` shards, balanced by the seconds of
the whole run, are checked at the same time, each with its part of the cores, and their reports are merged.

It prints how far the longest shard is above the mean: by the seconds of its files, as the shard's own report has them,
and by the clock. Then it compares the merged report with that of the whole run, field for field, without times and
command lines. The exit code is 1 if a field differs or the longest shard costs 15 % more than the mean.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from commits.inputs import write_inputs

MOST = 0.15
OWN = frozenset({"seconds", "elapsed", "costs", "command"})
"""What each run has of its own: its times and its command line."""


def main() -> None:
    """Check the zoo whole and in shards, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=4, metavar="N", help="shards  [default: 4]")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth file only, as a trial")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        zoo = write_inputs(Path(__file__).resolve().parents[1], work / "inputs") / "zoo"
        files = sorted(file for file in zoo.iterdir() if file.suffix in {".py", ".slang"})[:: arguments.every]
        names = [file.relative_to(zoo).as_posix() for file in files]
        elapsed = _check(zoo, names, work / "whole.json")
        whole = _report(work / "whole.json")
        print(f"whole: {len(names)} files, {len(whole['results'])} functions, {elapsed:.1f} s", flush=True)
        parts = [work / f"part-{part}.json" for part in range(1, arguments.parts + 1)]
        jobs = max(1, (os.cpu_count() or 1) // arguments.parts)
        common = (f"--costs={work / 'whole.json'}", f"--jobs={jobs}")
        with ThreadPoolExecutor() as threads:
            started = [
                threads.submit(_check, zoo, names, file, f"--shard={part}/{arguments.parts}", *common)
                for part, file in enumerate(parts, 1)
            ]
            walls = [shard.result() for shard in started]
        reports = [_report(file) for file in parts]
        costs = [sum(one["seconds"] for one in report["costs"]) for report in reports]
        for part, (report, cost, wall) in enumerate(zip(reports, costs, walls, strict=True), 1):
            count = len(report["results"])
            print(f"shard {part}: {count} functions, {cost:.1f} s in all, {wall:.1f} s elapsed", flush=True)
        _run(zoo, "report", "merge", *map(str, parts), "-o", str(work / "merged.json"))
        unequal = _differences(whole, _report(work / "merged.json"))
        above = {name: max(times) / statistics.mean(times) - 1 for name, times in (("cost", costs), ("elapsed", walls))}
        shares = f"{above['cost']:.1%} of its cost, {above['elapsed']:.1%} by the clock"
        print(f"the longest is above the mean by {shares}")
        print(f"merged: {'equal to the whole run' if not unequal else 'differs at ' + ', '.join(unequal[:10])}")
    sys.exit(bool(unequal) or above["cost"] > MOST)


def _check(folder: Path, names: list[str], report: Path, *options: str) -> float:
    """Check files without the cache, write the report, and return the seconds it took."""
    start = time.perf_counter()
    _run(folder, "check", *names, "--no-cache", "--samples=16", *options, "-o", str(report))
    return time.perf_counter() - start


def _run(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "slangad", *words]
    ended = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    if ended.returncode not in {0, 3}:
        sys.exit(f"slangad {words[0]} ended with {ended.returncode}: {ended.stderr}{ended.stdout}")


def _report(file: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return report


def _differences(whole: object, merged: object, place: str = "report") -> list[str]:
    """Return the places where two reports differ, without times."""
    if whole == merged:
        return []
    if isinstance(whole, dict) and isinstance(merged, dict):
        keys = sorted((whole.keys() | merged.keys()) - OWN)
        return [line for key in keys for line in _differences(whole.get(key), merged.get(key), f"{place}.{key}")]
    if isinstance(whole, list) and isinstance(merged, list) and len(whole) == len(merged):
        pairs = enumerate(zip(whole, merged, strict=True))
        return [line for index, (a, b) in pairs for line in _differences(a, b, f"{place}[{index}]")]
    return [place]


if __name__ == "__main__":
    main()
