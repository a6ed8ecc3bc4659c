"""``slangad check`` on a terminal: the report in colour, with the words that it has in a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")

DESCRIPTION = """
import slangad as sa


@sa.differentiable
def square(x: float) -> float:
    return x * x
"""


def _on_terminal(project: Project, *words: str) -> str:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "slangad.cli", *words]
    environment = {name: value for name, value in project.environment.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        command, cwd=project.folder, env={**environment, "TERM": "xterm"}, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            if not more:
                break
            text += more
    os.close(ours)
    assert process.returncode == 0, text.decode()
    return text.decode().replace("\r\n", "\n")


@pytest.mark.toolchain
def test_check__on_a_terminal__is_in_colour_with_the_same_words(project: Project) -> None:
    project.write("f.py", DESCRIPTION)
    coloured = _on_terminal(project, "check", "f.py")
    plain = _on_terminal(project, "--no-color", "check", "f.py")
    assert re.search("\x1b\\[1;32mPASS", coloured)
    assert "PASS              square" in plain
    assert "\x1b[1;32m" not in plain
    row = next(line for line in plain.splitlines() if "square" in line).split("compared")[0]
    assert row in re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", coloured)
