"""One compile of a watch, in a process of its own: a request comes pickled on stdin, the files to watch go into a file.

Started by ``slangad.cli.watch`` only.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.cli.console import Session
from slangad.cli.outcome import clean_up_when_terminated, outcome
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError

if TYPE_CHECKING:
    from slangad.cli.compile import CompileArguments


def main() -> int:
    """Compile as asked and report the files to watch, also where it failed."""
    clean_up_when_terminated()
    arguments, verbosity, color, debug, answer = pickle.load(sys.stdin.buffer)  # noqa: S301  (from our own parent)
    session = Session(verbosity=verbosity, color=color, debug=debug)
    watched: set[str] = set()
    code = outcome(session, lambda: _compile(session, arguments, watched))
    Path(answer).write_text(json.dumps(sorted(watched)), encoding="utf-8")
    return code


def _compile(session: Session, arguments: CompileArguments, watched: set[str]) -> None:
    """Compile; after a failure watch the files it names and their folders too, where a missing one may appear."""
    from slangad.cli.compile import compile_once

    try:
        built = compile_once(session, arguments)
        watched.update(source for one in built for source in one.sources)
    except (CompileError, ToolchainError) as error:
        named = {diagnostic.span.file for diagnostic in error.diagnostics} - {""}
        watched.update(named, (str(Path(file).parent) for file in named))
        raise


if __name__ == "__main__":
    sys.exit(main())
