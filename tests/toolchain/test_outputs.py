"""Files appear together or not at all, and unchanged ones stay untouched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import slangad
from slangad.compiler.driver.write_files import write_files
from slangad.compiler.errors.diagnostics import ToolchainError


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_write_files__new_folders__are_made(tmp_path: Path) -> None:
    files = {tmp_path / "a" / "x.spv": b"\0\1", tmp_path / "a" / "b" / "y.txt": "ü".encode()}
    assert write_files(files) == tuple(files)
    assert everything(tmp_path) == {"a/x.spv": b"\0\1", "a/b/y.txt": "ü".encode()}


def test_write_files__unchanged__keeps_its_time(tmp_path: Path) -> None:
    same, other = tmp_path / "same", tmp_path / "other"
    write_files({same: b"1", other: b"1"})
    os.utime(same, (100, 100))
    assert write_files({same: b"1", other: b"2"}) == (other,)
    assert same.stat().st_mtime == 100
    assert other.read_bytes() == b"2"


@pytest.mark.skipif(os.name != "posix", reason="permission bits of POSIX")
def test_write_files__permissions__follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_files({tmp_path / "x": b"1"})
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_write_files__one_fails__changes_nothing(tmp_path: Path) -> None:
    first, blocked = tmp_path / "first", tmp_path / "blocked"
    write_files({first: b"old"})
    blocked.mkdir()
    with pytest.raises(ToolchainError, match="SA405") as caught:
        write_files({first: b"new", tmp_path / "new" / "deep" / "x": b"1", blocked: b"1"})
    assert str(blocked) in caught.value.diagnostics[0].message
    assert everything(tmp_path) == {"first": b"old"}
    assert not (tmp_path / "new").exists()


def test_write_files__parent_is_a_file__changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ToolchainError, match="SA405"):
        write_files({tmp_path / "a": b"1", tmp_path / "file" / "b": b"1"})
    assert everything(tmp_path) == {"file": b""}


SCRIPT = """
import resource, signal, sys
from pathlib import Path
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.driver.write_files import write_files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
folder = Path(sys.argv[1])
try:
    write_files({folder / "small": b"new", folder / "large": b"x" * 20_000, folder / "more": b"new"})
except ToolchainError as error:
    print(error.exit_code, error.diagnostics[0].message)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_write_files__no_room__leaves_earlier_outputs_and_no_litter(tmp_path: Path) -> None:
    write_files({tmp_path / "small": b"old", tmp_path / "large": b"old"})
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(slangad.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.stdout == f"4 can't write {tmp_path / 'large'}: File too large\n", ended.stderr
    assert everything(tmp_path) == {"small": b"old", "large": b"old"}
