"""Run an action, print the error that it raises, and return the exit code of the command line.

0    success
1    rejected program
2    wrong command line (click's)
3    failed gradient check
4    toolchain or device missing or failed, or an output can't be written
70   defect of slangad
130  interrupted
141  the reader of stdout closed it
143  ended by SIGTERM
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Final

import click

from slangad import __version__
from slangad.cli.console import BROKEN_PIPE, discard_stdout
from slangad.compiler.errors.diagnostics import CompileError, SlangadError, ToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.cli.console import Session

OK = 0
INTERNAL_ERROR = 70
INTERRUPTED = 130
TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived; clean up as after Ctrl+C."""


def clean_up_when_terminated() -> None:
    """Make SIGTERM raise ``Terminated`` in the main thread, unless an interrupt or another SIGTERM came first."""

    def handle(number: int, _: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    signal.signal(signal.SIGTERM, handle)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, handle)


def outcome(session: Session, action: Callable[[], object]) -> int:
    """Run an action, print the error that it raises, and return the exit code."""
    try:
        action()
        code = OK
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except SlangadError as error:
        _show(session, error)
        code = error.exit_code
    except Terminated as asked:
        _print_end("ended by SIGTERM", asked)
        code = TERMINATED
    except KeyboardInterrupt as asked:
        _print_end("interrupted", asked)
        code = INTERRUPTED
    except MemoryError:
        no_memory = _too_little_memory()
        _show(session, no_memory)
        code = no_memory.exit_code
    except BrokenPipeError as error:
        code = _end_of_pipe(error, debug=session.debug)
    except Exception as error:
        _report_defect(error, debug=session.debug)
        code = INTERNAL_ERROR
    return _finish(session, code)


_HURRIES: Final[list[bool]] = []
"""Not empty if a failed process ends without the seconds that torch takes to clean up."""


def hurry() -> None:
    """End this process at once if it fails, once its error is printed."""
    _HURRIES.append(True)


def leave(code: object) -> None:
    """End the process at once if an interrupt came while a GPU works; a normal exit would wait for the GPU."""
    if (code and _HURRIES) or (code in (INTERRUPTED, TERMINATED) and _is_gpu_busy()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(str(code)))


def _is_gpu_busy() -> bool:
    from slangad.compiler.runtime.device.gpu_launches import is_left_busy

    return is_left_busy()


def _too_little_memory() -> ToolchainError:
    from slangad.compiler.runtime.device.memory import too_little_memory

    return too_little_memory("this machine")


def _print_end(how: str, asked: KeyboardInterrupt) -> None:
    """Print one line, with the interrupt's text about the state that it leaves, if any."""
    left = f": {asked}" if asked.args else ""
    click.echo(f"slangad: {how}{left}", err=True)


def _finish(session: Session, code: int) -> int:
    """Print the document under ``--format json`` and return the exit code; return 4 if printing fails."""
    try:
        session.finish(code)
    except ToolchainError as error:
        session.document = None
        _show(session, error)
        return error.exit_code
    return code


def _end_of_pipe(error: BrokenPipeError, *, debug: bool) -> int:
    """Return the exit code after a pipe broke: that of a closed reader if it was stdout, else that of a defect."""
    if _is_reader_gone():
        discard_stdout()
        return BROKEN_PIPE
    _report_defect(error, debug=debug)
    return INTERNAL_ERROR


def _is_reader_gone() -> bool:
    """Return True if stdout is a pipe whose reader closed it. Windows can't tell."""
    import select

    if sys.platform == "win32":
        return False
    watched = select.poll()
    watched.register(1, 0)
    return bool(watched.poll(0))


def _show(session: Session, error: SlangadError) -> None:
    if isinstance(error, CompileError | ToolchainError):
        session.show(error.diagnostics)
    elif str(error):  # a terminal shows the verdict already
        click.echo(str(error), err=True)


def _report_defect(error: Exception, *, debug: bool) -> None:
    if debug:
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    click.echo(
        f"slangad: internal error: {type(error).__name__}: {error}\n"
        f"This is a defect of slangad {__version__}, not of your program. Please report it with the input and the\n"
        "output of `slangad doctor`" + ("." if debug else "; `slangad --debug …` shows where it happened."),
        err=True,
    )
