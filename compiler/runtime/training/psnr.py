"""Compute the peak signal-to-noise ratio of a training from its losses, where the losses determine it.

The PSNR is -10 log10(m / peak²) in dB, where m is the mean squared error of a channel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.runtime.arrays.images import is_picture
from slangad.compiler.runtime.pipeline.stages import shapes_of
from slangad.compiler.runtime.training.squared_errors import squared_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.training.squared_errors import SquaredErrors


@dataclass(frozen=True, slots=True)
class Psnr:
    """The relation of losses and PSNR.

    Attributes:
        factor: A loss times this is the mean squared error of a channel, for a peak of 1.
    """

    factor: float

    def of(self, loss: float) -> float:
        """Return the PSNR of a loss in dB; infinity if the loss is 0."""
        error = loss * self.factor
        return -10.0 * math.log10(error) if error > 0.0 else math.inf

    def records(self, losses: Iterable[float]) -> list[float | None]:
        """Return the PSNR of losses for JSON, which has no infinity."""
        return [value if math.isfinite(value) else None for value in map(self.of, losses)]

    def change(self, losses: Sequence[float]) -> str:
        """Return the PSNR of the first and of the last loss for a summary."""
        return f", PSNR {self.of(losses[0]):.2f} -> {self.of(losses[-1]):.2f} dB" if losses else ""


def psnr_of_picture(runnable: RunnablePipeline, module: Module, prepared: Prepared, batch: int) -> Psnr | None:
    """Return the PSNR of a training whose squared errors are those of a picture with values from 0 to 1, else None."""
    errors = squared_errors(runnable, module)
    array = None if errors is None else _array(prepared, errors.target)
    if errors is None or array is None or not is_picture(array) or not _covers(runnable, prepared, errors, batch):
        return None
    if array.ndim - (errors.channels > 1) != 2 or not (array.min() >= 0.0 and array.max() <= 1.0):
        return None
    return Psnr(_share(errors, _threads(array, errors, batch)))


def psnr_of_peak(
    runnable: RunnablePipeline, module: Module, peak: float, prepared: Prepared | None, batch: int
) -> Psnr:
    """Return the PSNR of a training for data with a known peak.

    Args:
        runnable: The pipeline.
        module: Its module.
        peak: The largest possible value of the data.
        prepared: The data; None if ranks share it.
        batch: Elements of a step; 0 for all.

    Raises:
        CompileError: The losses do not determine the PSNR.
    """
    errors = squared_errors(runnable, module)
    name = runnable.pipeline.name
    if errors is None:
        message = f"{name} has no PSNR: its objective is not known to consist of squared errors against one input"
        help_ = "omit --psnr, or return sa.nn.l2(found, seen), or sa.dot(e, e) where e = found - seen"
        raise CompileError([Diagnostic("SA420", message, runnable.pipeline.span, help=help_)])
    if errors.reading_stage is not None and prepared is None:
        message = f"{name} has no PSNR: its threads read {errors.target}, which ranks share"
        help_ = f"omit --psnr, or make {errors.target} an Each parameter"
        raise CompileError([Diagnostic("SA420", message, runnable.pipeline.span, help=help_)])
    if errors.reading_stage is not None and prepared is not None and not _covers(runnable, prepared, errors, batch):
        message = f"{name} has no PSNR: its threads do not read each element of {errors.target} once"
        help_ = f"omit --psnr, or run {name} over the shape of {errors.target} without --batch"
        raise CompileError([Diagnostic("SA420", message, runnable.pipeline.span, help=help_)])
    array = None if prepared is None else _array(prepared, errors.target)
    if array is None and not errors.is_mean:
        message = f"{name} has no PSNR: its objective is a sum that ranks share"
        raise CompileError([Diagnostic("SA420", message, runnable.pipeline.span, help="return a Mean[float]")])
    threads = 1 if array is None else _threads(array, errors, batch)
    return Psnr(_share(errors, threads) / peak**2)


def _array(prepared: Prepared, name: str) -> npt.NDArray[Any] | None:
    return next((array for (_, value, _), array in prepared.arrays.items() if value == name), None)


def _covers(runnable: RunnablePipeline, prepared: Prepared, errors: SquaredErrors, batch: int) -> bool:
    """Return True if a step has one thread for each element of the target; for an ``Each``, of its batch."""
    if errors.reading_stage is None:
        return True
    stage = shapes_of(runnable, prepared).stages[errors.reading_stage]
    return not batch and stage.domain == prepared.extents[errors.target]


def _threads(array: npt.NDArray[Any], errors: SquaredErrors, batch: int) -> int:
    """Return the elements of a step."""
    elements = array.size // errors.channels
    return elements // array.shape[0] * batch if batch else elements


def _share(errors: SquaredErrors, threads: int) -> float:
    """Return the mean squared error of a channel that belongs to a loss of 1."""
    return 1.0 / (errors.weight * errors.channels * (1 if errors.is_mean else threads))
