"""Temporary folders: what a killed process left is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from slangad.compiler.toolchain import temporary
from slangad.compiler.toolchain.temporary import TemporaryFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks on folders")
SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "quickstart" / "brdf.py"
HOLDER = """
from slangad.compiler.toolchain.temporary import TemporaryFolder
print(TemporaryFolder().path, flush=True)
input()
"""
TESTS = """
import time

def test_long(tmp_path):
    (tmp_path / "file").write_text("text")
    time.sleep(60)

def test_short(tmp_path):
    (tmp_path / "file").write_text("text")
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that nobody has looked into."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(temporary, "_swept", set())
    return folder


def holder(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that has a temporary folder, and the folder."""
    environment = os.environ | {"TMPDIR": str(place)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", HOLDER], env=environment, **pipes)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def killed_when(process: subprocess.Popen[str], place: Path, pattern: str) -> None:
    """Kill a process once a path appears."""
    for _ in range(30_000):
        if any(place.glob(pattern)):
            break
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL


def test_folder__of_a_killed_process__is_removed_by_the_next(place: Path) -> None:
    (killed, left), (alive, kept) = holder(place), holder(place)
    with killed, alive:
        (left / "file").write_text("text")
        killed.kill()
        killed.wait()
        others = [place / "slangad-tmp-mine", place / "slangad-tmp-abcdefgh.txt"]
        others[0].mkdir()
        others[1].write_text("text")
        with TemporaryFolder() as own:
            assert sorted(place.iterdir()) == sorted([*others, kept, own])
        alive.communicate("\n")
    temporary._swept.clear()
    TemporaryFolder().close()
    assert sorted(place.iterdir()) == sorted(others)


def test_folder__pipe_and_file_of_such_names__are_left_alone(place: Path) -> None:
    pipe, file = place / "slangad-tmp-abcdefgh", place / "slangad-tmp-ijklmnop"
    os.mkfifo(pipe)
    file.write_text("text")
    TemporaryFolder().close()
    assert sorted(place.iterdir()) == [pipe, file]


def test_folder__closed_in_a_fork__stays(place: Path) -> None:
    folder = TemporaryFolder()
    child = os.fork()
    if child == 0:
        folder.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.is_dir()
    temporary.remove_abandoned(place)
    assert folder.path.is_dir()
    folder.close()
    assert not any(place.iterdir())


@pytest.mark.toolchain
def test_compile__killed__leaves_nothing_after_the_next(place: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "slangad.cli", "compile", str(SAMPLE), "-o", str(tmp_path / "out")]
    environment = os.environ | {"TMPDIR": str(place), "SLANGAD_CACHE_DIR": str(tmp_path / "cache")}
    killed_when(subprocess.Popen(command, env=environment), place, "slangad-tmp-*/1")
    assert any(place.iterdir())
    subprocess.run(command, env=environment, check=True)
    assert not any(place.iterdir())


def test_tests__killed__leave_nothing_after_the_next(place: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "conftest.py").write_text("from tests.conftest import *\n")
    (folder / "test_some.py").write_text(TESTS)
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(root / "pyproject.toml"), str(folder)]
    environment = os.environ | {"TMPDIR": str(place), "PYTHONPATH": f"{root}{os.pathsep}{root / 'tests'}"}
    started = subprocess.Popen([*command, "-k", "long"], cwd=root, env=environment)
    killed_when(started, place, "slangad-tests-*/pytest/*/file")
    assert any(place.iterdir())
    subprocess.run([*command, "-k", "short"], cwd=root, env=environment, check=True)
    assert not any(place.iterdir())
