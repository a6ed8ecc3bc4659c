"""Train a pipeline or kernel: the command ``slangad train``.

It reads data and writes trained parameters, losses and checkpoints.
"""

from __future__ import annotations

import math
import os
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from slangad.cli.console import Session
from slangad.cli.distributed import AUTO, RankCount, as_rank, launch
from slangad.cli.parameters import (
    CommandWithWords,
    InputName,
    LaunchArguments,
    OneOf,
    finite,
    launch_cache,
    launch_options,
    named_arrays,
    named_files,
    named_keys,
    words_of_command,
)
from slangad.cli.project import is_deterministic
from slangad.compiler.ir.optimizers import LEARNING_RATE, OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import Unpack

    from slangad.compiler.api.program import RunnableProgram
    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.device.model import Device, DeviceProgram
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.training.distributed import SharedData
    from slangad.compiler.runtime.training.psnr import Psnr
    from slangad.compiler.runtime.training.ranks import Ranks
    from slangad.compiler.runtime.training.train import Trainer, TrainingPlan
    from slangad.compiler.toolchain.cache import Cache

_FILE = click.Path(path_type=Path, dir_okay=False)


class TrainArguments(LaunchArguments):
    """The values of the command line's parameters."""

    name: str
    data: tuple[Path, ...]
    steps: int
    batch: int | None
    optimizer: str | None
    lr: float | None
    until_loss: float | None
    psnr: float | None
    seed: int
    checkpoint: Path | None
    checkpoint_every: int | None
    resume: bool
    output: Path | None
    plot: Path | None
    loss: Path | None
    distributed: str | None


@click.command("train", cls=CommandWithWords)
@click.argument("name", type=InputName(), metavar="FILE[:NAME]")
@click.option(
    "-i", "--data", multiple=True, type=_FILE, help="Read arrays from this .npz or .npy file; a later one wins."
)
@click.option("--steps", default=1000, type=click.IntRange(0), show_default=True, help="Total number of steps.")
@click.option("--batch", type=click.IntRange(1), help="Number of elements in a step.  [default: all]")
@click.option("--optimizer", type=OneOf(list(OPTIMIZERS)), help="Replace the pipeline's optimizer.")
@click.option(
    "--lr",
    type=click.FloatRange(LEARNING_RATE.low, min_open=LEARNING_RATE.is_open),
    callback=finite,
    help="Replace the pipeline's learning rate. Without any optimizer: Adam's.",
)
@click.option("--until-loss", type=float, callback=finite, metavar="X", help="Stop when the loss is below X.")
@click.option(
    "--psnr",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    metavar="PEAK",
    help="Show the PSNR of data whose largest possible value is PEAK.  [default: 1 for pictures from 0 to 1]",
)
@click.option("--seed", default=0, type=click.IntRange(0), show_default=True, help="Seed of batches and start values.")
@click.option("--checkpoint", type=_FILE, help="Save the training state to this file.")
@click.option("--checkpoint-every", type=click.IntRange(1), metavar="N", help="Save every N steps.  [default: 10 s]")
@click.option("--resume", is_flag=True, help="Continue from the checkpoint, if it exists.")
@click.option(
    "-o",
    "--output",
    type=_FILE,
    help="Write the trained parameters to this .npz file, or the tensor that is a picture to this .png file.",
)
@click.option("--plot", type=_FILE, help="Draw the losses: .svg; .png and .pdf need matplotlib.")
@click.option("--loss", type=_FILE, help="Write the losses to this JSON file.")
@click.option(
    "--distributed",
    is_flag=False,
    flag_value=AUTO,
    type=RankCount(),
    metavar="[N]",
    help="Train by N processes, which share the data; needs torch.  [alone: one a GPU, else one a core]",
)
@launch_options
@click.pass_obj
def train_command(session: Session, **arguments: Unpack[TrainArguments]) -> None:
    """Minimise the result of a pipeline or kernel.

    The objective is the one returned Sum or Mean.
    Param and Tensor parameters without NoDiff are trained. They start at the files' values, else at random values.
    A step's loss is the loss before the step.

    \b
      slangad train fit.py -i data.npz -o fitted.npz
      slangad train fit.py:loss -i data.npz --optimizer adam --lr 0.01 --batch 256 --until-loss 1e-3
      slangad train fit.py -i data.npz --checkpoint fit.ckpt --resume --plot loss.png
      slangad train fit.py -i x.npy -i y.npy --batch 4096 --distributed 2
    """  # noqa: D301  (click's mark for text that it must not wrap)
    from slangad.compiler.runtime.arrays.images import check_output
    from slangad.compiler.runtime.training.ranks import is_rank

    if arguments["output_format"] == "json" and os.environ.get("RANK", "0") == "0":
        session.document = {}
    for option in ("resume", "checkpoint_every"):
        if arguments[option] and arguments["checkpoint"] is None:
            raise click.UsageError(f"--{option.replace('_', '-')} needs --checkpoint FILE.")
    _refuse_overwriting(arguments)
    if arguments["output"] is not None:
        check_output(arguments["output"])
    draw = _curve(arguments)
    if is_rank():
        with as_rank(arguments["device"]) as ranks:
            _train(session, arguments, draw, ranks)
    elif arguments["distributed"] is not None:
        raise click.exceptions.Exit(launch(arguments["distributed"], words_of_command()))
    else:
        _train(session, arguments, draw)


