"""Run a training until its steps are done, its loss is low enough, or the user stops it.

The callback runs after each submission. A checkpoint is written regularly and at the end. Ctrl+C and SIGTERM take
effect between submissions, so that their checkpoint holds whole steps.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.runtime.training.checkpoints import record_of, save_checkpoint
from slangad.compiler.runtime.training.ranks import RankLostError, is_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from slangad.compiler.runtime.training.train import Trainer

SUBMISSION: Final = 0.1
"""Target duration of one submission, in seconds."""
CHECKPOINT_SECONDS: Final = 10.0
_SAME_SIGNAL: Final = 1.0
"""Seconds in which a rank hears one Ctrl+C twice: from the terminal, and from the launcher."""


@dataclass(frozen=True, slots=True)
class Ending:
    """When to stop and what to keep.

    Attributes:
        steps: Steps in all, those before a resume included.
        checkpoint: Where to save the state.
        every: Steps from one checkpoint to the next; 0 for every ten seconds.
    """

    steps: int
    checkpoint: Path | None = None
    every: int = 0


def train(trainer: Trainer, ending: Ending, watch: Callable[[Trainer], None]) -> None:
    """Train to the end.

    Raises:
        CompileError: The loss is not finite.
        RankLostError: Another rank has ended; the checkpoint is written if this one has the values of a whole step.
        KeyboardInterrupt: Somebody asked to stop; the checkpoint is written.
    """
    keep = _Keeper(trainer, ending)
    asked = trainer.asked
    with _heard(asked):
        size = 1
        while trainer.step < ending.steps and not trainer.stopped:
            count = min(size, ending.steps - trainer.step, keep.room())
            begun = time.monotonic()
            try:
                trainer.advance(trainer.room(count))
            except RankLostError as lost:
                if lost.whole:
                    keep.at_end()
                raise
            size = _next_size(size, time.monotonic() - begun)
            _refuse_lost(trainer)
            watch(trainer)
            keep.now_and_then()
            if trainer.leaves():
                break
        keep.at_end()
    if asked:
        asked[0]()


def _next_size(size: int, seconds: float) -> int:
    if seconds < SUBMISSION / 2:
        return size * 2
    return max(1, size // 2) if seconds > SUBMISSION * 2 else size


def _refuse_lost(trainer: Trainer) -> None:
    if trainer.losses and not math.isfinite(trainer.losses[-1]):
        before = f"; it was {trainer.losses[-2]:g} before" if len(trainer.losses) > 1 else ""
        message = f"the loss is {trainer.losses[-1]} at step {trainer.step}{before}"
        help_ = "a smaller --lr may help; `slangad check` looks for derivatives that are wrong"
        if not before:
            help_ = "it is that of the starting values: look for NaN, zeros and large numbers in these and in the data"
        raise CompileError([Diagnostic("SA421", message, trainer.runnable.pipeline.span, help=help_)])


@dataclass
class _Keeper:
    """Write checkpoints."""

    trainer: Trainer
    ending: Ending

    def __post_init__(self) -> None:
        self._record = record_of(self.trainer) if self.ending.checkpoint is not None else {}
        self._last, self._time = self.trainer.step, time.monotonic()

    def room(self) -> int:
        """Return the number of steps to the next checkpoint."""
        every = self.ending.every
        return every - self.trainer.step % every if every and self.ending.checkpoint is not None else 1 << 30

    def now_and_then(self) -> None:
        """Write a checkpoint if it is due."""
        every = self.ending.every
        due = self.trainer.step % every == 0 if every else time.monotonic() - self._time > CHECKPOINT_SECONDS
        if due:
            self.at_end()

    def at_end(self) -> None:
        """Write a checkpoint if anything changed since the last."""
        if self.ending.checkpoint is not None and self.trainer.step != self._last:
            save_checkpoint(self.ending.checkpoint, self.trainer, self._record)
            self._last, self._time = self.trainer.step, time.monotonic()


@contextmanager
def _heard(asked: list[Callable[[], None]]) -> Iterator[None]:
    """Intercept stop signals; the list receives the first one's effect. A second signal acts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    first = 0.0

    def hear(number: int, _: object) -> None:
        nonlocal first
        handler = before[signal.Signals(number)]
        if asked and callable(handler) and not (is_rank() and time.monotonic() - first < _SAME_SIGNAL):
            handler(number, None)
        first = first if asked else time.monotonic()
        asked.append(lambda: handler(number, None) if callable(handler) else signal.raise_signal(number))

    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
