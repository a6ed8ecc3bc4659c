"""``[tool.slangad]``: what is read from pyproject.toml, what is refused with its place, which files patterns name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.driver.settings import Project, find_project, inputs_of, read_project
from slangad.compiler.errors.diagnostics import CompileError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(folder: Path, text: str) -> Project:
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    project = read_project(file)
    assert project is not None
    return project


def refused(folder: Path, text: str) -> list[str]:
    with pytest.raises(CompileError) as caught:
        inputs_of(settings(folder, text))
    return [f"{d.span}: {d.code}: {d.message}" for d in caught.value.diagnostics]


def test_project__all_settings__are_read(tmp_path: Path) -> None:
    project = settings(
        tmp_path,
        """
[tool.slangad]
inputs = ["a.py", "b.yaml:fit"]
exclude = ["x.py"]
targets = ["spirv", "cuda", "spirv"]
modes = ["backward"]
output = "out/shaders"
include = ["lib"]
defines = {N = 4, NAME = "x"}
specialize = ["f<float>"]
optimization = 3

[tool.slangad.check]
device = "cpu"
samples = 64
seed = 7
strict = true
ranges = {"curve.k" = [0.1, 4]}
""",
    )
    assert project.inputs == ("a.py", "b.yaml:fit")
    assert inputs_of(project) == ("a.py", "b.yaml:fit")
    assert project.targets == ("spirv", "cuda")
    assert project.modes == ("backward",)
    assert (project.output, project.slang.include) == ("out/shaders", ("lib",))
    assert project.slang.defines == (("N", "4"), ("NAME", "x"))
    assert (project.slang.specialize, project.optimization) == (("f<float>",), 3)
    check = project.check
    assert (check.device, check.samples, check.seed, check.strict) == ("cpu", 64, 7, True)
    assert check.ranges == (("curve.k", 0.1, 4.0),)


def test_project__nothing_said__is_none_everywhere(tmp_path: Path) -> None:
    project = settings(tmp_path, "[tool.slangad]\n")
    assert (project.targets, project.modes, project.output, project.optimization) == (None, None, None, None)
    assert inputs_of(project) == ()


@pytest.mark.parametrize("text", ["", "[tool.other]\n", "[project]\nname = 'x'\n", "tool = 5\n"])
def test_project__without_the_table__is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert read_project(tmp_path / "pyproject.toml") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.slangad]\ninput = []\n", "pyproject.toml:2:1: SA053: [tool.slangad] has no key 'input'"),
        ("[tool.slangad]\ninputs = 'a.py'\n", "pyproject.toml:2:1: SA055: expected a list, found text"),
        ("[tool.slangad]\n\ntargets = []\n", "pyproject.toml:3:1: SA055: expected a list of at least 1, found 0"),
        (
            "[tool]\nslangad = 5\n",
            "pyproject.toml:2:1: SA055: expected a mapping with inputs, exclude, targets, modes, …, ",
        ),
        ("[tool]\nslangad.outputs = 5\n", "pyproject.toml:2:1: SA053: [tool.slangad] has no key 'outputs'"),
        (
            "[tool.slangad]\n[tool.slangad.check]\n  seeds = 1\n",
            "pyproject.toml:3:3: SA053: [tool.slangad.check] has no key 'seeds'",
        ),
        ("[tool.slangad.check]\nsamples = 0\n", "pyproject.toml:2:1: SA055: expected "),
        (
            '[tool.slangad.check]\nranges = {"f.x" = [0, inf]}\n',
            "pyproject.toml:2:1: SA061: a range goes from a lower to a higher finite number",
        ),
        ('[tool.slangad.check]\nranges = {"x" = [0, 1]}\n', "pyproject.toml:2:1: SA057: 'x' is not function.parameter"),
        ("[tool.slangad]\noptimization = 4\n", "pyproject.toml:2:1: SA055: expected 0 to 3, found 4"),
        ("[tool.slangad]\ninputs = ['*.py']\n", "pyproject.toml:2:1: SA307: no input matches *.py"),
        ("[tool.slangad]\ninputs = ['/etc/*.py']\n", "pyproject.toml:2:1: SA307: no input matches /etc/*.py"),
        ("[tool.slangad]\ninputs = [\n", "pyproject.toml:3:1: SA306: not valid TOML: "),
        ("[tool.slangad]\nx = 1 2\n", "pyproject.toml:2:7: SA306: not valid TOML: "),
    ],
)
def test_project__wrong_settings__are_refused_at_their_key(tmp_path: Path, text: str, said: str) -> None:
    first, *_ = refused(tmp_path, text)
    assert first.startswith(said)


def test_project__not_text__is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(CompileError, match=r"can't read pyproject\.toml"):
        read_project(file)


def test_inputs__of_patterns__are_sorted_known_files_once_and_without_output(tmp_path: Path) -> None:
    for name in ("b.py", "a.yaml", "c.txt", "s/d.slang", "s/t/e.yml", "s/t/skip.py", "out/b.slang", "out/f.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    project = settings(
        tmp_path,
        '[tool.slangad]\noutput = "out"\nexclude = ["**/skip.py"]\n'
        'inputs = ["s/d.slang", "**/*", "missing.py", "b.py:fit"]\n',
    )
    expected = ("s/d.slang", "a.yaml", "b.py", "s/t/e.yml", "missing.py", "b.py:fit")
    assert inputs_of(project) == expected


def test_find_project__from_a_folder_below__paths_are_seen_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(tmp_path, '[tool.slangad]\noutput = "out"\ninclude = ["lib"]\ninputs = ["a.py"]\n')
    below = tmp_path / "x" / "y"
    below.mkdir(parents=True)
    (tmp_path / "x" / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    monkeypatch.chdir(below)
    project = find_project(below)
    assert project is not None
    assert (project.output, project.slang.include) == ("../../out", ("../../lib",))
    assert inputs_of(project) == ("../../a.py",)


def test_find_project__beyond_a_repository__is_not_looked_for(tmp_path: Path) -> None:
    settings(tmp_path, "[tool.slangad]\n")
    below = tmp_path / "repository" / "inner"
    below.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    assert find_project(below) is None