def _refuse_overwriting(arguments: TrainArguments) -> None:
    """Refuse two outputs in one file, and outputs that overwrite inputs, before training begins."""
    from slangad.compiler.runtime.arrays.files import refuse_overwriting

    named = {
        "--checkpoint": arguments["checkpoint"],
        "-o": arguments["output"],
        "--loss": arguments["loss"],
        "--plot": arguments["plot"],
    }
    known: dict[str, str] = {}
    for option, path in named.items():
        if path is None:
            continue
        first = known.setdefault(os.path.realpath(path), option)
        if first != option:
            raise click.UsageError(f"{first} and {option} both name {path}.")
        refuse_overwriting(path, _read(arguments))


def _read(arguments: TrainArguments) -> tuple[str, ...]:
    """Return the files that training reads."""
    return arguments["name"].partition(":")[0], *map(str, named_files(arguments["data"], arguments))


def _curve(arguments: TrainArguments) -> Callable[[list[float]], bytes] | None:
    """Return the function that draws the losses, or None; fail before training begins."""
    if arguments["plot"] is None:
        return None
    from slangad.compiler.report.curve import FORMATS, curve

    if arguments["plot"].suffix.lower() not in FORMATS:
        raise click.UsageError(f"--plot draws {', '.join(FORMATS)}, not {arguments['plot'].name}.")
    return curve(arguments["plot"].suffix)


def _train(
    session: Session,
    arguments: TrainArguments,
    draw: Callable[[list[float]], bytes] | None,
    ranks: Ranks | None = None,
) -> None:
    from slangad.compiler.emit.model import Mode
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.device.open import open_device
    from slangad.compiler.runtime.pipeline.narrowing import narrowed_gradients
    from slangad.compiler.runtime.training.loop import Ending, train
    from slangad.compiler.runtime.training.pictures import require_picture

    cache = launch_cache(arguments)
    shown = ranks is None or ranks.is_first
    path = arguments["checkpoint"]
    with nullcontext() if ranks is None else ranks.first_before_others():
        program, runnable = _runnable(arguments, cache)
    plan = _plan(arguments, runnable)
    data = _shared(arguments, program, runnable, ranks) if ranks else _prepare(session, arguments, runnable, plan)
    with open_device(arguments["device"], limit=arguments["time_limit"]) as device:
        with ranks.first_before_others() if ranks is not None and device.host else nullcontext():
            loaded = program.load_on(device, runnable.entry_names((Mode.FORWARD, Mode.BACKWARD)))
        trainer, notes = _started(device, loaded, runnable, data, plan, cache)
        trainer.psnr = _psnr(arguments, program, runnable, data)
        if shown:
            session.show([*notes, *narrowed_gradients(runnable.kernels.values(), RunMode.BACKWARD, device.name)])
        try:
            if arguments["output"] is not None:
                require_picture(arguments["output"], trainer, program.file, program.module)
            _continue(session, arguments, trainer, ranks)
            with _watched(session if shown else Session(verbosity=-1), arguments["steps"]) as watch:
                ending = Ending(arguments["steps"], path if shown else None, arguments["checkpoint_every"] or 0)
                train(trainer, ending, watch)
        except KeyboardInterrupt as asked:
            asked.args = (_left(trainer.step, path),)
            raise
        else:
            if shown:
                _write(session, arguments, trainer, draw, 1 if ranks is None else ranks.size)
        finally:
            trainer.close()


