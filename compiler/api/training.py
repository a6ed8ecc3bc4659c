"""Train a loaded kernel or pipeline from Python, as ``slangad train`` does."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from slangad.compiler.api.outcome import Named
from slangad.compiler.api.program import as_pipeline
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.pipelines import Optimizer
from slangad.compiler.runtime.arrays.flatten import nested
from slangad.compiler.runtime.arrays.summary import table
from slangad.compiler.runtime.device.tensors import as_arrays, as_tensors, place_of
from slangad.compiler.runtime.training.loop import Ending, train
from slangad.compiler.runtime.training.train import Trainer, TrainingPlan
from slangad.compiler.runtime.training.trainable import check_trainable, prepare_training, with_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.api.program import RunnableProgram
    from slangad.compiler.lang.decorators.kernels import Optimizer as DescribedOptimizer
    from slangad.compiler.runtime.device.model import Device
    from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The settings of a training.

    Attributes:
        steps: The number of steps.
        batch: Elements of a step; all if 0.
        optimizer: ``sa.Adam(lr=0.01)``, or a name such as ``adam``; None for that of the pipeline.
        lr: The learning rate in place of the optimizer's.
        until_loss: Stop when the loss is below this.
        seed: The seed of batches, and of start values that are not given.
        watch: Called with the step and the loss now and then.
    """

    steps: int = 1000
    batch: int = 0
    optimizer: DescribedOptimizer | str | None = None
    lr: float | None = None
    until_loss: float = -math.inf
    seed: int = 0
    watch: Callable[[int, float], object] | None = None


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
    """

    parameters: Named
    arrays: Mapping[str, Any]
    losses: tuple[float, ...] = field(repr=False)
    name: str
    device: str
    notes: tuple[str, ...] = ()

    @property
    def loss(self) -> float:
        """Return the last loss."""
        return self.losses[-1] if self.losses else math.nan

    def __repr__(self) -> str:
        return "\n".join((self._summary(), *table(self.arrays)))

    def _summary(self) -> str:
        change = f", loss {self.losses[0]:.6g} -> {self.losses[-1]:.6g}" if self.losses else ""
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
    place = place_of(inputs)
    prepared, notes = prepare_training(runnable, as_arrays(inputs), domain, plan)
    with device.lock:
        loaded = program.load_on(device, runnable.entry_names((Mode.FORWARD, Mode.BACKWARD)))
        with closing(Trainer.start(device, loaded, runnable, prepared, plan, program.source.cache)) as trainer:
            train(trainer, Ending(settings.steps), _watcher(settings))
            arrays = trainer.parameters()
    shown = arrays if place is None else as_tensors(arrays, place)
    parameters = Named.of(nested(shown, runnable.signature.parameters))
    messages = tuple(one.message for one in (*prepared.notes, *notes))
    return TrainingResult(parameters, arrays, tuple(trainer.losses), runnable.pipeline.name, device.name, messages)


def _watcher(settings: TrainingSettings) -> Callable[[Trainer], None]:
    def watch(trainer: Trainer) -> None:
        if settings.watch is not None:
            settings.watch(trainer.step, trainer.losses[-1])

    return watch


def _with_settings(runnable: RunnablePipeline, settings: TrainingSettings) -> RunnablePipeline:
    chosen = settings.optimizer
    if chosen is None or isinstance(chosen, str):
        return with_optimizer(runnable, chosen, settings.lr)
    values = tuple(float(getattr(chosen, one.name)) for one in fields(chosen))
    optimizer_of_settings = Optimizer(type(chosen).__name__.lower(), values)
    return with_optimizer(
        replace(runnable, pipeline=replace(runnable.pipeline, optimizer=optimizer_of_settings)), None, settings.lr
    )
