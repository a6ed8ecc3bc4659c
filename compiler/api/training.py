"""Train a loaded kernel or pipeline from Python, as ``slangad train`` does."""

from __future__ import annotations

import math
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from slangad.compiler.api.outcome import Named
from slangad.compiler.api.program import as_pipeline
from slangad.compiler.emit.model import Mode
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, nearest_of
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.ir.pipelines import Optimizer
from slangad.compiler.lang.decorators.kernels import Optimizer as DescribedOptimizer
from slangad.compiler.runtime.arrays.flatten import flatten_named, nested
from slangad.compiler.runtime.arrays.prepare import InputError, require_whole
from slangad.compiler.runtime.arrays.summary import table
from slangad.compiler.runtime.device.tensors import as_arrays, as_tensors, place_of
from slangad.compiler.runtime.training.loaders import Batches, LoaderTrainer
from slangad.compiler.runtime.training.loop import Ending, train
from slangad.compiler.runtime.training.psnr import psnr_of_picture
from slangad.compiler.runtime.training.train import Trainer, TrainingPlan
from slangad.compiler.runtime.training.trainable import check_trainable, prepare_training, with_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slangad.compiler.api.program import RunnableProgram
    from slangad.compiler.runtime.device.model import Device, DeviceProgram
    from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.training.psnr import Psnr


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The settings of a training.

    Attributes:
        steps: The number of steps; 0 gives the values that a training starts at.
        batch: Elements of a step; all if 0.
        optimizer: ``sa.Adam(lr=0.01)``, or a name such as ``adam``; None for that of the pipeline.
        lr: The learning rate in place of the optimizer's.
        until_loss: Stop when the loss is below this.
        seed: The seed of batches, and of start values that are not given.
        watch: Called with the step and the loss now and then.
        data: A loader, such as ``torch.utils.data.DataLoader``, or any other object to iterate over once an epoch. It
            gives the arrays of ``Each`` parameters that are not arguments: by name, or as a tuple in their order.
        distributed: This process is a rank of ``torch.distributed``. Arguments are shared; a loader is this rank's own.
    """

    steps: int = 1000
    batch: int = 0
    optimizer: DescribedOptimizer | str | None = None
    lr: float | None = None
    until_loss: float = -math.inf
    seed: int = 0
    watch: Callable[[int, float], object] | None = None
    data: Iterable[object] | None = None
    distributed: bool = False

    def __post_init__(self) -> None:
        """Refuse settings of other types.

        Raises:
            InputError: It names the setting.
        """
        for name in ("steps", "batch", "seed"):
            require_whole(name, getattr(self, name), 0)
        for name in ("lr", "until_loss"):
            value = getattr(self, name)
            if not isinstance(value, (Real, type(None))):
                raise _refused(f"{name}={value!r}", "it is a number")
        if isinstance(self.optimizer, str) and self.optimizer not in OPTIMIZERS:
            raise _refused(f"optimizer={self.optimizer!r}", nearest_of(self.optimizer, OPTIMIZERS))
        if not isinstance(self.optimizer, (str, DescribedOptimizer, type(None))):
            raise _refused(f"optimizer={self.optimizer!r}", "it is sa.Adam(lr=0.01), or a name: 'adam'")


def _refused(message: str, help_: str) -> InputError:
    return InputError([Diagnostic("SA413", message, help=help_)])


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a training.

    Attributes:
        parameters: The trained parameters by name; of structs by field.
        arrays: The same by key: ``m.albedo``.
        losses: The loss before each step.
        name: The name of the kernel or pipeline.
        device: The device that it ran on.
        notes: Remarks, such as on start values that were drawn at random.
        psnr_of: The PSNR of a loss, where losses are squared errors of a picture with values from 0 to 1.
    """

    parameters: Named
    arrays: Mapping[str, Any]
    losses: tuple[float, ...] = field(repr=False)
    name: str
    device: str
    notes: tuple[str, ...] = ()
    psnr_of: Psnr | None = field(default=None, repr=False)

    @property
    def loss(self) -> float:
        """Return the last loss."""
        return self.losses[-1] if self.losses else math.nan

    @property
    def psnr(self) -> float | None:
        """Return the PSNR of the last loss in dB; None if the losses do not determine it."""
        return self.psnr_of.of(self.loss) if self.psnr_of is not None and self.losses else None

    def __repr__(self) -> str:
        return "\n".join((self._summary(), *table(self.arrays)))

    def _summary(self) -> str:
        change = f", loss {self.losses[0]:.6g} -> {self.losses[-1]:.6g}" if self.losses else ""
        change += self.psnr_of.change(self.losses) if self.psnr_of is not None else ""
        return f"{self.name}: {len(self.losses)} steps on {self.device}{change}"

    def _repr_html_(self) -> str:
        from slangad.compiler.report.curve_svg import loss_svg
        from slangad.compiler.report.notebook import html_table
        from slangad.compiler.runtime.arrays.summary import rows

        shown = html_table(("parameter", "type", "values"), rows(self.arrays))
        return f"<p>{self._summary()}</p>{loss_svg(self.losses)}{shown}"


