"""Depfiles, read back by make and ninja themselves."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.driver.depfile import depfile_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ODD = ["plain.slang", "with space.slang", "dollar$.slang", "hash#.slang", "colon:x.slang", "a b$c#d.slang"]


def test_depfile__targets_and_dependencies__one_rule() -> None:
    text = depfile_text(["out/a.spv", "out/b.spv", "out/a.spv"], ["k.py", "lib.slang"])
    assert text == "out/a.spv out/b.spv: \\\n  k.py \\\n  lib.slang\n"


@pytest.mark.skipif(os.name != "posix", reason="Windows allows no such names")
@pytest.mark.parametrize("name", ODD)
def test_depfile__odd_name__make_sees_its_change(tool: Callable[[str], str], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    (tmp_path / "x.d").write_text(depfile_text(["out"], [name]))
    (tmp_path / "Makefile").write_text("out:\n\t@touch out\n\t@echo made\ninclude x.d\n")

    def make() -> str:
        done = subprocess.run([tool("make")], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    assert make() == "made\n"
    os.utime(tmp_path / "out", (2_000_000_000, 2_000_000_000))
    assert "up to date" in make()
    os.utime(tmp_path / name, (2_000_000_100, 2_000_000_100))
    assert make() == "made\n"


@pytest.mark.skipif(os.name != "posix", reason="Windows allows no such names")
@pytest.mark.parametrize("name", ODD)
def test_depfile__odd_name__ninja_sees_its_change(tool: Callable[[str], str], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    (tmp_path / "ready.d").write_text(depfile_text(["out"], [name]))
    (tmp_path / "build.ninja").write_text(
        "rule r\n  command = cp ready.d x.d && touch out\n  depfile = x.d\n  deps = gcc\nbuild out: r\n"
    )

    def ninja() -> str:
        return subprocess.run([tool("ninja")], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "cp ready.d" in ninja()
    assert "no work to do" in ninja()
    os.utime(tmp_path / name, (2_000_000_000, 2_000_000_000))
    assert "cp ready.d" in ninja()
