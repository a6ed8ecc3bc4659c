"""Every code has an example that gives it and an example that does not; docs/errors.md shows both."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.devices import device_of

from slangad.cli.main import cli
from slangad.compiler.errors.explain import PRINTED, as_markdown, explanations, printed
from slangad.compiler.toolchain.tools import find_dxc

if TYPE_CHECKING:
    from slangad.compiler.errors.examples import Example

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errors.md"
WITH_EXAMPLES = sorted(code for code, entry in explanations().items() if not entry.no_example)
WITHOUT = {"SA208", "SA252"}
"""Codes that no program gives: a diagnostic of later versions of Slang, a device that fails."""
_FOUND = re.compile(r"(error|warning|note)\[(SA\d{3})\]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder for an example."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def example(code: str, request: pytest.FixtureRequest) -> Example:
    """The example that the test's name says; it skips where a tool or device that the example needs is missing."""
    entry = explanations()[code]
    found = entry.wrong if "wrong_example" in request.node.name else entry.right
    assert found is not None
    if "--device cpu" in found.command and "CXX=" not in found.command:
        request.getfixturevalue("cxx")
    device = re.search(r"^slangad .*--device (vulkan|webgpu)", found.command)
    if device:
        device_of(device[1])
    if code == "SA242" and find_dxc():
        pytest.skip("this machine has DXC")
    return found


def run(example: Example, folder: Path, *options: str) -> tuple[int, str]:
    """Write the files of an example, run its commands, and return the exit code and stderr of the last one."""
    for name, text in example.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    *first, last = example.command.splitlines()
    for command in first:
        exit_code, said = run_command(command)
        assert exit_code == 0, said
    exit_code, said = run_command(last, *options)
    return exit_code, said.replace(f"{folder}{os.sep}", "").replace(str(folder), ".")


def run_command(command: str, *options: str) -> tuple[int, str]:
    """Run a command: ``slangad`` in this process, everything else in a shell."""
    if command.startswith("slangad "):
        result = CliRunner().invoke(cli, [*shlex.split(command)[1:], *options])
        return result.exit_code, result.stderr
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    python = shlex.quote(sys.executable)
    command = re.sub(r"\bpython (?=\w|-)", f"{python} ", re.sub(r"\bslangad (?=\w)", "python -m slangad.cli ", command))
    # byte code of a full disk (SA255) would be read by later tests
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stderr


def masked(said: str) -> str:
    """Return the text with every number as 0."""
    return re.sub(r"[\d.]+", "0", said)


def unnamed(said: str) -> str:
    """Return the text without the name of a program's kernels: either may be what runs out of time."""
    return said.replace("_kernels.slang", ".slang")


@pytest.mark.parametrize("code", WITH_EXAMPLES)
def test_wrong_example__gives_its_code_and_prints_what_the_docs_show(
    code: str, example: Example, folder: Path, request: pytest.FixtureRequest
) -> None:
    exit_code, said = run(example, folder)
    assert {found for _, found in _FOUND.findall(said)} == {code}, said
    assert (exit_code != 0) == ("error[" in said), said
    shown = said if example.portable else next(line for line in said.splitlines() if f"[{code}]" in line) + "\n"
    if request.config.getoption("--update"):
        merged = sorted({**printed(), code: shown}.items())
        PRINTED.write_text("".join(f"=== {key}\n{text}" for key, text in merged if key in WITH_EXAMPLES), "utf-8")
    known = printed().get(code, "")
    same = unnamed(known) == unnamed(shown) if example.portable else masked(known) == masked(shown)
    assert same, f"run: pytest tests/test_errors.py --update\n{shown}"


@pytest.mark.parametrize("code", WITH_EXAMPLES)
def test_right_example__gives_no_diagnostic(code: str, example: Example, folder: Path) -> None:
    front_end = code < "SA080" and example.command.startswith("slangad compile ")
    exit_code, said = run(example, folder, *(("--emit", "slang") if front_end else ()))
    assert (exit_code, _FOUND.findall(said)) == (0, []), said


def test_codes__without_an_example__are_these_alone() -> None:
    assert set(explanations()) - set(WITH_EXAMPLES) == WITHOUT


def test_errors_page__matches_the_registry(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        PAGE.write_text(as_markdown(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == as_markdown(), "run: pytest tests/test_errors.py --update"
