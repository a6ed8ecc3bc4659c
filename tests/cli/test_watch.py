"""``slangad compile --watch``: a real process that is watched watching."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain
PATIENCE = 30.0


@pytest.fixture
def watcher(project: Project) -> Iterator[Callable[[], str]]:
    """Start a watch of ``fit.py``; calling the value reads what it has said so far."""
    project.kernel("fit")
    with _watching(project, "fit.py") as said:
        yield said


@contextlib.contextmanager
def _watching(project: Project, *words: str, command: str = "compile") -> Iterator[Callable[[], str]]:
    log = project.folder / "log.txt"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "slangad.cli", command, *words, "--watch"],
            cwd=project.folder, env=project.environment, stdout=stream, stderr=stream,
        )  # fmt: skip
    try:
        yield lambda: log.read_text(encoding="utf-8")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in log.read_text(encoding="utf-8")


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def test_watch__imported_module_changes__compiles_again(project: Project, watcher: Callable[[], str]) -> None:
    _until(lambda: watcher().count("watching for changes") == 1)
    before = project.files()["fit.slang"]
    library = project.folder / "lib.py"
    library.write_text(library.read_text().replace("GAIN = 2.0", "GAIN = 4.0"))
    _until(lambda: watcher().count("watching for changes") == 2)
    assert project.files()["fit.slang"] != before
    assert b"4.0" in project.files()["fit.slang"]


def test_watch__error_and_repair__goes_on_and_keeps_outputs(project: Project, watcher: Callable[[], str]) -> None:
    _until(lambda: watcher().count("watching for changes") == 1)
    before = project.files()
    good = (project.folder / "fit.py").read_text()
    project.write("fit.py", good + "def broken(:\n")
    _until(lambda: "error[" in watcher() and watcher().count("watching for changes") == 2)
    assert project.files() == before
    project.write("fit.py", good.replace("r * r", "r * r * r"))
    _until(lambda: watcher().count("1 kernel, 3 artefacts") == 2)
    assert project.files() != before


def test_watch__file_gone_for_a_moment__is_waited_for(project: Project, watcher: Callable[[], str]) -> None:
    _until(lambda: watcher().count("watching for changes") == 1)
    path = project.folder / "fit.py"
    text = path.read_text()
    path.unlink()
    time.sleep(0.4)
    path.write_text(text.replace("r * r", "r * r + r"))
    _until(lambda: watcher().count("watching for changes") == 2)
    assert "error" not in watcher()


def test_watch__inputs_of_the_project__come_and_go(project: Project) -> None:
    project.write("pyproject.toml", '[tool.slangad]\ninputs = ["kernels/*_k.py"]\noutput = "build"\n')
    head = "import slangad as sa\nfrom slangad import Each\n\n\n"
    text = head + "@sa.kernel\ndef {}(x: Each[float]) -> Each[float]:\n    return x\n"
    project.write("kernels/one_k.py", text.format("one"))
    with _watching(project) as said:
        _until(lambda: said().count("watching for changes") == 1)
        project.write("kernels/two_k.py", text.format("two"))
        _until(lambda: said().count("watching for changes") == 2)
        assert "two_k.slang" in project.files()
        (project.folder / "kernels" / "one_k.py").unlink()
        _until(lambda: said().count("watching for changes") == 3)
        assert "error" not in said()


def test_watch__check__runs_again_when_an_imported_file_changes(project: Project) -> None:
    project.write("f.slang", "import lib;\n[Differentiable]\nfloat f(float x) { return square(x); }\n")
    right = "[Differentiable] public float square(float x) { return x * x; }\n"
    wrong = (
        "[BackwardDerivative(square_bwd)] [Differentiable] public float square(float x) { return x * x; }\n"
        "void square_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, x.p * d); }\n"
    )
    library = project.write("lib.slang", right)
    with _watching(project, "f.slang", "--samples", "8", command="check") as said:
        _until(lambda: said().count("watching for changes") == 1)
        assert "1 PASS" in said()
        library.write_text(wrong)
        _until(lambda: said().count("watching for changes") == 2)
        assert "1 FAIL" in said()
        library.write_text(right)
        _until(lambda: said().count("watching for changes") == 3)
        assert said().count("1 PASS") == 2
