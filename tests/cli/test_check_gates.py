"""What makes ``slangad check`` fail besides wrong gradients: coverage, further verdicts, and what a baseline lacks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Project

SLANG = """
[Differentiable]
float good(float x) { return x * x; }

[Differentiable]
float edge(float low, float high, float x) { return saturate((x - low) / (high - low)); }

// check: skip for later
[Differentiable]
float later(float x) { return x + x; }

[BackwardDerivative(bad_bwd)]
[Differentiable]
float bad(float x) { return x * x; }
void bad_bwd(inout DifferentialPair<float> x, float d_out) { x = diffPair(x.p, x.p * d_out); }
"""
MENDED = SLANG.replace("x.p * d_out", "2.0 * x.p * d_out")


@pytest.fixture
def gated(project: Project) -> Project:
    """A project with a function of each kind, in a folder below."""
    project.write("shaders/f.slang", SLANG)
    return project


def checked(project: Project, *words: str, code: int) -> dict[str, Any]:
    """Check the file with few samples, and return the JSON report."""
    command = ("check", "shaders/f.slang", "--samples", "24", "--format", "json", "-o", "r.json")
    project.run(*command, *words, code=code)
    document: dict[str, Any] = json.loads((project.folder / "r.json").read_text(encoding="utf-8"))
    return document


def test_check__functions_that_were_not_checked__are_counted_in_every_report(gated: Project) -> None:
    reports = ("--report", "junit=j.xml", "--report", "sarif=s.json", "--report", "html=h.html")
    ended = gated.run("check", "shaders/f.slang", "--samples", "24", "--only", "later", *reports, code=3)
    problem, coverage = "nothing was checked: every function was skipped", "checked 0 of 1 function"
    assert ended.stdout.splitlines()[-2:] == [problem, f"{coverage} (1 skipped)"]
    assert ended.stderr.endswith(f"{problem}; {coverage} (1 skipped)\n")
    root = ElementTree.fromstring((gated.folder / "j.xml").read_text(encoding="utf-8"))
    assert root.find("testsuite/properties/property[@name='coverage']").get("value") == f"{coverage} (1 skipped)"  # type: ignore[union-attr]  # it is there
    assert root.find("testsuite/testcase/failure").get("message") == problem  # type: ignore[union-attr]  # it is there
    (run,) = json.loads((gated.folder / "s.json").read_text(encoding="utf-8"))["runs"]
    assert run["properties"]["coverage"]["skipped"] == 1
    assert problem in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert coverage in (gated.folder / "h.html").read_text(encoding="utf-8")


def test_check__unguarded_and_uncovered_functions__fail_only_if_asked(gated: Project) -> None:
    gated.write("shaders/f.slang", MENDED)
    report = checked(gated, code=0)
    verdicts = {one["function"]: one["verdict"] for one in report["results"]}
    assert verdicts == {"good": "PASS", "edge": "UNGUARDED", "later": "SKIPPED", "bad": "PASS"}
    assert report["coverage"] == {"checked": 3, "functions": 4, "skipped": 1, "inconclusive": 0, "broken": 0}
    assert report["problems"] == []
    checked(gated, "--fail-on", "unguarded", code=3)
    checked(gated, "--fail-on", "inconclusive", "--min-checked", "0.75", code=0)
    assert "75%" in checked(gated, "--min-checked", "0.8", code=3)["problems"][0]
    gated.write("pyproject.toml", '[tool.slangad.check]\nfail-on = ["skipped"]\nmin-checked = 2.0\n')
    assert "0 to 1" in gated.run("check", "shaders/f.slang", code=1).stderr
    gated.write("pyproject.toml", '[tool.slangad.check]\nfail-on = ["skipped"]\nmin-checked = 0.5\n')
    checked(gated, code=3)


def test_check__with_a_baseline__fails_for_new_things_only(gated: Project) -> None:
    checked(gated, "--write-baseline", "known.json", code=0)
    entry = {"file": "shaders/f.slang", "function": "bad", "verdict": "FAIL"}
    document = json.loads((gated.folder / "known.json").read_text(encoding="utf-8"))
    assert document == {"schema": 1, "known": [{**entry, "leg": leg} for leg in ("forward-reverse", "reverse")][1:]}
    known = checked(gated, "--baseline", "known.json", code=0)
    assert [one["function"] for one in known["results"] if one["known"]] == ["bad"]
    assert known["gone"] == []

    new = MENDED.replace("float bad(", "float worse(")
    gated.write("shaders/f.slang", new.replace("2.0 * x.p", "3.0 * x.p"))
    report = checked(gated, "--baseline", "known.json", code=3)
    assert [one["function"] for one in report["gone"]] == ["bad"]
    assert [one["function"] for one in report["results"] if one["verdict"] == "FAIL"] == ["worse"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1, column 2"),
        ('{"schema": 2, "known": []}', "'schema': 1"),
        ('{"schema": 1, "known": [{}]}', "file"),
    ],
)
def test_check__a_file_that_is_no_baseline__is_refused_with_the_place(gated: Project, text: str, words: str) -> None:
    gated.write("known.json", text)
    ended = gated.run("check", "shaders/f.slang", "--baseline", "known.json", code=2)
    assert words in " ".join(ended.stderr.split())
