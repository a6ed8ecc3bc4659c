"""``slangad check`` keeps results of unchanged files, and prints rows as they are decided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from slangad.compiler.check.kept_results import is_repeatable
from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Result, Verdict
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.toolchain.session import Toolchain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult
    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain

USER = """
import lib;

[Differentiable]
float caller(float x) { return wrong(x) * 2.0; }

[BackwardDerivative(wrong_bwd)]
[Differentiable]
float wrong(float x) { return x * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d_out) { x = diffPair(x.p, x.p * d_out); }

[Differentiable]
float right(float x) { return scaled(x); }
"""
LIBRARY = "[Differentiable] public float scaled(float x) { return 3.0 * x; }\n"
DESCRIBED = "import slangad as sa\nfrom gains import GAIN\n\n\n@sa.differentiable\ndef gain(x: float) -> float:\n"


def _checked(project: Project, *words: str, code: int = 3) -> dict[str, Any]:
    ended = project.run("check", "f.slang", *words, "--samples", "8", "--format", "json", code=code)
    results = json.loads(ended.stdout)["results"]
    return {one["function"]: one for one in results}


def _cached(results: dict[str, Any]) -> list[bool]:
    return [one["cached"] for one in results.values()]


def test_check__unchanged_files__are_answered_from_the_cache_until_something_changes(project: Project) -> None:
    project.write("f.slang", USER)
    library = project.write("lib.slang", LIBRARY)
    first, second = _checked(project), _checked(project, "--time-limit", "30", "-j", "1")
    assert _cached(first) == [False] * 3
    assert _cached(second) == [True] * 3
    assert [{**one, "cached": False} for one in second.values()] == list(first.values())
    assert _cached(_checked(project, "--no-cache")) == [False] * 3
    library.write_text(LIBRARY.replace("3.0 * x", "3.0 * x * x"))
    assert _cached(_checked(project)) == [True, True, False]
    library.rename(project.folder / "elsewhere.slang")
    assert _cached(_checked(project)) == [False, True, True, False]  # the import, and what uses it
    (project.folder / "elsewhere.slang").rename(library)
    assert _cached(_checked(project)) == [True] * 3


def test_check__an_import_that_does_not_compile__counts_as_a_source(project: Project) -> None:
    project.write("f.slang", USER)
    library = project.write("lib.slang", LIBRARY.replace("3.0", "missing"))
    assert _checked(project)["right"]["verdict"] == "INCONCLUSIVE"
    library.write_text(LIBRARY)
    assert _checked(project)["right"]["verdict"] == "PASS"


FOLDER = {
    "lib": """
public struct Light { public float power; }
[Differentiable] public float scaled(float x) { return 3.0 * x; }
[Differentiable] public float bent(float x) { return x * x; }
""",
    "a": """
import lib;
[Differentiable] float low(float x) { return scaled(x) + 1.0; }
[Differentiable] float high(float x) { return low(x) * 2.0; }
""",
    "b": """