def train_on(
    device: Device,
    program: RunnableProgram,
    kernel_or_pipeline: KernelPlan | RunnablePipeline,
    inputs: Mapping[str, object],
    domain: tuple[Any, ...] | None,
    settings: TrainingSettings,
) -> TrainingResult:
    """Train a kernel or pipeline on a device.

    Raises:
        CompileError: It can't be trained, or the loss became infinite.
        InputError: An argument is missing or doesn't fit.
        ToolchainError: The device failed.
    """
    runnable = as_pipeline(program, kernel_or_pipeline, domain or ())
    check_trainable(runnable)
    runnable = _with_settings(runnable, settings)
    optimizer = runnable.pipeline.optimizer
    assert optimizer is not None  # noqa: S101  (with_optimizer sets one)
    plan = TrainingPlan(optimizer, settings.batch, settings.seed, settings.until_loss)
    place, arrays_of_user = place_of(inputs), as_arrays(inputs)
    batches = _batches(runnable, arrays_of_user, settings)
    feed = _Feed(device, program, runnable, plan, arrays_of_user, batches, domain)
    with device.lock:
        trainer, notes = _shared(feed) if settings.distributed else _alone(feed)
        with closing(trainer):
            train(trainer, Ending(settings.steps), _watcher(settings))
            arrays = trainer.parameters()
    shown = arrays if place is None else as_tensors(arrays, place)
    parameters = Named.of(nested(shown, runnable.signature.parameters))
    messages = tuple(one.message for one in notes)
    name, losses = runnable.pipeline.name, tuple(trainer.losses)
    return TrainingResult(parameters, arrays, losses, name, device.name, messages, trainer.psnr)


@dataclass(frozen=True)
class _Feed:
    """What a training starts from: a program on a device, a plan, arrays by key, and the batches of a loader."""

    device: Device
    program: RunnableProgram
    runnable: RunnablePipeline
    plan: TrainingPlan
    inputs: Mapping[str, Any]
    batches: Batches | None
    domain: tuple[Any, ...] | None

    def load(self) -> DeviceProgram:
        return self.program.load_on(self.device, self.runnable.entry_names((Mode.FORWARD, Mode.BACKWARD)))


def _batches(runnable: RunnablePipeline, inputs: Mapping[str, Any], settings: TrainingSettings) -> Batches | None:
    """Return the batches of a loader, the first of which is taken."""
    if settings.data is None:
        return None
    if settings.batch:
        message = "batch= and data= are given: the loader says how many elements a step has"
        raise InputError([Diagnostic("SA414", message, help="omit batch=")])
    import numpy as np

    signature = runnable.signature
    wanted = [v.name for v in signature.parameters if v.per_element and not any(p.key in inputs for p in v.parts)]

    def keyed(named: Mapping[str, object]) -> dict[str, Any]:
        return {key: np.asanyarray(array) for key, array in as_arrays(flatten_named("", named, signature)).items()}

    return Batches(settings.data, wanted, keyed)


def _alone(feed: _Feed) -> tuple[Trainer, tuple[Diagnostic, ...]]:
    """Return a training of this process alone, and notes."""
    first = {} if feed.batches is None else feed.batches.take()
    prepared, notes = prepare_training(feed.runnable, {**feed.inputs, **first}, feed.domain, feed.plan)
    kind = Trainer if feed.batches is None else LoaderTrainer
    trainer = kind.start(feed.device, feed.load(), feed.runnable, prepared, feed.plan, feed.program.source.cache)
    if feed.batches is None:
        trainer.psnr = psnr_of_picture(feed.runnable, feed.program.module, prepared, feed.plan.batch)
    if isinstance(trainer, LoaderTrainer):
        assert feed.batches is not None  # noqa: S101  (just seen)
        trained = {one.key: array for one, array in zip(trainer.trained, trainer.parameters().values(), strict=True)}
        trainer.batches, trainer.inputs = feed.batches.again(first), {**trained, **feed.inputs}
    return trainer, (*prepared.notes, *notes)


def _shared(feed: _Feed) -> tuple[Trainer, tuple[Diagnostic, ...]]:
    """Return the training of this rank, and notes."""
    from slangad.compiler.runtime.training.distributed import LoadedData, SharedData, start_distributed
    from slangad.compiler.runtime.training.ranks import joined_ranks
    from slangad.compiler.runtime.training.shares import element_count, refuse_unshared

    ranks, exact = joined_ranks(feed.device.name), feed.program.options.deterministic
    refuse_unshared(feed.runnable, feed.program.module)
    if feed.batches is None:
        count = element_count(feed.runnable, feed.inputs)
        data = SharedData(feed.runnable, feed.inputs, count, ranks, exact, allow_nan=True)
    else:
        if exact:
            message = "deterministic=True needs the data itself: the batches of a loader depend on the number of ranks"
            raise CompileError(
                [Diagnostic("SA420", message, help="give the arrays, as memory-mapped .npy files maybe")]
            )
        count = ranks.total(feed.batches.size)
        data = LoadedData(feed.runnable, feed.inputs, count, ranks, exact, allow_nan=True, batches=feed.batches)
    with ranks.first_before_others() if feed.device.host else nullcontext():  # GPUs do not use the cache
        loaded = feed.load()
    return start_distributed(feed.device, loaded, data, feed.plan, feed.program.source.cache)


def _watcher(settings: TrainingSettings) -> Callable[[Trainer], None]:
    def watch(trainer: Trainer) -> None:
        if settings.watch is not None:
            settings.watch(trainer.step, trainer.losses[-1])

    return watch


def _with_settings(runnable: RunnablePipeline, settings: TrainingSettings) -> RunnablePipeline:
    chosen = settings.optimizer
    if settings.steps == 0 and chosen is None and runnable.pipeline.optimizer is None:
        return with_optimizer(runnable, "sgd", 1.0)  # no step: the start values are wanted
    if chosen is None or isinstance(chosen, str):
        return with_optimizer(runnable, chosen, settings.lr)
    values = tuple(float(getattr(chosen, one.name)) for one in fields(chosen))
    optimizer_of_settings = Optimizer(type(chosen).__name__.lower(), values)
    return with_optimizer(
        replace(runnable, pipeline=replace(runnable.pipeline, optimizer=optimizer_of_settings)), None, settings.lr
    )
