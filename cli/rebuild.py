"""Compile or check once for ``--watch``, in a separate process.

``slangad.cli.watch`` starts it, sends a pickled request on stdin, and reads the files to watch from a file.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slangad.cli.console import Session
from slangad.cli.outcome import clean_up_when_terminated, outcome
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError

if TYPE_CHECKING:
    from slangad.cli.check import CheckArguments
    from slangad.cli.compile import CompileArguments
    from slangad.compiler.check.options import CheckOptions


def main() -> int:
    """Do what is asked, write the list of files to watch, also after a failure, and return the exit code."""
    clean_up_when_terminated()
    arguments, options, verbosity, color, debug, answer = pickle.load(sys.stdin.buffer)  # noqa: S301  (from our own parent)
    session = Session(verbosity=verbosity, color=color, debug=debug)
    watched: set[str] = set()
    try:
        if options is None:
            code = outcome(session, lambda: _compile(session, arguments, watched))
        else:
            code = outcome(session, lambda: _check(session, arguments, options, watched))
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    Path(answer).write_text(json.dumps(sorted(watched)), encoding="utf-8")
    return code


def _check(session: Session, arguments: CheckArguments, options: CheckOptions, watched: set[str]) -> None:
    """Check; a failed check has found its files all the same."""
    from slangad.cli.check_run import CheckRequest, check_once

    check_once(session, CheckRequest(arguments, options), watched.update)


def _compile(session: Session, arguments: CompileArguments, watched: set[str]) -> None:
    """Compile; after a failure also watch the files that it names, and their folders for missing files."""
    from slangad.cli.compile import compile_once

    try:
        watched.update(compile_once(session, arguments))
    except (CompileError, ToolchainError) as error:
        named = {diagnostic.span.file for diagnostic in error.diagnostics} - {""}
        watched.update(named, (str(Path(file).parent) for file in named))
        raise


if __name__ == "__main__":
    sys.exit(main())