import lib;
// check: range x 0.5 2
[Differentiable] float lone(float x) { return 1.0 / x; }
[Differentiable] float both(float x) { return bent(scaled(x)); }
[BackwardDerivative(wrong_bwd)] [Differentiable]
float wrong(float x) { return x * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d_out) { x = diffPair(x.p, x.p * d_out); }
""",
}
EVERY = {"scaled", "bent", "low", "high", "lone", "both", "wrong"}


def test_check__a_change_of_one_function__runs_that_one_and_who_reaches_it(project: Project) -> None:
    def run(*words: str) -> dict[str, dict[str, Any]]:
        ended = project.run("check", "s", "--samples", "8", "--format", "json", *words, code=3)
        return {one["function"]: one for one in json.loads(ended.stdout)["results"]}

    def checked(*words: str) -> set[str]:
        return {name for name, one in run(*words).items() if not one["cached"]}

    def write(name: str, old: str = "", new: str = "") -> None:
        project.write(f"s/{name}.slang", FOLDER[name].replace(old, new) if old else FOLDER[name])

    for name in FOLDER:
        write(name)
    first = run()
    assert {name for name, one in first.items() if not one["cached"]} == EVERY
    write("lib", "return x * x;", "return x * x * x;")
    assert checked() == {"bent", "both"}
    write("lib", "public struct", "// a comment that moves all lines\n\npublic struct")
    moved = run()
    assert not any(one["cached"] is False for one in moved.values())
    assert moved["scaled"]["span"]["line"] == first["scaled"]["span"]["line"] + 2
    assert moved["both"]["verdict"] == "PASS"
    write("b", "// check: range x 0.5 2", "// check: range x 0.5 3")
    assert checked() == {"lone"}
    write("b", "import lib;", "import lib;\n")  # a failure names lines: it is found again
    assert checked() == {"wrong"}
    write("b")
    assert checked() == set()
    assert checked("--seed", "1") == EVERY


NUMBERS = """
#define EDGE 0.25
[Differentiable] float first(float x) { return x * x; }
[Differentiable] float second(float x) { return x > EDGE ? 2.0 * x : x; }
[Differentiable] float third(float x) { return 3.5 * x * x; }
"""


def test_check__a_number_of_a_later_function_changes__keeps_the_earlier_ones(project: Project) -> None:
    project.write("f.slang", NUMBERS)
    _checked(project, code=0)
    project.write("f.slang", NUMBERS.replace("3.5", "4.5"))
    assert {name: one["cached"] for name, one in _checked(project, code=0).items()} == {
        "first": True,
        "second": True,
        "third": False,
    }
    project.write("f.slang", NUMBERS.replace("2.0 * x", "2.5 * x"))
    changed = _checked(project, code=0)
    assert {name: one["cached"] for name, one in changed.items()} == {"first": True, "second": False, "third": True}


def test_check__names_that_are_asked_for__are_looked_for_in_spite_of_the_cache(project: Project) -> None:
    project.write("f.slang", LIBRARY)
    project.write("g.slang", LIBRARY.replace("scaled", "other"))
    _checked(project, "g.slang", "--only", "other", code=0)
    assert "None of the inputs has 'other'" in project.run("check", "f.slang", "--only", "other", code=2).stderr


def test_check__a_description__is_kept_only_if_its_files_alone_decide(project: Project) -> None:
    library = project.write("gains.py", "GAIN = 2.0\n")
    project.write("f.py", DESCRIBED + "    return x * GAIN\n")
    for gain in ("2.0", "4.0"):
        library.write_text(f"GAIN = {gain}\n")
        for cached in (False, True):
            ended = project.run("check", "f.py", "--samples", "8", "--format", "json")
            assert [one["cached"] for one in json.loads(ended.stdout)["results"]] == [cached]
    library.write_text("import os\nGAIN = float(os.environ.get('GAIN', 1.0))\n")
    for _ in range(2):
        ended = project.run("check", "f.py", "--samples", "8", "--format", "json")
        assert [one["cached"] for one in json.loads(ended.stdout)["results"]] == [False]


@pytest.mark.parametrize(
    ("verdict", "reason", "kept"),
    [
        (Verdict.FAIL, "d result / d x is wrong", True),
        (Verdict.NONDETERMINISTIC, "two runs with the same inputs differ", False),
        (Verdict.FAIL, "it does not compile: the Slang compiler takes too long on it", False),
        (Verdict.FAIL, "it does not end within 60 s; likely a loop", False),
        (Verdict.FAIL, "it crashes (SIGSEGV) when it runs", False),
        (Verdict.INCONCLUSIVE, "its process was killed (SIGKILL): a check of this size needs more memory", False),
        (Verdict.INCONCLUSIVE, "its samples take more than 60 s: --run-limit gives them more", False),
    ],
)
def test_is_repeatable__what_another_run_may_not_give__is_not_kept(verdict: Verdict, reason: str, kept: bool) -> None:
    assert is_repeatable(Result("f.slang", "f", "function", verdict, reason=reason)) is kept


def test_check__a_caller_before_its_wrong_callee__has_its_cause_in_its_row(project: Project) -> None:
    project.write("f.slang", USER)
    project.write("lib.slang", LIBRARY)
    shown = project.run("check", "f.slang", "--samples", "8", code=3).stdout.splitlines()
    rows = [line.split()[:2] for line in shown if line.startswith("  ") and line.split()[0] in ("PASS", "FAIL")]
    assert rows == [["FAIL", "caller"], ["FAIL", "wrong"], ["PASS", "right"]]
    assert "its derivative is made from that of 'wrong'" in shown[2]


def test_check__the_declarations_and_the_text_of_a_file__are_read_once_in_a_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FOLDER.items():
        project.write(f"s/{name}.slang", text)
    read: list[str] = []
    run = Toolchain.compile

    def recorded(self: Toolchain, jobs: Sequence[CompileJob], progress: Any = None) -> list[CompileResult]:
        read.extend(job.name for job in jobs if job.declarations == ())
        return run(self, jobs, progress)

    monkeypatch.setattr(Toolchain, "compile", recorded)
    read_source.cache_clear()
    monkeypatch.chdir(project.folder)
    report = check(parse_inputs(["s"]), CheckOptions(samples=4))
    assert {result.function for result in report.results} == EVERY
    assert sorted(read) == ["a_declarations.slang", "b_declarations.slang", "lib_declarations.slang"]
    texts = len(FOLDER) + 2  # and the copies of b that declared parts change
    assert read_source.cache_info().misses <= texts
