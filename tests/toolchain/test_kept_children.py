"""Children that are idle at their end serve the next caller; those that are not never do."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.toolchain.workers import kept_children
from slangad.compiler.toolchain.workers.kept_children import BorrowedChild
from slangad.compiler.toolchain.workers.processes import ProcessDiedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Start = Callable[[], BorrowedChild]

MAIN = """
import os
from slangad.compiler.toolchain.workers.frames import private_stdout, requests, send


def main():
    with private_stdout() as pipe:
        for request in requests():
            if request == "die":
                os._exit(3)
            send(pipe, (os.getpid(), os.getcwd()))
            send(pipe, "end")
"""


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a child that answers a request with its process and its folder, and then with "end"."""
    (tmp_path / "answering.py").write_text(MAIN, encoding="utf-8")
    return lambda: BorrowedChild("answering", paths=(str(tmp_path),), is_last=lambda answer: answer == "end")


def asked(child: BorrowedChild, *, answers: int = 2) -> tuple[int, str]:
    """Return the process and the folder of a child, after it was closed with some answers read."""
    with closing(child), closing(child.talk("where", 10.0)) as talk:
        first, *_ = [next(talk) for _ in range(answers)]
    assert isinstance(first, tuple)
    return first


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_child__idle_at_its_end__serves_the_next_caller_in_its_folder(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, before = asked(start())
    monkeypatch.chdir(tmp_path)
    second, after = asked(start())
    assert (second, after) == (first, os.path.realpath(tmp_path))
    assert before == os.path.realpath(before) != after


def test_child__of_another_environment__is_another(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = asked(start())
    monkeypatch.setenv("SLANGAD_OTHER", "1")
    assert asked(start())[0] != first
    monkeypatch.delenv("SLANGAD_OTHER")
    monkeypatch.setenv("SLANGAD_CACHE_DIR", "elsewhere")
    assert asked(start())[0] == first


def test_child__with_answers_left__is_ended(start: Start) -> None:
    first, _ = asked(start(), answers=1)
    assert not is_there(first)
    assert asked(start())[0] != first


def test_child__that_died__is_not_kept(start: Start) -> None:
    child = start()
    with pytest.raises(ProcessDiedError, match="exit status 3"):
        next(child.talk("die", 10.0))
    child.close()
    process, _ = asked(start())
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    assert asked(start())[0] != process


def test_child__after_many_callers__is_ended(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_children, "_MOST_USES", 3)
    processes = [asked(start())[0] for _ in range(4)]
    assert len(set(processes[:3])) == 1
    assert processes[3] != processes[0]


def test_child__where_none_are_kept__ends(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_children, "_keepers", 0)
    assert not is_there(asked(start())[0])


def test_child__whose_time_is_up_after_its_last_answer__is_not_talked_to_again(start: Start) -> None:
    with closing(start()) as child:
        with closing(child.talk("where", 0.3)) as talk:
            assert [next(talk), next(talk)][1] == "end"
            time.sleep(1.0)  # nobody has ended the conversation yet, so the child is killed
        assert child.is_expired
