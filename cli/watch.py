"""Compile or check again whenever a file changes, until interrupted: ``--watch``.

Every run is in a new process, so that Python imports changed modules again. The watch continues after errors. It
waits for a file that is missing for a moment while an editor saves it.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.cli.console import MOST_NAMES
from slangad.cli.project import inputs_now
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.report.figures import duration, listed
from slangad.compiler.toolchain.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from slangad.cli.check import CheckArguments
    from slangad.cli.compile import CompileArguments
    from slangad.cli.console import Session
    from slangad.compiler.check.options import CheckOptions

INTERVAL = 0.15
"""Seconds between two reads of the files' states. A larger value delays compiles."""
RARELY = 5
"""Reads of the files' states between two searches for new files of the project. A larger value delays new files."""
PATIENCE = 2.0
"""Seconds to wait for a missing file before compiling without it."""

State = dict[str, tuple[int, int, int] | None]
"""The modification time, size and inode of each file; None if the file is missing."""


def watch(session: Session, arguments: CompileArguments | CheckArguments, options: CheckOptions | None = None) -> None:
    """Compile after every change until an interrupt; check if there are options of a check."""
    files = _files_of(arguments)
    while True:
        _take_new_inputs(arguments)
        before = state_of(files | _files_of(arguments))
        start = time.monotonic()
        changed, worked = _run_in_process(session, arguments, options)
        took = f"{time.strftime('%H:%M:%S')}, {duration(time.monotonic() - start)}"
        files = _files_of(arguments) | (changed if worked else files | changed)
        session.say(f"{took}: watching for changes; Ctrl+C ends")
        known = {**state_of(files), **{path: state for path, state in before.items() if path in files}}
        wait_for_change(known, partial(_take_new_inputs, arguments))
        now = state_of(known)
        session.say(f"\nchanged: {_named([path for path in known if now[path] != known[path]])}")


def _named(changed: Sequence[str]) -> str:
    """Return some changed files, as short as they can be named."""
    if not changed:
        return "a new input"
    here = Path.cwd()
    paths = [Path(path) for path in changed]
    names = [str(path.relative_to(here)) if path.is_relative_to(here) else str(path) for path in paths]
    return listed(sorted(names), MOST_NAMES)


def _files_of(arguments: CompileArguments | CheckArguments) -> set[str]:
    from slangad.compiler.driver.inputs import parse_inputs

    return {str(item.path) for item in parse_inputs(arguments["inputs"])}


def _take_new_inputs(arguments: CompileArguments | CheckArguments) -> bool:
    """Update the inputs to the files that the project's patterns match; return True if they changed."""
    try:
        inputs = inputs_now(arguments)
    except CompileError:
        return False
    changed = inputs != arguments["inputs"]
    arguments["inputs"] = inputs
    return changed


def wait_for_change(before: State, is_news: Callable[[], bool]) -> None:
    """Return when the files differ from ``before``, no longer change, and existing ones exist again.

    Also return after ``is_news`` returned True; it is called less often.
    """
    reads = 0
    while (now := state_of(before)) == before:
        time.sleep(INTERVAL)
        reads += 1
        if reads % RARELY == 0 and is_news():
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
    """Return the current state of each file."""
    return {path: _state(path) for path in paths}


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _run_in_process(
    session: Session, arguments: CompileArguments | CheckArguments, options: CheckOptions | None
) -> tuple[set[str], bool]:
    """Compile or check once in a child process; return the files it depends on, and True if it succeeded."""
    with TemporaryFolder() as folder:
        answer = folder / "files.json"
        request = pickle.dumps((arguments, options, session.verbosity, session.color, session.debug, answer))
        command = [sys.executable, "-m", "slangad.cli.rebuild"]
        worked = _run_to_its_end(command, request)
        try:
            files = set(json.loads(answer.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            files = set()
    return files, worked


def _run_to_its_end(command: list[str], request: bytes) -> bool:
    """Run the child process and return True if it succeeded; after an interrupt let it clean up."""
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:  # noqa: S603  (our own module)
        try:
            child.communicate(request)
        except BaseException:
            child.terminate()
            child.wait()
            raise
    return child.returncode == 0
