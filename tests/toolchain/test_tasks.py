"""Jobs are cut so that workers stay busy and nothing is lost or done twice."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.jobs.tasks import cut, worker_count

SIX = ("spirv", "glsl", "hlsl", "metal", "wgsl", "cuda")


def job(number: int, *, whole: bool = False) -> CompileJob:
    return CompileJob(f"{number}.slang", "", ("a", "b", "c"), SIX, whole=whole)


@pytest.mark.parametrize("jobs", [1, 2, 20])
@pytest.mark.parametrize("workers", [1, 2, 3, 16])
@pytest.mark.parametrize("singly", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_cut__any_shape__covers_every_unit_once(jobs: int, workers: int, *, singly: bool, whole: bool) -> None:
    all_jobs = [job(n, whole=whole) for n in range(jobs)]
    tasks = cut([(one, Path(one.name)) for one in all_jobs], workers, singly=singly)
    done = [(task.job.name, unit) for task in tasks for unit in task.units]
    assert sorted(done) == sorted((one.name, unit) for one in all_jobs for unit in one.units())
    assert all(len(task.units) == 1 for task in tasks) or not singly


def test_cut__one_job__is_halved_for_two_workers() -> None:
    assert [len(task.units) for task in cut([(job(0), Path())], 2, singly=False)] == [9, 9]


def test_cut__macros__divide_the_targets_only_if_the_text_names_them() -> None:
    def calls(source: str) -> list[list[str]]:
        one = CompileJob("k.slang", source, ("a",), (*SIX, "cpp"), whole=True)
        tasks = cut([(one, Path("k.slang"))], 1, singly=False)
        return [sorted(w for w in task.work().arguments if w.startswith("-DSLANGAD")) for task in tasks]

    assert calls("void a() {}") == calls("#ifdef SLANGAD_UNKNOWN") == [[]]
    assert calls("#ifdef SLANGAD_HOST") == [[], ["-DSLANGAD_HOST"]]
    assert calls("#if defined(SLANGAD_WAVES) || defined(SLANGAD_HOST)") == [
        ["-DSLANGAD_WAVES"],
        [],
        ["-DSLANGAD_HOST"],
    ]


def test_work__some_units__asks_only_for_their_targets_and_entries() -> None:
    (task,) = cut([(job(0), Path("k.slang"))], 1, singly=False)
    work = task.only([("hlsl", "b"), ("cuda", "c")]).work()
    assert (work.targets, work.entries, work.units) == (("hlsl", "cuda"), ("b", "c"), ((0, 0), (1, 1)))
    assert [w for a, w in pairwise(work.arguments) if a == "-target"] == ["hlsl", "cuda"]


def test_worker_count__small_work__needs_few() -> None:
    assert worker_count([CompileJob("k", "", ("a",), ("hlsl",))], 8) == 1
    assert worker_count([job(0)], 8) == 5
    assert worker_count([job(n) for n in range(20)], 8) == 8
