"""``pytest --slangad``: every function is a test, a wrong gradient fails with its report, and without it nothing is."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

GOOD = """
import slangad as sa


@sa.differentiable
def square(x: float) -> float:
    return x * x
"""

WRONG = (
    GOOD
    + """

@sa.differentiable
def cube(x: float) -> float:
    return x * x * x


@cube.backward
def cube_bwd(x, d_out):
    return 6.0 * x * x * d_out
"""
)

SLANG = """
[Differentiable] float half_of(float x) { return 0.5 * x; }
[BackwardDerivative(wrong_bwd)] float wrong(float x) { return x * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, x.p * d); }
"""


def _pytest(project: Project, *words: str, code: int) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *words]
    ended = subprocess.run(
        command, cwd=project.folder, env=project.environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def _said(text: str) -> dict[str, str]:
    """What ``-v`` says of each test."""
    return dict(re.findall(r"^(\S+::\S+(?: \S+)*?) (PASSED|FAILED|SKIPPED|ERROR)", text, re.MULTILINE))


@pytest.mark.toolchain
def test_plugin__functions__are_tests_of_which_the_wrong_one_shows_its_report(project: Project) -> None:
    project.write("shaders/wrong.py", WRONG)
    project.write("shaders/plain.py", "print('not ours')\nraise SystemExit\n")
    project.write("shaders/notes.yaml", "a: 1\n")
    text = _pytest(project, "--slangad", "shaders", "-v", code=1)
    assert _said(text) == {"shaders/wrong.py::square": "PASSED", "shaders/wrong.py::cube": "FAILED"}
    assert "ratio      2" in text
    assert "slangad check" in text
    assert "Traceback" not in text
    assert "pytest_items" not in text


@pytest.mark.toolchain
def test_plugin__with_xdist__each_file_is_checked_by_one_process(project: Project) -> None:
    project.write("shaders/wrong.py", WRONG)
    project.write("shaders/good.py", GOOD)
    text = _pytest(project, "--slangad", "shaders", "-v", "-p", "xdist", "-n", "2", "--dist", "loadfile", code=1)
    said = re.findall(r"^\[(gw\d)\] \[ *\d+%\] (\w+) (\S+::\S+)", text, re.MULTILINE)
    outcomes = {name: outcome for _, outcome, name in said}
    assert outcomes == {
        "shaders/wrong.py::square": "PASSED",
        "shaders/wrong.py::cube": "FAILED",
        "shaders/good.py::square": "PASSED",
    }
    assert len({(process, name.partition("::")[0]) for process, _, name in said}) == 2
    assert "gradients: 3 results in 2 files: 1 FAIL, 2 PASS\n" in text


@pytest.mark.toolchain
def test_plugin__one_function_chosen__is_the_only_one_checked(project: Project) -> None:
    project.write("wrong.py", WRONG)
    assert "1 passed, 1 deselected" in _pytest(project, "--slangad", ".", "-k", "square", code=0)
    text = _pytest(project, "--slangad", "wrong.py::square", "-q", code=0)
    assert "1 passed" in text
    assert "gradients:" not in text


@pytest.mark.toolchain
def test_plugin__slang_files__are_collected_too(project: Project) -> None:
    project.write("a.slang", f"{SLANG}\n[Differentiable] float bad(float x) {{ return y; }}\n")
    text = _pytest(project, "--slangad", ".", "-v", code=1)
    assert "gradients: 3 results in 1 file: 2 FAIL, 1 PASS\n" in text
    said = _said(text)
    assert said == {"a.slang::half_of": "PASSED", "a.slang::wrong": "FAILED", "a.slang::bad": "FAILED"}


@pytest.mark.toolchain
def test_plugin__overloads__are_tests_named_by_their_parameters(project: Project) -> None:
    other = "[Differentiable] float half_of(float2 x) { return 0.5 * x.y; }\n"
    project.write("a.slang", f"{SLANG}\n{other}")
    text = _pytest(project, "--slangad", ".", "-v", "-k", "half_of", code=0)
    assert _said(text) == {"a.slang::half_of(float)": "PASSED", "a.slang::half_of(float2)": "PASSED"}
    assert "1 passed" in _pytest(project, "--slangad", "a.slang::half_of(float2)", "-q", code=0)


@pytest.mark.toolchain
def test_plugin__a_file_that_is_rejected__is_one_failed_test_with_the_reason(project: Project) -> None:
    project.write("bad.py", GOOD.replace("x * x", "unknown(x)"))
    project.write("good.py", GOOD)
    text = _pytest(project, "--slangad", ".", "-v", code=1)
    assert _said(text) == {"bad.py::(file)": "FAILED", "good.py::square": "PASSED"}
    assert re.search(r"bad\.py:\d+:\d+: error\[SA\d+\]", text)


@pytest.mark.toolchain
def test_plugin__what_can_not_be_checked__is_skipped_unless_strict(project: Project) -> None:
    project.write("none.slang", "// nothing Differentiable here\nfloat f(float x) { return x; }\n")
    text = _pytest(project, "--slangad", ".", code=0)
    assert "1 skipped" in text
    assert "gradients: 1 result in 1 file: 1 SKIPPED\nnot tested: none.slang::(file): SKIPPED: " in text
    assert "1 failed" in _pytest(project, "--slangad", ".", "--slangad-options=--strict", code=1)


def test_plugin__tests_beside__stay_tests(project: Project) -> None:
    project.write("test_it.py", "import slangad\ndef test_it(): pass\n")
    project.write("conftest.py", "import slangad\n")
    assert "1 passed" in _pytest(project, "--slangad", ".", code=0)


@pytest.mark.parametrize(
    "options", ["--samples=no", "--unknown", "--range=x", "'"], ids=["value", "option", "range", "quote"]
)
def test_plugin__wrong_options__are_refused_at_once(project: Project, options: str) -> None:
    text = _pytest(project, "--slangad", f"--slangad-options={options}", ".", code=4)
    assert "ERROR" in text
    assert "Traceback" not in text


def test_plugin__settings_of_the_project__are_taken_and_checked(project: Project) -> None:
    project.write("pyproject.toml", "[tool.slangad.check]\nsamples = 'many'\n")
    assert "pyproject.toml:2:1: error[SA055]" in _pytest(project, "--slangad", ".", code=4)


def test_plugin__without_its_option__imports_and_collects_nothing(project: Project) -> None:
    project.write("wrong.py", WRONG)
    project.write(
        "test_modules.py",
        "import sys\ndef test_modules():\n"
        "    found = {name for name in sys.modules if name.startswith(('slangad', 'numpy', 'click'))}\n"
        "    assert found == {'slangad', 'slangad.cli', 'slangad.cli.pytest_plugin'}\n",
    )
    assert "1 passed" in _pytest(project, ".", code=0)
