"""The jobs of a recording: each is one call of ``slangad`` on one program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = ("samples", "cases", "zoo")
TARGETS = ("spirv", "glsl", "hlsl", "metal", "wgsl", "cuda", "cpp")
COMPILE_LIMIT = ("--time-limit", "600")
RUN_LIMIT = ("--run-limit", "1800")
"""Seconds, far more than any program needs, so that a busy machine changes no outcome."""
OUTPUT = "out"


@dataclass(frozen=True)
class Job:
    """One call of the command line.

    Attributes:
        name: What the recording calls it.
        group: One of ``GROUPS``.
        folder: The folder of the inputs that it works in, in a copy of its own.
        arguments: The command and its options.
    """

    name: str
    group: str
    folder: str
    arguments: tuple[str, ...]


def jobs_of(inputs: Path, groups: tuple[str, ...], seeds: int) -> list[Job]:
    """Return the jobs of some groups."""
    makers = {"samples": _samples, "cases": _cases, "zoo": lambda folder: _zoo(folder, seeds)}
    return [job for group in groups for job in makers[group](inputs)]


def _samples(inputs: Path) -> list[Job]:
    jobs = []
    for path in _descriptions(inputs / "samples"):
        folder, name = path.parent.relative_to(inputs).as_posix(), path.relative_to(inputs).as_posix()
        compiling = _compile(path.name, TARGETS)
        jobs += [
            Job(f"{name} compile", "samples", folder, compiling),
            Job(f"{name} compile --deterministic", "samples", folder, (*compiling, "--deterministic")),
            Job(f"{name} check", "samples", folder, _check(path.name)),
        ]
    return jobs


def _cases(inputs: Path) -> list[Job]:
    jobs = []
    for path in _descriptions(inputs / "cases"):
        if path.stem == "input":
            folder = path.parent.relative_to(inputs).as_posix()
            jobs += [
                Job(f"{folder} compile", "cases", folder, _compile(path.name, ("spirv", "cpp"))),
                Job(f"{folder} check", "cases", folder, _check(path.name)),
            ]
    return jobs


def _zoo(inputs: Path, seeds: int) -> list[Job]:
    jobs = []
    for program in json.loads((inputs / "zoo" / "plan.json").read_text(encoding="utf-8")):
        file = program["file"]
        targets = ("spirv", "cpp") if file.endswith(".slang") or "kernels" in file or "pipelines" in file else ()
        jobs.append(Job(f"zoo/{file} compile", "zoo", "zoo", _compile(file, targets)))
        for seed in range(seeds):
            options = [f"--samples={program['samples']}", f"--seed={seed}"]
            options += [f"--only={name}" for name in program["only"]]
            jobs.append(Job(f"zoo/{file} check seed {seed}", "zoo", "zoo", (*_check(file), *options)))
    return jobs


def _descriptions(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".yaml", ".slang"})


def _compile(file: str, targets: tuple[str, ...]) -> tuple[str, ...]:
    emitted = ("slang", "ir", "artefacts") if targets else ("slang", "ir")
    return (
        *("compile", file, "-o", OUTPUT, "--format", "json", "-j", "1", *COMPILE_LIMIT),
        *(f"--emit={kind}" for kind in emitted),
        *(f"--target={target}" for target in targets),
    )


def _check(file: str) -> tuple[str, ...]:
    return ("check", file, "--format", "json", "-j", "1", *COMPILE_LIMIT, *RUN_LIMIT)
