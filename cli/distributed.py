"""Train over several processes: start the ranks with torchrun's launcher, and run one of them."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import click

from slangad.cli.outcome import INTERRUPTED, TERMINATED, hurry
from slangad.compiler.errors.diagnostics import SlangadError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.runtime.training.ranks import Ranks

AUTO: Final = "auto"
"""The number of ranks of ``--distributed`` alone: one a GPU, else one a core."""


class RankCount(click.ParamType[str]):
    """``4``, or ``auto``."""

    name = "ranks"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word for torchrun."""
        if value != AUTO and not (value.isdecimal() and int(value) > 0):
            self.fail(f"{value!r} is not a number of ranks. Write --distributed=2, or --distributed last.", param, ctx)
        return value


def launch(count: str, words: Sequence[str]) -> int:
    """Run the same command as ranks of this machine, as ``torchrun --standalone`` does, and return the exit code.

    Raises:
        ToolchainError: torch is missing, or all ranks were killed.
    """
    from slangad.compiler.runtime.training.ranks import require_torch

    require_torch()
    import logging

    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import get_args_parser, run

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch only adds up; else torchrun prints a warning
    logging.disable(logging.CRITICAL)  # a rank that fails says so itself
    command = ["--standalone", f"--nproc-per-node={count}", "-m", "slangad", "train", *words]
    try:
        run(get_args_parser().parse_args(command))
    except ChildFailedError as error:
        hurry()
        return exit_code_of([failure.exitcode for failure in error.failures.values()])
    except SignalException as asked:  # the ranks have heard it too, and said what they leave
        hurry()
        return INTERRUPTED if asked.sigval == signal.SIGINT else TERMINATED
    return 0


def exit_code_of(codes: Sequence[int]) -> int:
    """Return the exit code of a training from those of the ranks that failed; a killed rank's is minus its signal.

    Raises:
        ToolchainError: Every one was killed, so that none has printed an error.
    """
    from slangad.compiler.toolchain.messages.failures import failed

    killed = [-code for code in codes if code < 0]
    printed = [code for code in codes if code > 0 and not (killed and code == TERMINATED)]  # by the launcher, as others
    if not printed:
        names = " and ".join(sorted(map(_signal_name, killed)))
        help_ = "SIGKILL often means too little memory; start again with --resume to continue from the checkpoint"
        raise failed("SA428", f"the ranks were ended by {names}", help_)
    return min(printed)


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number in {*signal.Signals} else f"signal {number}"


_PATIENCE: Final = 10.0
"""Seconds that a rank waits to be ended by the launcher, before it prints an error. More: a late error of one rank."""
_STDERR: Final[list[TextIO]] = []
"""The stream that errors wait for, until the ranks have joined."""


@contextmanager
def first_rank_speaks() -> Iterator[None]:
    """Let the first rank of a machine alone print an error that comes before the ranks join, such as a wrong option."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        yield
        return
    _STDERR.append(sys.stderr)
    sys.stderr = held = io.StringIO()
    try:
        yield
    except SystemExit as ended:
        try:
            time.sleep(_PATIENCE if ended.code and _STDERR else 0.0)
        except KeyboardInterrupt:  # the first rank has ended too, and printed the error
            held.truncate(0)
        raise
    finally:
        if _STDERR:
            _speak()
            sys.stderr.write(held.getvalue())


def _speak() -> None:
    """Let errors of this rank be printed."""
    if _STDERR:
        sys.stderr = _STDERR.pop()


@contextmanager
def as_rank(device: str) -> Iterator[Ranks]:
    """Join the ranks for a block. If it fails, one rank prints the error; the others end with its exit code."""
    from slangad.compiler.runtime.training.ranks import join_ranks

    ranks = join_ranks(device)
    _speak()
    try:
        yield ranks
    except (SlangadError, KeyboardInterrupt) as error:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # of the launcher, once a rank has ended
        hurry()
        ended = _ended_by(error)
        if ranks.is_first_to_end():
            raise ended from None
        raise click.exceptions.Exit(ended.exit_code if isinstance(ended, SlangadError) else INTERRUPTED) from None
    ranks.leave()


def _ended_by(error: BaseException) -> BaseException:
    """Return the loss of a rank that an error hides: the launcher ends the others while they clean up after it."""
    from slangad.compiler.runtime.training.ranks import RankLostError

    before: BaseException | None = error
    while before is not None and not isinstance(before, RankLostError):
        before = before.__context__
    return before or error
