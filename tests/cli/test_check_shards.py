"""``slangad check --shard`` splits the files, and ``slangad report merge`` puts the reports together."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slangad.compiler.check.planning.shards import split_files
from slangad.compiler.driver.inputs import Input
from slangad.compiler.report.formats import FORMATS, render
from slangad.compiler.report.model import FileCost, Report
from slangad.compiler.report.read_json import read_report

if TYPE_CHECKING:
    from tests.cli.conftest import Project

RIGHT = "[Differentiable] float {0}(float x) {{ return x * x; }}\n"
WRONG = (
    "[BackwardDerivative({0}_bwd)] [Differentiable] float {0}(float x) {{ return x * x; }}\n"
    "void {0}_bwd(inout DifferentialPair<float> x, float d) {{ x = diffPair(x.p, x.p * d); }}\n"
)


def _without_times(project: Project, name: str) -> Report:
    """Return a report without what two runs of the same check do not have in common."""
    report = read_report((project.folder / name).read_text(encoding="utf-8"))
    assert all(one.seconds > 0 for one in report.costs)
    costs = tuple(FileCost(one.file, 0.0) for one in report.costs)
    results = tuple(replace(one, cached=False) for one in report.results)
    return replace(report, seconds=0.0, command="", costs=costs, results=results)


def _read(project: Project, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((project.folder / name).read_text(encoding="utf-8"))
    return document


@pytest.mark.toolchain
def test_merge__the_shards_of_a_check__give_the_report_of_one_run(project: Project) -> None:
    for name, text in (("a", RIGHT), ("b", WRONG), ("c", RIGHT)):
        project.write(f"s/{name}.slang", text.format(name))
    check = ("check", "s/c.slang", "s", "--samples", "8", "--min-checked", "1")
    project.run(*check, "-j", "6", "-o", "all.json", code=3)  # three files at a time
    for number in (1, 2):
        project.run(*check, "--shard", f"{number}/2", "-o", f"{number}.json", code=None)
    merged = project.run("report", "merge", "2.json", "1.json", "-o", "merged.json", "-o", "merged.xml", code=3)
    assert "1 FAIL, 2 PASS" in merged.stderr
    assert (project.folder / "merged.xml").read_text(encoding="utf-8").count("<testcase") == 3
    whole, together = (_without_times(project, name) for name in ("all.json", "merged.json"))
    for name in FORMATS:
        assert render(together, name) == render(whole, name), name
    sizes = [len(_read(project, f"{number}.json")["results"]) for number in (1, 2)]
    assert sorted(sizes) == [1, 2]
    for files, words in (
        (("1.json",), "shard 2/2 is missing."),
        (("1.json", "1.json"), "are both shard 1/2."),
        (("1.json", "all.json"), "is of another split than 1.json."),
        (("s/a.slang",), "can't be read: line 1, column"),
    ):
        assert words in project.run("report", "merge", *files, code=2).stderr
    assert "is not a shard such as 2/4" in project.run(*check, "--shard", "3/2", code=2).stderr
    assert "no job array is in the environment" in project.run(*check, "--shard", "auto", code=2).stderr
    job = {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "5"}
    assert "SLURM_ARRAY_TASK_ID=7 is not one of 2" in project.run(*check, "--shard", "auto", code=2, **job).stderr
    for wrong, said in (
        ({"SLURM_ARRAY_TASK_ID": "x"}, "SLURM_ARRAY_TASK_ID=x is no number"),
        ({"SLURM_ARRAY_TASK_STEP": "0"}, "SLURM_ARRAY_TASK_ID=7 is not one of 2"),
    ):
        assert said in project.run(*check, "--shard", "auto", code=2, **(job | wrong)).stderr
    project.run(*check, "--shard", "auto", "--costs", "no.json", "-o", "7.json", code=None,
                **job, SLURM_ARRAY_TASK_STEP="2")  # fmt: skip
    second = _read(project, "7.json")
    assert (second["shard"], second["results"]) == ("2/2", _read(project, "2.json")["results"])
    costly = replace(_without_times(project, "all.json"), costs=tuple(FileCost(f"s/{n}.slang", 9.0) for n in "abc"))
    costly = replace(costly, costs=(*costly.costs[:1], *(replace(one, seconds=1.0) for one in costly.costs[1:])))
    project.write("costly.json", render(costly, "json"))
    project.run(*check, "--shard", "1/2", "--costs", "costly.json", "-o", "c.json", code=None)
    assert [one["file"] for one in _read(project, "c.json")["results"]] == ["s/a.slang"]
    assert "were split differently" in project.run("report", "merge", "c.json", "2.json", code=2).stderr
    assert "--costs s/a.slang can't be read" in project.run(*check, "--costs", "s/a.slang", code=2).stderr


def test_split_files__files_of_different_size__are_split_by_their_functions(tmp_path: Path) -> None:
    counts = {"a": 1, "b": 1, "c": 7, "d": 1, "e": 1}
    for name, count in counts.items():
        (tmp_path / name).write_text(RIGHT.format(name) * count)
    groups = [(Input(tmp_path / name),) for name in counts]
    split = split_files(groups, 2)
    shards = split.shards
    assert {path.name for path in shards[0]} == {"c"}
    assert {path.name for path in shards[1]} == {"a", "b", "d", "e"}
    assert split_files(reversed(groups), 2).shards == shards  # in any order of the inputs
    assert split_files(reversed(groups), 2).digest == split.digest
    (tmp_path / "e").write_text(RIGHT.format("e").replace("x * x", "x * x * x"))
    changed = split_files(groups, 2)
    assert changed.shards == shards
    assert changed.digest != split.digest  # the reports of two texts are not merged
    both = (Input(tmp_path / "a"), Input(tmp_path / "b"))
    many = split_files([both, *groups[2:]], 4).shards
    assert all(not one & other for one, other in combinations(many, 2))
    assert any({item.path for item in both} <= shard for shard in many)


def test_split_files__functions_of_unequal_files__are_spread_evenly_and_each_once(tmp_path: Path) -> None:
    counts = [1, 2, 3, 5, 8, 13, 21, 34, 2, 2, 1, 1, 1, 40]
    for name, count in enumerate(counts):
        (tmp_path / f"f{name}.slang").write_text(RIGHT.format("f") * count)
    (tmp_path / "part.slangh").write_text(RIGHT.format("f") * 39)
    (tmp_path / "f13.slang").write_text('#include "part.slangh"\n' + RIGHT.format("g"))
    groups = [(Input(tmp_path / f"f{name}.slang"),) for name in range(len(counts))]
    shards = split_files(groups, 3).shards
    assert sorted(path for shard in shards for path in shard) == sorted(item.path for (item,) in groups)
    sizes = [sum(counts[int(path.stem[1:])] for path in shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 5


def test_split_files__recorded_seconds__balance_within_15_percent(tmp_path: Path) -> None:
    draw = random.Random(7)
    seconds = {str(tmp_path / f"f{k}.slang"): min(draw.lognormvariate(1.0, 1.0), 12.0) for k in range(60)}
    for number, path in enumerate(seconds):
        Path(path).write_text(RIGHT.format("f") * (1 + number % 3))  # functions say nothing of the seconds
    groups = [(Input(Path(path)),) for path in seconds]
    assert max(seconds.values()) < sum(seconds.values()) / 8  # no file is more than a shard
    for count in (2, 4, 8):
        split = split_files(groups, count, recorded=seconds)
        costs = [sum(seconds[str(path)] for path in shard) for shard in split.shards]
        assert max(costs) <= 1.15 * min(costs)
        assert split.digest == split_files(reversed(groups), count, recorded=seconds).digest
        assert split.digest != split_files(groups, count).digest
    some = dict(list(seconds.items())[::2])  # the others cost what their functions cost at the recorded rate
    costs = [sum(seconds[str(path)] for path in shard) for shard in split_files(groups, 2, recorded=some).shards]
    assert max(costs) <= 1.5 * min(costs)
