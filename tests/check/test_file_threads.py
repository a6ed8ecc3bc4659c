"""``FileThreads``: tasks run at the same time, and what they say comes in the order of the files."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.check.file_threads import FileThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.check.file_threads import Say

FILES = [Path(f"{number}.slang") for number in range(7)]
TOOLS = ["a", "b", "c"]


def _work(file: Path, met: threading.Barrier, log: list[str], tool: str, say: Say) -> None:
    met.wait(timeout=10)  # all tools are in use at once, or this fails
    time.sleep(0.02 if int(file.stem) % 3 == 0 else 0.0)  # the first of three ends last
    say(file, partial(log.append, f"{file.stem} begins"))
    if file.stem == "5":
        raise ValueError(f"{tool} fails")
    say(file, partial(log.append, f"{file.stem} ends"))
    say(file, None)


def _tasks(log: list[str], made: list[Path]) -> Iterator[tuple[list[Path], Callable[[str, Say], None]]]:
    met = threading.Barrier(len(TOOLS))
    for file in FILES[:6]:
        assert threading.current_thread() is threading.main_thread()
        made.append(file)
        yield [file], partial(_work, file, met, log)
    made.append(FILES[6])
    yield [FILES[6]], lambda _tool, say: say(FILES[6], None)


def test_threads__tasks_that_end_in_another_order__are_heard_in_that_of_the_files() -> None:
    log: list[str] = []
    made: list[Path] = []
    with FileThreads(TOOLS, _tasks(log, made)) as threads:
        for file in FILES[:5]:
            threads.follow(file)
        assert log == [f"{number} {what}" for number in range(5) for what in ("begins", "ends")]
        with pytest.raises(ValueError, match=r"^[abc] fails$"):
            threads.follow(FILES[5])
    assert log[10:] == ["5 begins"]


def test_threads__an_interrupt__ends_them_and_makes_no_more_tasks() -> None:
    ended: list[Path] = []
    made: list[Path] = []
    release = threading.Event()

    def wait(file: Path, _tool: str, say: Say) -> None:
        say(FILES[0], _interrupt)
        release.wait(10)
        ended.append(file)

    def tasks() -> Iterator[tuple[list[Path], Callable[[str, Say], None]]]:
        for file in FILES:
            made.append(file)
            yield [file], partial(wait, file)

    def interrupted() -> None:
        with FileThreads(TOOLS, tasks()) as threads:
            threading.Timer(0.2, release.set).start()
            threads.follow(FILES[0])

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sorted(ended) == FILES[: len(TOOLS)]
    assert made == FILES[: len(TOOLS) + 1]  # one waited for a thread


def _interrupt() -> None:
    raise KeyboardInterrupt
