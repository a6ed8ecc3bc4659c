"""Save the state of a training to a file, and restore it.

A checkpoint is an ``.npz`` file: parameters, the optimizer's state, every loss, and a record of the program and its
settings. It is replaced whole, so a process that is killed leaves the last checkpoint or the one before.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, Severity
from slangad.compiler.runtime.arrays.files import read_arrays, write_arrays
from slangad.compiler.toolchain.atomic import write_together
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from slangad.compiler.runtime.training.train import Trainer

    Array = npt.NDArray[Any]

VERSION: Final = 1
_FREE: Final = {"settings": "the optimizer's settings are not those", "program": "the program is not the one"}
"""Settings that may differ on resume, each with the note for the user."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The contents of a file; ``record`` describes the program and its settings."""

    record: Mapping[str, object]
    parameters: Mapping[str, Array]
    state: Mapping[str, Array]
    losses: list[float]


def record_of(trainer: Trainer) -> dict[str, object]:
    """Return the settings that must be equal on resume, and those that may change: optimizer settings, program."""
    plan = trainer.plan
    return {
        "slangad": VERSION,
        "name": trainer.runnable.pipeline.name,
        "optimizer": plan.optimizer.name,
        "settings": list(plan.optimizer.values),
        "batch": plan.batch,
        "seed": plan.seed,
        "shapes": {one.key: list(one.shape) for one in trainer.trained},
        "data": trainer.data_digest(),
        "program": _program(trainer),
    }


def _program(trainer: Trainer) -> str:
    """Return a digest of the Slang, without the line that names its file."""
    _, _, text = trainer.resident.program.emitted.text.partition("\n")
    return hashlib.sha256(text.encode()).hexdigest()


def save_checkpoint(path: Path, trainer: Trainer, record: Mapping[str, object]) -> None:
    """Replace a checkpoint with the present state.

    Raises:
        ToolchainError: It can't be written; the one before is as it was.
    """
    import numpy as np

    arrays = {
        "record": np.frombuffer(json.dumps(record).encode(), "u1"),
        "losses": np.array(trainer.losses[: trainer.step], "f8"),
        **{f"parameter.{key}": array for key, array in trainer.parameters().items()},
        **{f"state.{key}": array for key, array in trainer.state().items()},
    }
    try:
        write_together({path: lambda file: write_arrays(file, arrays)}, sync=True)
    except OSError as error:
        help_ = "the earlier checkpoint is unchanged"
        raise failed("SA405", f"can't write {error.filename}: {error.strerror}", help=help_) from None


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        CompileError: It can't be read, or is no checkpoint.
    """
    try:
        arrays = read_arrays([path])
    except CompileError as error:
        help_ = "if it is a damaged checkpoint, delete it to start again; else name another --checkpoint"
        raise CompileError([replace(d, help=help_) for d in error.diagnostics]) from None
    try:
        record = json.loads(arrays["record"].tobytes())
        losses = [float(loss) for loss in arrays["losses"]]
    except (KeyError, ValueError):
        raise _refused(f"{path} is no checkpoint", "slangad does not replace it: name another --checkpoint") from None
    return Checkpoint(record, _below(arrays, "parameter."), _below(arrays, "state."), losses)


def _below(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


def resume(trainer: Trainer, checkpoint: Checkpoint, path: Path) -> list[Diagnostic]:
    """Restore a checkpoint; return notes about changes.

    Raises:
        CompileError: It is of another training.
    """
    now = record_of(trainer)
    for key, value in now.items():
        if key not in _FREE and checkpoint.record.get(key) != value:
            what = "other data" if key == "data" else f"{key} {_shown(checkpoint.record.get(key))}, not {_shown(value)}"
            help_ = "use the settings it was started with, or omit --resume to start again"
            raise _refused(f"{path} is from a training with {what}", help_)
    trainer.restore(checkpoint.parameters, checkpoint.state, checkpoint.losses)
    changed = [
        message for key, message in _FREE.items() if key in checkpoint.record and checkpoint.record[key] != now[key]
    ]
    return [Diagnostic("SA422", f"{message} that {path} was made with", severity=Severity.NOTE) for message in changed]


def nothing_left(path: Path, done: int, steps: int) -> list[Diagnostic]:
    """Return a note if a checkpoint has all the steps that were asked for, or more."""
    if done < steps:
        return []
    message = f"{path} has step {done}: nothing is left of {steps} steps"
    help_ = "--steps counts all steps, including those before the checkpoint"
    return [Diagnostic("SA422", message, severity=Severity.NOTE, help=help_)]


def nothing_to_resume(path: Path) -> Diagnostic:
    """Return a note that training starts from the beginning."""
    return Diagnostic(
        "SA422", f"there is no {path} to continue from: training starts from the beginning", severity=Severity.NOTE
    )


def _shown(value: object) -> str:
    return json.dumps(value)


def _refused(message: str, help_: str) -> CompileError:
    return CompileError([Diagnostic("SA422", message, help=help_)])
