"""Make errors that leave the API readable: the text that the command line prints, with lines of the user's source."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.runtime.arrays.prepare import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def readable_errors() -> Iterator[None]:
    """Give errors the text that the command line prints, with lines of source, and leave out slangad's own frames."""
    try:
        yield
    except InputError:
        raise
    except (CompileError, ToolchainError) as error:
        from slangad.compiler.report.text import render

        located = any(diagnostic.span.line for diagnostic in error.diagnostics)
        error.args = (("\n" if located else "") + render(error.diagnostics).rstrip("\n"),)
        raise error.with_traceback(None) from None
