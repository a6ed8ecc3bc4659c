"""A folder of the user's to work in, descriptions to put there, and the command line run in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from slangad.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = '''"""What a description imports."""

import slangad as sa

GAIN = 2.0


@sa.differentiable
def curve(x: float, k: float) -> float:
    return GAIN * x * x / (x * x + k)
'''

KERNEL = '''"""A kernel that needs the module beside it."""

import slangad as sa
from slangad import Each, NoDiff, Uniform

import {library}


@sa.kernel
def {kernel}(x: Each[float], k: Uniform[float], target: NoDiff[Each[float]]) -> Each[float]:
    r = {library}.curve(x, k) - target
    return r * r
'''


@dataclass(frozen=True)
class Project:
    """A folder, with the cache and the output in it."""

    folder: Path

    def write(self, name: str, text: str) -> Path:
        """Put a file there."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def kernel(self, name: str, library: str = "lib", kernel: str = "") -> Path:
        """Put a description of one kernel there, and the module it imports."""
        self.write(f"{library}.py", LIBRARY)
        return self.write(f"{name}.py", KERNEL.format(library=library, kernel=kernel or name))

    def run(self, *words: str, code: int | None = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``slangad`` there, in this process, which saves the imports, and check its exit code."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            runner = CliRunner(env=self.environment | environment)
            found = runner.invoke(cli, words, prog_name="slangad")
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        ended = subprocess.CompletedProcess(words, found.exit_code, found.stdout, found.stderr)
        return _checked(ended, code)

    def run_apart(self, *words: str, code: int | None = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``slangad`` there, as a process of its own, and check its exit code."""
        command = [sys.executable, "-m", "slangad.cli", *words]
        ended = subprocess.run(
            command, cwd=self.folder, env=self.environment | environment, capture_output=True, text=True, check=False
        )
        return _checked(ended, code)

    @property
    def environment(self) -> dict[str, str]:
        """The environment for commands run there."""
        return {**os.environ, "SLANGAD_CACHE_DIR": str(self.folder / ".cache"), "NO_COLOR": "1"}

    def files(self, folder: str = "build") -> dict[str, bytes]:
        """The files of a folder below and their contents."""
        root = self.folder / folder
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def manifest(self, name: str = "build/manifest.json") -> dict[str, Any]:
        """A manifest, read."""
        value: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        return value


def _checked(ended: subprocess.CompletedProcess[str], code: int | None) -> subprocess.CompletedProcess[str]:
    assert code is None or ended.returncode == code, f"exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    return ended


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty folder of the user's."""
    return Project(tmp_path)
