"""SIGTERM ends ``slangad check`` while compilers are at work, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.hanging import HANGS_SLANG
from support.processor import children_of, worked

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.toolchain, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]

GOOD = "[Differentiable] float good(float x) { return x * x; }\n"
CXX = """#!/bin/sh
echo $$ > {pid}.part && mv {pid}.part {pid}
sleep 100
"""
PATIENCE = 5.0
"""Seconds; it takes 0.5 on an idle machine."""


def _slang_is_busy(process: int, folder: Path) -> bool:
    del folder
    return sum(worked(child) > 0.8 for child in children_of(process)) >= 4  # two files, two precisions


def _cxx_is_busy(process: int, folder: Path) -> bool:
    del process
    return (folder / "pid").exists()


@pytest.mark.parametrize(
    ("text", "busy"),
    [pytest.param(HANGS_SLANG, _slang_is_busy, id="Slang"), pytest.param(GOOD, _cxx_is_busy, id="C++")],
)
def test_check__ended_while_a_compiler_works__ends_at_once_and_leaves_nothing(
    tmp_path: Path, text: str, busy: Callable[[int, Path], bool]
) -> None:
    for name in ("f.slang", "g.slang"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "tmp").mkdir()
    cxx = tmp_path / "cxx"
    cxx.write_text(CXX.format(pid=tmp_path / "pid"))
    cxx.chmod(0o755)
    words = ["check", "f.slang", "g.slang", "--no-cache", "--time-limit", "200", "-j", "4"]
    command = [sys.executable, "-m", "slangad.cli", *words]
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp"), "CXX": str(cxx)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not busy(process.pid, tmp_path):
            assert process.poll() is None
            time.sleep(0.05)
        children = children_of(process.pid)
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert said == "slangad: ended by SIGTERM\n"
    assert not any(_runs(child) for child in children)
    assert not any((tmp_path / "tmp").iterdir())


def _runs(process: int) -> bool:
    """Return True if a process works; one that ended may wait for its parent to notice."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
