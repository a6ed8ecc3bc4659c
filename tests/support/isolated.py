"""Compares programs in a process of its own, so that a compiler that crashes or hangs is a finding with a name.

A batch that ends the process, takes too long or does not build is halved until the program is found; a program and the
one that it may call, which stands before it, stay together.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as Timeout
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from support.differential import Mismatch, Report, compare

if TYPE_CHECKING:
    from pathlib import Path

    from support.programs import Generated

SECONDS = 180.0
"""A batch takes about five."""


def compare_apart(programs: list[Generated], folder: Path, seed: int, *, seconds: float = SECONDS) -> Report:
    """As ``compare``, but nothing that happens ends this process."""
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    try:
        found = pool.submit(_attempt, programs, folder, seed).result(seconds)
    except (BrokenProcessPool, Timeout) as problem:
        found = type(problem).__name__
    finally:
        _end(pool)
    return found if isinstance(found, Report) else _halved(programs, folder, seed, found)


def _attempt(programs: list[Generated], folder: Path, seed: int) -> Report | str:
    try:
        return compare(programs, folder, seed)
    except Exception as problem:
        return f"{type(problem).__name__}: {str(problem)[:4000]}"


def _end(pool: ProcessPoolExecutor) -> None:
    """Ends a worker that may hang."""
    for process in pool._processes.values():
        process.kill()
    pool.shutdown(wait=True, cancel_futures=True)


def _halved(programs: list[Generated], folder: Path, seed: int, what: str) -> Report:
    if len(programs) <= 2:
        text = "\n\n".join(p.text for p in programs[:-1])
        return Report([Mismatch(programs[-1], "could not be compared", 0, f"{what}\n{text}")])
    middle = len(programs) // 4 * 2 or 2
    halves = [compare_apart(part, folder, seed, seconds=SECONDS) for part in (programs[:middle], programs[middle:])]
    found = Report()
    for half in halves:
        found.mismatches += half.mismatches
        found.compared += half.compared
        found.left_out += half.left_out
        found.slopes += half.slopes
        found.kinks += half.kinks
    if not found.mismatches:
        found.mismatches.append(Mismatch(programs[0], "only together could not be compared", 0, what))
    return found
