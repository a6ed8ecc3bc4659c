"""Run all jobs of one checkout and write what they print and make to one small file.

A recording holds text (Slang, IR, depfiles) as text, artefacts as hashes, and JSON as lines with free text apart.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from commits.documents import Document, digest, without_wording
from commits.inputs import digest_of
from commits.jobs import GROUPS, OUTPUT, Job, jobs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = Path(tempfile.gettempdir()).resolve() / "slangad-compare-commits"
"""Where jobs run, the same folder for all recordings: the IR holds absolute paths, and manifests hold its hash."""
LONGEST_TEXT = 200_000
"""Bytes of a text that a recording keeps. Of longer ones it keeps the hash."""
_BUILD_KEY = re.compile(r'("build": \{"record": "\w+", "key": ")\w+')
"""The key of a manifest. It holds the hash of slangad's own code, which each commit changes."""
SECONDS = 7200
"""Seconds that one job may take."""

Items = list[tuple[str, str, Document]]


@dataclass(frozen=True)
class Settings:
    """What to record, and with how many processes."""

    groups: tuple[str, ...] = GROUPS
    every: int = 1
    seeds: int = 1
    shard: tuple[int, int] = (1, 1)
    processes: int | None = None


def record(checkout: Path, inputs: Path, folder: Path, settings: Settings) -> None:
    """Record a checkout into a file of a folder.

    Args:
        checkout: The top of a source tree.
        inputs: The folder that ``write_inputs`` made.
        folder: Where to write the recording.
        settings: Which jobs to run, and how.
    """
    checkout, inputs = checkout.resolve(), inputs.resolve()
    part, of = settings.shard
    jobs = jobs_of(inputs, settings.groups, settings.seeds)[:: settings.every][part - 1 :: of]
    items: dict[str, dict[str, list[object]]] = defaultdict(dict)
    seconds: dict[str, float] = {}
    start, processor = time.perf_counter(), _processor_seconds()
    with _work_folder():
        environment = _environment(checkout)
        _expect_import_from(checkout, environment)
        with ThreadPoolExecutor(settings.processes) as pool:
            running = {pool.submit(_timed, job, inputs, environment): job for job in jobs}
            for done, future in enumerate(as_completed(running), 1):
                job = running[future]
                seconds[job.name], recorded = future.result()
                for kind, name, document in recorded:
                    items[kind][f"{job.name}: {name}" if name else job.name] = document.record
                _show_progress(done, len(jobs), time.perf_counter() - start)
    head = {
        "inputs": digest_of(inputs),
        "groups": settings.groups,
        "every": settings.every,
        "seeds": settings.seeds,
        "shards": of,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "work": str(WORK),
    }
    _write(folder / f"recording-{part}-of-{of}.json.gz", {"head": head, "seconds": seconds, "items": items})
    _show_times(jobs, seconds)
    passed, processor = time.perf_counter() - start, _processor_seconds() - processor
    print(f"{len(jobs)} jobs in {passed:.0f} s, {processor:.0f} s of processor time", file=sys.stderr)


@contextmanager
def _work_folder() -> Iterator[None]:
    """Make the folder for the jobs, and remove it at the end."""
    try:
        WORK.mkdir()
    except FileExistsError:
        sys.exit(f"{WORK} exists: another recording runs, or one was killed; then remove it")
    try:
        yield
    finally:
        shutil.rmtree(WORK)


