"""Compile once for ``slangad compile --watch``, in a separate process.

``slangad.cli.watch`` starts it, sends a pickled request on stdin, and reads the files to watch from a file.
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
    """Compile the request, write the list of files to watch, also after a failure, and return the exit code."""
    clean_up_when_terminated()
    arguments, verbosity, color, debug, answer = pickle.load(sys.stdin.buffer)  # noqa: S301  (from our own parent)
    session = Session(verbosity=verbosity, color=color, debug=debug)
    watched: set[str] = set()
    code = outcome(session, lambda: _compile(session, arguments, watched))
    Path(answer).write_text(json.dumps(sorted(watched)), encoding="utf-8")
    return code


def _compile(session: Session, arguments: CompileArguments, watched: set[str]) -> None:
    """Compile; after a failure also watch the files that it names, and their folders for missing files."""
    from slangad.cli.compile import compile_once

    try:
        compiled = compile_once(session, arguments)
        watched.update(source for one in compiled for source in one.sources)
    except (CompileError, ToolchainError) as error:
        named = {diagnostic.span.file for diagnostic in error.diagnostics} - {""}
        watched.update(named, (str(Path(file).parent) for file in named))
        raise


if __name__ == "__main__":
    sys.exit(main())
