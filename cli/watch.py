"""``slangad compile --watch``: compile, wait until a file it depends on changes, and compile again, until interrupted.

Every compile runs in a fresh process, so that changed modules are really imported anew. An error is shown and the watch
goes on; a file that is missing for a moment while an editor saves it is waited for.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.cli.project import inputs_now
from slangad.compiler.errors.diagnostics import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slangad.cli.compile import CompileArguments
    from slangad.cli.console import Session

INTERVAL = 0.15
"""Seconds between two looks at the files."""
RARELY = 5
"""Looks at the files for each look at what the project's patterns match."""
PATIENCE = 2.0
"""Seconds to wait for a missing file to come back before compiling without it."""

State = dict[str, tuple[int, int, int] | None]
"""For each file its modification time, size and identity, or None when it is missing."""


def watch(session: Session, arguments: CompileArguments) -> None:
    """Compile whenever something changed; ends only by an interrupt."""
    files = _files_of(arguments)
    while True:
        _take_new_inputs(arguments)
        before = state_of(files | _files_of(arguments))
        found, worked = _compile_in_process(session, arguments)
        files = _files_of(arguments) | (found if worked else files | found)
        session.say("watching for changes; Ctrl+C ends")
        seen = {**state_of(files), **{path: state for path, state in before.items() if path in files}}
        wait_for_change(seen, partial(_take_new_inputs, arguments))


def _files_of(arguments: CompileArguments) -> set[str]:
    from slangad.compiler.driver.inputs import parse_inputs

    return {str(item.path) for item in parse_inputs(arguments["inputs"])}


def _take_new_inputs(arguments: CompileArguments) -> bool:
    """Whether the patterns of the project match other files than before, which then are the inputs."""
    try:
        inputs = inputs_now(arguments)
    except CompileError:
        return False
    changed = inputs != arguments["inputs"]
    arguments["inputs"] = inputs
    return changed


def wait_for_change(before: State, is_news: Callable[[], bool]) -> None:
    """Return when the files differ from ``before`` and have settled, those that were there being there again.

    Also when there is other news, which is looked for less often.
    """
    looks = 0
    while (now := state_of(before)) == before:
        time.sleep(INTERVAL)
        looks += 1
        if looks % RARELY == 0 and is_news():
            break
    deadline = time.monotonic() + PATIENCE
    while True:
        time.sleep(INTERVAL)
        later = state_of(before)
        complete = all(later[path] or not before[path] for path in before)
        if later == now and (complete or time.monotonic() > deadline):
            return
        now = later


def state_of(paths: Iterable[str]) -> State:
    """How the files are now."""
    return {path: _state(path) for path in paths}


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _compile_in_process(session: Session, arguments: CompileArguments) -> tuple[set[str], bool]:
    """Compile once in a child; return the files it depends on, and whether it worked."""
    with tempfile.TemporaryDirectory(prefix="slangad-watch-") as folder:
        answer = Path(folder) / "files.json"
        request = pickle.dumps((arguments, session.verbosity, session.color, session.debug, answer))
        command = [sys.executable, "-m", "slangad.cli.rebuild"]
        worked = _run_to_its_end(command, request)
        try:
            files = set(json.loads(answer.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            files = set()
    return files, worked


def _run_to_its_end(command: list[str], request: bytes) -> bool:
    """Run the child; whether it ended well. When interrupted let it end what it started and clean up."""
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:  # noqa: S603  (our own module)
        try:
            child.communicate(request)
        except BaseException:
            child.terminate()
            child.wait()
            raise
    return child.returncode == 0