def _environment(checkout: Path) -> dict[str, str]:
    """Return the environment of all jobs: the checkout's package, no cache or byte code of another one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLANGAD_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment | {
        "PYTHONPATH": os.pathsep.join([str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONPYCACHEPREFIX": str(WORK / "bytecode"),
        "SLANGAD_CACHE_DIR": str(WORK / "cache"),
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }


def _expect_import_from(checkout: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", "import slangad; print(slangad.__file__)"]
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True, cwd="/").stdout
    if not Path(found.strip()).is_relative_to(checkout):
        sys.exit(f"{checkout} is to be recorded, but Python imports {found.strip()}")


def _timed(job: Job, inputs: Path, environment: dict[str, str]) -> tuple[float, Items]:
    folder = WORK / re.sub(r"\W+", "-", job.name)
    shutil.copytree(inputs / job.folder, folder)
    command = [sys.executable, "-m", "slangad.cli", *job.arguments]
    start = time.perf_counter()
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - start
        stdout, stderr = (stream.decode(errors="replace") for stream in (ended.stdout, ended.stderr))
        items = [_outcome(ended.returncode, stderr), *_printed(job, stdout), *_written(folder / OUTPUT)]
    finally:
        shutil.rmtree(folder)
    return seconds, items


def _outcome(code: int, stderr: str) -> tuple[str, str, Document]:
    return "exit codes and stderr", "", Document().add({"exit_code": code, "message": stderr})


def _printed(job: Job, text: str) -> Items:
    """What a job printed: a report, or the outcome of a compilation."""
    try:
        values = json.loads(text)
    except ValueError:
        return [("other output", "", Document().add({"stdout": text}))]
    if "results" in values:
        return list(_report(values))
    found = Document().add(values.pop("diagnostics", []), "diagnostics")
    return [("diagnostics", "", found), (f"outcomes of {job.arguments[0]}", "", Document().add(values))]


def _report(values: dict[str, object]) -> Iterator[tuple[str, str, Document]]:
    """A report as one verdict and one set of numbers for each result, and what is around them."""
    results = values.pop("results")
    assert isinstance(results, list)
    names = [f"{result['file']}:{result['function']}" for result in results]
    for name, result in zip(names, results, strict=True):
        legs = {leg["leg"]: leg["state"] for leg in result["legs"]}
        yield "verdicts", name, Document().add({"verdict": result["verdict"], "legs": legs})
        yield "numbers of verdicts", name, Document().add(result)
    yield "reports around results", "", Document().add({**values, "names": names})


def _written(folder: Path) -> Iterator[tuple[str, str, Document]]:
    """The files that a compilation wrote."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            kind = _kind(path.name)
            yield kind, path.relative_to(folder).as_posix(), _file(kind, content)


def _kind(name: str) -> str:
    kinds = {
        ".slang": "emitted Slang",
        ".ir.txt": "IR",
        ".d": "depfiles",
        "manifest.json": "manifests",
        ".reflection.json": "reflection",
    }
    return next((kind for ending, kind in kinds.items() if name.endswith(ending)), f"artefacts {Path(name).suffix}")


def _file(kind: str, content: bytes) -> Document:
    if kind == "manifests":
        text = _BUILD_KEY.sub(r"\1", content.decode())
        document = Document().add(json.loads(text))
        return replace(document, lines=without_wording(text, document.wording).split("\n"))
    if kind.startswith("artefacts") or kind == "reflection" or len(content) > LONGEST_TEXT:
        return Document([f"{len(content)} bytes, {digest(content)}"])
    return Document(content.decode().split("\n"))


def _write(path: Path, recording: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(recording, ensure_ascii=False).encode(), mtime=0))
    print(f"{path}: {path.stat().st_size / 1024:.0f} KiB", file=sys.stderr)


def _show_progress(done: int, of: int, seconds: float) -> None:
    if done % 25 == 0 or done == of:
        print(f"{done} of {of} jobs, {seconds:.0f} s", file=sys.stderr, flush=True)


def _show_times(jobs: list[Job], seconds: dict[str, float]) -> None:
    for group in GROUPS:
        for command in ("compile", "check"):
            times = [seconds[job.name] for job in jobs if job.group == group and job.arguments[0] == command]
            if times:
                print(
                    f"{group} {command}: {len(times)} jobs, {sum(times):.0f} s in all, the longest {max(times):.1f} s",
                    file=sys.stderr,
                )


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
