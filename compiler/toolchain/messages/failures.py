"""Define the diagnostics about a missing or failing tool, a crash, or a time limit: one function each."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import Diagnostic, ToolchainError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER: Final = "make room there, or set TMPDIR to another folder"
_REMEDIES: Final = {
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EMFILE: "raise the limit on the number of open files (ulimit -n)",
}
_SAID: Final = {
    **{os.strerror(number): number for number in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))},
    "File size limit exceeded": errno.EFBIG,
}
"""Messages of programs that could not write a file, or whose child process the system ended for that reason."""


def failed(code: str, message: str, help: str = "", notes: tuple[str, ...] = ()) -> ToolchainError:  # noqa: A002  (as in Diagnostic)
    """Return an error of one diagnostic without a place, ready to be raised."""
    return ToolchainError([Diagnostic(code, message, help=help, notes=notes)])


@contextmanager
def temporary_files() -> Iterator[None]:
    """Turn failures to make or write temporary files into errors for the user.

    Raises:
        ToolchainError: The operating system refused to.
    """
    try:
        yield
    except OSError as error:
        raise no_temporary_files(error) from None


def no_temporary_files(error: OSError) -> ToolchainError:
    """Return a temporary file can't be made or written."""
    try:
        place = f" in {tempfile.gettempdir()}"
    except OSError:  # which says where it looked
        place = ""
    why = error.strerror or str(error)
    return failed("SA255", f"can't write temporary files{place}: {why}", _REMEDIES.get(error.errno or 0, _FOLDER))


def not_written(output: str) -> OSError | None:
    """Return the reason that a failed program could not write a file, from its output; None for another failure."""
    number = next((number for words, number in _SAID.items() if words in output), None)
    return OSError(number, os.strerror(number)) if number is not None else None
