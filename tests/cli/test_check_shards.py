"""``slangad check --shard`` splits the files, and ``slangad report merge`` puts the reports together."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from slangad.compiler.check.planning.shards import paths_of_shard
from slangad.compiler.driver.inputs import Input

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Project

RIGHT = "[Differentiable] float {0}(float x) {{ return x * x; }}\n"
WRONG = (
    "[BackwardDerivative({0}_bwd)] [Differentiable] float {0}(float x) {{ return x * x; }}\n"
    "void {0}_bwd(inout DifferentialPair<float> x, float d) {{ x = diffPair(x.p, x.p * d); }}\n"
)


def _read(project: Project, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((project.folder / name).read_text(encoding="utf-8"))
    return document


@pytest.mark.toolchain
def test_merge__the_shards_of_a_check__give_the_report_of_one_run(project: Project) -> None:
    for name, text in (("a", RIGHT), ("b", WRONG), ("c", RIGHT)):
        project.write(f"s/{name}.slang", text.format(name))
    check = ("check", "s", "--samples", "8", "--min-checked", "1")
    project.run(*check, "-o", "all.json", code=3)
    for number in (1, 2):
        project.run(*check, "--shard", f"{number}/2", "-o", f"{number}.json", code=None)
    merged = project.run("report", "merge", "2.json", "1.json", "-o", "merged.json", "-o", "merged.xml", code=3)
    assert "1 FAIL, 2 PASS" in merged.stderr
    assert (project.folder / "merged.xml").read_text(encoding="utf-8").count("<testcase") == 3
    whole, together = _read(project, "all.json"), _read(project, "merged.json")
    for document in (whole, together):
        del document["seconds"], document["command"]
        for result in document["results"]:
            del result["cached"]
    assert together == whole
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


def test_paths_of_shard__files_of_different_size__are_split_by_their_functions(tmp_path: Path) -> None:
    counts = {"a": 1, "b": 1, "c": 7, "d": 1, "e": 1}
    for name, count in counts.items():
        (tmp_path / name).write_text(RIGHT.format(name) * count)
    groups = [(Input(tmp_path / name),) for name in counts]
    shards = [paths_of_shard(groups, (number, 2)) for number in (1, 2)]
    assert {path.name for path in shards[0]} == {"c"}
    assert {path.name for path in shards[1]} == {"a", "b", "d", "e"}
    for number in (1, 2):  # in any order of the inputs
        assert paths_of_shard(reversed(groups), (number, 2)) == shards[number - 1]
    both = (Input(tmp_path / "a"), Input(tmp_path / "b"))
    many = [paths_of_shard([both, *groups[2:]], (number, 4)) for number in range(1, 5)]
    assert all(not one & other for one, other in combinations(many, 2))
    assert any({item.path for item in both} <= shard for shard in many)


def test_paths_of_shard__functions_of_unequal_files__are_spread_evenly_and_each_once(tmp_path: Path) -> None:
    counts = [1, 2, 3, 5, 8, 13, 21, 34, 2, 2, 1, 1, 1, 40]
    for name, count in enumerate(counts):
        (tmp_path / f"f{name}.slang").write_text(RIGHT.format("f") * count)
    (tmp_path / "part.slangh").write_text(RIGHT.format("f") * 39)
    (tmp_path / "f13.slang").write_text('#include "part.slangh"\n' + RIGHT.format("g"))
    groups = [(Input(tmp_path / f"f{name}.slang"),) for name in range(len(counts))]
    shards = [paths_of_shard(groups, (number, 3)) for number in (1, 2, 3)]
    assert sorted(path for shard in shards for path in shard) == sorted(item.path for (item,) in groups)
    sizes = [sum(counts[int(path.stem[1:])] for path in shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 5