def _shared(
    arguments: TrainArguments, program: RunnableProgram, runnable: RunnablePipeline, ranks: Ranks
) -> SharedData:
    """Return the data that ranks share; refuse programs whose result would depend on the ranks."""
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import refuse_unused
    from slangad.compiler.runtime.pipeline.run import signature_of
    from slangad.compiler.runtime.training.distributed import SharedData
    from slangad.compiler.runtime.training.shares import element_count, refuse_unshared

    refuse_unshared(runnable, program.module)
    refuse_unused(signature_of(runnable), RunMode.FORWARD, named_keys(arguments), "for training")
    inputs = named_arrays(arguments["data"], arguments)
    count = element_count(runnable, inputs)
    return SharedData(runnable, inputs, count, ranks, program.options.deterministic, allow_nan=arguments["allow_nan"])


def _started(
    device: Device,
    loaded: DeviceProgram,
    runnable: RunnablePipeline,
    data: Prepared | SharedData,
    plan: TrainingPlan,
    cache: Cache | None,
) -> tuple[Trainer, tuple[Diagnostic, ...]]:
    """Return a training of this process alone, or of this rank, and notes."""
    from slangad.compiler.runtime.training.distributed import SharedData, start_distributed
    from slangad.compiler.runtime.training.train import Trainer

    if isinstance(data, SharedData):
        return start_distributed(device, loaded, data, plan, cache)
    return Trainer.start(device, loaded, runnable, data, plan, cache), ()


def _psnr(
    arguments: TrainArguments, program: RunnableProgram, runnable: RunnablePipeline, data: Prepared | SharedData
) -> Psnr | None:
    """Return the PSNR of the losses: that of ``--psnr``, or of a picture that is not shared, or None."""
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.training.psnr import psnr_of_peak, psnr_of_picture

    own = data if isinstance(data, Prepared) else None
    batch, peak = arguments["batch"] or 0, arguments["psnr"]
    if peak is not None:
        return psnr_of_peak(runnable, program.module, peak, own, batch)
    return None if own is None else psnr_of_picture(runnable, program.module, own, batch)


def _continue(session: Session, arguments: TrainArguments, trainer: Trainer, ranks: Ranks | None) -> None:
    """Continue from the checkpoint under --resume. The first rank reads it for all."""
    from slangad.compiler.runtime.training.checkpoints import nothing_to_resume
    from slangad.compiler.runtime.training.distributed import DistributedTrainer

    path = arguments["checkpoint"]
    if path is None:
        return
    if ranks is None or ranks.is_first:
        if path.exists():
            session.show(_resumed(arguments, trainer, path))
        elif arguments["resume"]:
            session.show([nothing_to_resume(path)])
    if isinstance(trainer, DistributedTrainer):
        trainer.spread()


def _resumed(arguments: TrainArguments, trainer: Trainer, path: Path) -> list[Diagnostic]:
    """Continue from the checkpoint under --resume, and return notes; refuse a file that is no checkpoint."""
    from slangad.compiler.runtime.training.checkpoints import load_checkpoint, nothing_left, resume

    checkpoint = load_checkpoint(path)
    if not arguments["resume"]:
        return []
    return [*resume(trainer, checkpoint, path), *nothing_left(path, trainer.step, arguments["steps"])]


def _left(step: int, checkpoint: Path | None) -> str:
    """Return a text about the state that an interrupt leaves."""
    if checkpoint is None:
        return f"step {step}, nothing is saved without --checkpoint"
    return f"{checkpoint} has step {step}; --resume continues from it"


def _runnable(arguments: TrainArguments, cache: Cache | None) -> tuple[RunnableProgram, RunnablePipeline]:
    """Return the program and the pipeline to train, with the command line's optimizer."""
    from slangad.compiler.api.program import as_pipeline, chosen, kernels_of, read_program
    from slangad.compiler.check.subjects.source_facts import refuse_globals
    from slangad.compiler.driver.inputs import parse_inputs
    from slangad.compiler.driver.model import Options
    from slangad.compiler.runtime.training.trainable import check_trainable, with_optimizer

    options = Options(
        targets=(),
        include_dirs=arguments["include_dirs"],
        defines=arguments["defines"],
        cache=cache,
        deterministic=is_deterministic(option=arguments["deterministic"]),
    )
    program = read_program(parse_inputs([arguments["name"]])[0], options)
    runnable = as_pipeline(program, chosen(program), arguments["domain"] or ())
    check_trainable(runnable)
    refuse_globals(program.module, kernels_of(runnable))
    return program, with_optimizer(runnable, arguments["optimizer"], arguments["lr"])


def _plan(arguments: TrainArguments, runnable: RunnablePipeline) -> TrainingPlan:
    from slangad.compiler.runtime.training.train import TrainingPlan

    optimizer = runnable.pipeline.optimizer
    assert optimizer is not None  # noqa: S101  (with_optimizer sets one)
    until = arguments["until_loss"]
    return TrainingPlan(optimizer, arguments["batch"] or 0, arguments["seed"], -math.inf if until is None else until)


