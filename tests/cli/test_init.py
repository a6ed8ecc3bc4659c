"""``slangad init``: each template's folder does what its README says, and no file is overwritten."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from slangad.cli.main import cli
from slangad.compiler.driver.new_folder import TEMPLATES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRAINED = {
    "kernel": {"decay.strength": 0.8, "decay.rate": 1.5},
    "yaml": {"decay.strength": 0.8, "decay.rate": 1.5},
    "pipeline": {},
}
"""Templates that train, and what is found."""


def init(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["init", *words])
    assert result.exit_code == code, result.output
    return result.output


def run(commands: str, folder: Path, programs: Path) -> str:
    """Run the commands of a README; the first that fails ends them."""
    programs.mkdir()
    for name, words in {"slangad": "-m slangad.cli", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    environment |= {"SLANGAD_RUN_DEVICE": "cpu", "SLANGAD_TRAIN_DEVICE": "cpu", "SLANGAD_CHECK_SAMPLES": "16"}
    shell = ["sh", "-ex", "-c", commands]
    done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.toolchain
@pytest.mark.parametrize("name", TEMPLATES)
def test_template__the_commands_of_its_readme__work(name: str, tmp_path: Path, tool: Callable[[str], str]) -> None:
    if name == "cmake":
        tool("cmake")
    folder = tmp_path / "new"
    written = init("--template", name, str(folder)).splitlines()
    assert str(folder / "README.md") in written
    workflow = yaml.safe_load((folder / ".github/workflows/gradients.yml").read_text(encoding="utf-8"))
    assert any("slangad check" in step.get("run", "") for step in workflow["jobs"]["gradients"]["steps"])
    (commands,) = re.findall(r"```sh\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    printed = run(commands, folder, tmp_path / "programs")
    if name in TRAINED:
        found = dict(np.load(folder / "fitted.npz"))
        for key, value in TRAINED[name].items():
            assert float(found[key]) == pytest.approx(value, abs=0.02)
        assert float(printed.split(" -> ")[1].split()[0].rstrip(",")) < 1e-3
    if name == "cmake":
        assert "strength 0.800, rate 1.50" in printed


def test_init__where_a_file_is__writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    output = init(str(tmp_path), code=2)
    assert f"Nothing is overwritten, and there is {tmp_path / 'README.md'}. Name another folder." in output
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"


def test_init__where_a_folder_cannot_be__writes_nothing(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("mine", encoding="utf-8")
    assert f"error[SA405]: can't write {tmp_path / '.github'}" in init(str(tmp_path), code=4)
    assert [path.name for path in tmp_path.iterdir()] == [".github"]


def test_init__an_unknown_template__names_the_nearest(tmp_path: Path) -> None:
    assert "Did you mean 'kernel'?" in init("--template", "kernl", str(tmp_path), code=2)
