"""Find the stages of a pipeline that cause a failure at a sample.

Each stage takes its inputs at that sample. The derivative of its randomly weighted results is compared with differences
of the stage alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.run.pipeline_stages import PipelineStages
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import Leg, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.run.pipeline_stages import StageRunner
    from slangad.compiler.report.model import Failure


@dataclass(frozen=True, slots=True)
class Blamed:
    """A stage that is wrong by itself, and its worst entry."""

    number: int
    shown: str
    entry: str
    expected: float
    found: float

    @property
    def words(self) -> str:
        """The sentence about the stage."""
        return (
            f"stage {self.number}, {self.shown}, is wrong by itself: "
            f"d (weighted results) / d {self.entry} is {self.found:.6g}, should be {self.expected:.6g}"
        )


def with_stages(failures: list[Failure], frozen: object, seed: int) -> list[Failure]:
    """Return failures; those of derivatives of a pipeline name the stage that is wrong.

    Args:
        failures: The failures.
        frozen: The pipeline stage by stage; anything else has no stages.
        seed: The seed of the random weights of results.
    """
    return (
        [_with_stage(failure, frozen, seed) for failure in failures] if isinstance(frozen, PipelineStages) else failures
    )


def _with_stage(failure: Failure, oracle: PipelineStages, seed: int) -> Failure:
    derivative = failure.leg in (Leg.REVERSE, Leg.FORWARD, Leg.TRANSPOSE)
    if not derivative or failure.sample is None or failure.verdict is not Verdict.FAIL:
        return failure
    row = np.array([[float(value.value) for value in failure.sample.inputs]])
    mode = Mode.JVP if failure.leg is Leg.FORWARD else Mode.BACKWARD
    blamed_stages = list(blamed(oracle, row, mode, seed))
    if not blamed_stages:
        large = [one.shown for one in oracle.stages if len(one.plain.inputs.differentiable) > tol.STAGE_INPUTS]
        note = _not_finite(oracle, row) or (
            "every stage is right by itself here: look at the values that pass between them"
        )
        if large:
            names = " and ".join(dict.fromkeys(large))
            note = (
                f"a stage with more than {tol.STAGE_INPUTS} inputs is not examined by itself: check {names} with --only"
            )
        return replace(failure, notes=(*failure.notes, note))
    names = " and ".join(f"stage {one.number}, {one.shown}," for one in blamed_stages)
    notes = (*failure.notes, *(one.words for one in blamed_stages))
    return replace(
        failure,
        message=f"{failure.message}: {names} {'is' if len(blamed_stages) == 1 else 'are'} to blame",
        notes=notes,
    )


def _not_finite(oracle: PipelineStages, row: Floats) -> str:
    """Return the note about the first stage with a result that is not finite at a sample; empty if there is none."""
    for stage, runner, taken in oracle.taken(row):
        results = runner.plain.results
        with np.errstate(all="ignore"):
            values = runner.plain.values(taken)[0]
        for column in results.differentiable:
            if not np.isfinite(values[column]):
                return (
                    f"stage {stage.number + 1}, {runner.shown}, gives {results.columns[column].path} = "
                    f"{values[column]:g}, which later stages ignore: its derivative is no number either"
                )
    return ""


def blamed(oracle: PipelineStages, row: Floats, mode: Mode, seed: int) -> Iterator[Blamed]:
    """Yield the stages that are wrong by themselves at a sample."""
    for stage, runner, taken in oracle.taken(row):
        columns = runner.plain.inputs.differentiable
        if mode not in runner.plain.entries or not 0 < len(columns) <= tol.STAGE_INPUTS:
            continue
        worst = _worst(runner, taken, mode, seed)
        if worst is not None:
            column, expected, found = worst
            path = runner.plain.inputs.columns[column].path
            yield Blamed(stage.number + 1, runner.shown, path, expected, found)


def _worst(runner: StageRunner, taken: Floats, mode: Mode, seed: int) -> tuple[int, float, float] | None:
    """Return the input with the worst derivative, the expected derivative and the actual one; None if all are right."""
    whole = runner.plain
    inputs, outputs = whole.inputs.differentiable, whole.results.differentiable
    weights = np.zeros((1, len(whole.results.columns)))
    weights[0, outputs] = np.random.default_rng([seed, 11]).normal(size=len(outputs))
    with np.errstate(all="ignore"):
        slope, doubt = _differences(runner, taken, weights)
        found = _derivative_of(runner, taken, weights, mode)
        size = np.maximum(np.abs(slope), np.abs(found))
        off = np.abs(found - slope) / (
            tol.STAGE_DOUBT * doubt
            + tol.STAGE_CLOSE * (size + tol.STAGE_USUAL_SHARE * np.nanmax(size, initial=0.0))
            + tol.UNDERFLOW
        )
    off = np.where(np.isfinite(slope) & ~np.isfinite(found), np.inf, np.where(np.isnan(off), 0.0, off))
    place = int(np.argmax(off))
    return (inputs[place], float(slope[place]), float(found[place])) if off[place] > 1.0 else None


def _derivative_of(runner: StageRunner, taken: Floats, weights: Floats, mode: Mode) -> Floats:
    whole = runner.plain
    inputs = whole.inputs.differentiable
    if mode is Mode.BACKWARD:
        return whole.gradients(taken, weights)[0, inputs]
    directions = np.zeros((len(inputs), taken.shape[1]))
    directions[range(len(inputs)), inputs] = 1.0
    return np.asarray((whole.tangents(np.repeat(taken, len(inputs), axis=0), directions)[1] * weights).sum(axis=1))


def _differences(runner: StageRunner, taken: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return extrapolated slopes of the weighted results by each input, and their uncertainty."""
    inputs = runner.plain.inputs.differentiable
    outputs = runner.plain.results.differentiable
    estimates = []
    for step in (tol.STAGE_STEP, tol.STAGE_STEP / 2, tol.STAGE_STEP / 4):
        widths = step * np.maximum(np.abs(taken[0, inputs]), tol.STAGE_INPUT_LEAST)
        sides = []
        for sign in (1.0, -1.0):
            rows = np.repeat(taken, len(inputs), axis=0)
            rows[range(len(inputs)), inputs] += sign * widths
            values = runner.oracle.moved(rows, np.repeat(taken, len(inputs), axis=0))
            sides.append((values[:, outputs] * weights[:, outputs]).sum(axis=1))
        estimates.append((sides[0] - sides[1]) / (2 * widths))
    coarse, middle, fine = estimates
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    best = (16 * second - first) / 15
    return best, np.abs(best - second) + tol.STAGE_DIFFERENCES * np.abs(best)
