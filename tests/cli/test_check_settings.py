"""``slangad check`` with Slang's own settings, from the command line and from ``[tool.slangad.check]``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from support.slangc import stand_in

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain

TEXT = """
// range: x 0.5 2
[Differentiable]
float scaled(float x) { return GAIN / x; }

[Differentiable]
T same<T : __BuiltinFloatingPointType>(T x) { return x; }
"""
FLAG = "-experimental-feature"


def _results(ended: CompletedProcess[str]) -> dict[str, Any]:
    return {one["function"]: one for one in json.loads(ended.stdout)["results"]}


def _legs(result: dict[str, Any]) -> dict[str, str]:
    return {leg["leg"]: leg["state"] for leg in result["legs"]}


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script")
def test_check__an_external_slangc_with_flags__compiles_with_it_and_reports_it(project: Project) -> None:
    log = project.folder / "log"
    slangc = stand_in(project.folder / "slangc")
    slangc.write_text(slangc.read_text().replace("words = sys.argv[1:]", f"words = sys.argv[1:]\n{_LOGS % str(log)}"))
    project.write("f.slang", TEXT)
    words = ("f.slang", "--only", "scaled", "-DGAIN=2.0", "-X", FLAG, "--slangc", "./slangc", "--mode", "backward")
    ended = project.run("check", *words, "--no-cache", "--format", "json")
    (result,) = _results(ended).values()
    assert result["verdict"] == "PASS"
    assert _legs(result)["forward"] == "missing"
    assert _legs(result)["reverse"] == "agrees"
    assert {"slang", "slangc"} <= {tool["name"] for tool in json.loads(ended.stdout)["toolchain"]}
    assert log.read_text().count(FLAG) == log.read_text().count("-target cpp") > 0


_LOGS = "if '-target' in words: open(%r, 'a').write(' '.join(words) + '\\n')"


def test_check__settings_of_the_project__hold_for_the_check_alone(project: Project) -> None:
    project.write("f.slang", TEXT)
    check = f'mode = "forward"\ndefines = {{GAIN = 2.0}}\nflags = ["{FLAG}"]\nspecialize = ["same<float>"]\n'
    project.write("pyproject.toml", f'[tool.slangad]\ninputs = ["*.slang"]\n[tool.slangad.check]\n{check}')
    project.run("check", "-o", "out/report.json")
    results = json.loads((project.folder / "out" / "report.json").read_text())["results"]
    assert {one["function"]: _legs(one)["reverse"] for one in results} == {
        "scaled": "missing",
        "same<float>": "missing",
    }
    assert all(one["verdict"] == "PASS" for one in results)
    assert "undefined identifier 'GAIN'" in project.run("compile", "--format", "json", code=1).stdout


def test_slang_flags__wrong_ones__are_refused_where_they_stand(project: Project) -> None:
    project.write("f.slang", TEXT)
    assert "slangad sets it itself" in project.run("check", "f.slang", "-X", "-target", code=2).stderr
    ended = project.run("compile", "f.slang", "-X", "-no-such-flag", code=4)
    assert "error[SA256]: Slang does not take an argument: unknown command-line option '-no-such-flag'" in ended.stderr
    project.write("pyproject.toml", '[tool.slangad.check]\nflags = ["-entry"]\n')
    assert (
        "pyproject.toml:2:1: error[SA061]: -entry: slangad sets it itself"
        in project.run("check", "f.slang", code=1).stderr
    )


def test_check__an_output_file_without_a_format__gets_that_of_its_suffix(project: Project) -> None:
    project.write("f.slang", TEXT)
    starts = {
        "r.xml": "<?xml",
        "r.sarif": '{\n  "$schema"',
        "r.html": "<!",
        "r.txt": "f.slang\n",
        "r.json": '{\n  "schema"',
    }
    for name, start in starts.items():
        project.run("check", "f.slang", "-DGAIN=1.0", "--only", "scaled", "--samples", "8", "-o", name)
        assert (project.folder / name).read_text(encoding="utf-8").startswith(start)