def _prepare(session: Session, arguments: TrainArguments, runnable: RunnablePipeline, plan: TrainingPlan) -> Prepared:
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import refuse_nan, refuse_unused
    from slangad.compiler.runtime.pipeline.run import signature_of
    from slangad.compiler.runtime.training.trainable import prepare_training

    refuse_unused(signature_of(runnable), RunMode.FORWARD, named_keys(arguments), "for training")
    inputs: dict[str, object] = named_arrays(arguments["data"], arguments)
    prepared, notes = prepare_training(runnable, inputs, arguments["domain"], plan)
    session.show([*prepared.notes, *notes])
    if not arguments["allow_nan"]:
        refuse_nan(prepared)
    return replace(prepared, notes=())


@contextmanager
def _watched(session: Session, steps: int) -> Iterator[Callable[[Trainer], None]]:
    """Show a bar with the loss and the rate on a terminal; yield the function that updates it."""
    import sys

    if session.verbosity < 0 or session.document is not None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[status]}"), TimeRemainingColumn())
    with Progress(*columns, console=session.console, transient=True) as progress:
        task = progress.add_task("training", total=steps, status="")

        def watch(trainer: Trainer) -> None:
            speed = progress.tasks[0].speed
            status = _status(trainer) + (f"  {speed:.0f} steps/s" if speed else "")
            progress.update(task, completed=trainer.step, status=status)

        yield watch


def _status(trainer: Trainer) -> str:
    """Return the last loss, and its PSNR where it has one."""
    loss = trainer.losses[-1]
    return f"loss {loss:.4g}" + (f"  PSNR {trainer.psnr.of(loss):.2f} dB" if trainer.psnr is not None else "")


def _write(
    session: Session,
    arguments: TrainArguments,
    trainer: Trainer,
    draw: Callable[[list[float]], bytes] | None,
    ranks: int,
) -> None:
    """Write all outputs or none, and print the summary."""
    from slangad.compiler.report.json import document
    from slangad.compiler.runtime.arrays.files import save_together
    from slangad.compiler.runtime.arrays.images import array_writer
    from slangad.compiler.runtime.training.pictures import trained_outputs

    record = _record(arguments, trainer)
    outputs: dict[Path, Callable[[IO[bytes]], object]] = {}
    if arguments["output"] is not None:
        outputs[arguments["output"]] = array_writer(arguments["output"], trained_outputs(arguments["output"], trainer))
    if arguments["loss"] is not None:
        psnr = {} if trainer.psnr is None else {"psnr": trainer.psnr.records(trainer.losses)}
        losses = document({**record, "losses": trainer.losses, **psnr}).encode()
        outputs[arguments["loss"]] = lambda file: file.write(losses)
    if arguments["plot"] is not None and draw is not None:
        curve = draw(trainer.losses)
        outputs[arguments["plot"]] = lambda file: file.write(curve)
    save_together(outputs, _read(arguments))
    if session.document is not None:
        session.document |= {**record, "output": str(arguments["output"]) if arguments["output"] else None}
    session.say(_summary(arguments, trainer, ranks))
    if arguments["output"] is None and arguments["checkpoint"] is None:
        session.say(f"the parameters are not kept: give -o {trainer.runnable.pipeline.name}.npz")


def _record(arguments: TrainArguments, trainer: Trainer) -> dict[str, object]:
    losses = trainer.losses
    first, last = (None, None) if trainer.psnr is None or not losses else trainer.psnr.records((losses[0], losses[-1]))
    return {
        "name": trainer.runnable.pipeline.name,
        "device": trainer.device.name,
        "adapter": trainer.device.adapter,
        "steps": trainer.step,
        "first_loss": losses[0] if losses else None,
        "last_loss": losses[-1] if losses else None,
        "first_psnr": first,
        "last_psnr": last,
        "reached": trainer.stopped if arguments["until_loss"] is not None else None,
    }


def _summary(arguments: TrainArguments, trainer: Trainer, ranks: int) -> str:
    until, losses = arguments["until_loss"], trainer.losses
    change = f", loss {losses[0]:.6g} -> {losses[-1]:.6g}" if losses else ""
    change += trainer.psnr.change(losses) if trainer.psnr is not None else ""
    reached = "" if until is None else f", below {until:g}" if trainer.stopped else f", not below {until:g}"
    where = f"{ranks} ranks of {trainer.device.name}" if ranks > 1 else trainer.device.name
    return f"{trainer.runnable.pipeline.name}: {trainer.step} steps on {where}{change}{reached}"
