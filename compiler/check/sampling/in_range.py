"""Draw samples within declared ranges, and within [-1, 1] if none is declared; for launches, as many as affordable.

A launch with many inputs is looked at in blocks of inputs first. Only some inputs are then compared entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.arrays import rows_at_once
from slangad.compiler.check.model.budget import OutOfTimeError, budget
from slangad.compiler.check.model.effort import Effort, blocks_of, effort_of, evenly, longer_of, timed_work
from slangad.compiler.check.model.samples import RegionSamples, chosen, with_rows
from slangad.compiler.check.run.companions import SubjectFunctions
from slangad.compiler.check.run.derivative import MODES
from slangad.compiler.check.run.launch import LaunchRunner
from slangad.compiler.check.sampling.blocks import Blocks, is_large
from slangad.compiler.check.sampling.focus import HeldInputs, focused, hold_most
from slangad.compiler.check.sampling.samples import bounds_of, draw_large, draw_random, draw_sized, intervals_of
from slangad.compiler.check.sampling.scouts import scout
from slangad.compiler.report.model import Leg, Note, NoteKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.functions import Bounded
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.sampling.blocks import BlockFindings


_NO_SCOUTS: Final = "its launches take long: no further places were searched for rare mistakes"


@dataclass(frozen=True, slots=True)
class CheckScope:
    """The part of a subject to look at.

    Attributes:
        functions: The subject; of one with many inputs only the selected ones count as differentiable.
        legs: The modes that it has.
        effort: The affordable number of samples.
        blocks: The outcome of looking at blocks of inputs; None if all inputs are looked at one by one.
    """

    functions: SubjectFunctions
    legs: tuple[Leg, ...]
    effort: Effort
    blocks: BlockFindings | None = None


def scope_of(plan: SubjectPlan, functions: SubjectFunctions) -> CheckScope:
    """Return the scope of the check; for a launch, as much as is affordable."""
    missing = {mode for mode, _ in plan.missing}
    legs = tuple(leg for leg, mode in MODES.items() if mode in functions.f64.entries and mode not in missing)
    scope = CheckScope(
        functions, legs if plan.linear else tuple(leg for leg in legs if leg is not Leg.REVERSE), Effort()
    )
    indices, f64, f32 = functions.companions.indices, functions.f64, functions.f32
    if not scope.legs:
        return scope
    name = f"blocks {plan.subject.name}"
    if indices is None:
        work = timed_work(functions.evaluate, _timed(plan, functions, name))
        return replace(scope, effort=effort_of(work)) if work else scope
    if len(f64.inputs.columns) > tol.LARGE_LAUNCH and isinstance(f64, LaunchRunner):
        return _large_scope(plan, scope, indices, name)
    drawn = _drawn(plan, functions, tol.SAMPLES_LEAST, name)
    drawn = chosen(drawn, functions.inside(drawn.rows))
    work = indices.work(drawn.rows[: tol.SAMPLES_LEAST])
    if len(f64.inputs.columns) > tol.LARGE_LAUNCH:
        work += tol.WORK_SCALAR * len(f64.inputs.columns)
    work = longer_of(work, timed_work(functions.evaluate, drawn.rows))
    scope = replace(scope, effort=effort_of(work))
    if not is_large(f64):
        return scope
    with np.errstate(all="ignore"):
        finite = np.isfinite(functions.evaluate(drawn.rows, drawn.rows)).all(axis=1)
    scales = np.max(drawn.scales, axis=0, initial=0.0)
    blocks = Blocks(f64, functions.evaluate, scope.legs, plan.seed).compare(drawn.rows[finite], scales)
    companions = functions.companions
    if companions.device is not None and not isinstance(companions.device, str):
        companions = replace(companions, device=focused(companions.device, blocks.inputs, blocks.results))
    f32 = None if f32 is None else focused(f32, blocks.inputs, blocks.results)
    return replace(
        scope, functions=SubjectFunctions(focused(f64, blocks.inputs, blocks.results), f32, companions), blocks=blocks
    )


def _large_scope(plan: SubjectPlan, scope: CheckScope, indices: Bounded, name: str) -> CheckScope:
    """Return the scope of a launch with very many inputs: blocks of all of them, then a few that are not held."""
    functions, f64 = scope.functions, scope.functions.f64
    parts = list(_large_samples(plan, functions, name))
    finite = np.concatenate([samples.rows[good] for samples, good in parts])
    first, columns = parts[0][0], f64.inputs.columns
    work = indices.work(first.rows[:1]) + tol.WORK_SCALAR * len(columns)
    work = longer_of(work, timed_work(functions.evaluate, finite))
    compare = Blocks(f64, functions.evaluate, scope.legs, plan.seed, blocks_of(work))
    blocks = compare.compare(finite, first.scales.max(axis=0))
    sample = (*blocks.rows, *finite, *first.rows)[0]
    hold = hold_most(f64.inputs, (*blocks.inputs, *blocks.active), sample, plan.seed)
    examined = np.flatnonzero(np.isin(hold.held.kept, blocks.inputs)).tolist(), blocks.results
    held = hold.functions(functions)
    device = held.companions.device
    companions = replace(
        held.companions, device=focused(device, *examined) if isinstance(device, HeldInputs) else device
    )
    f32 = None if held.f32 is None else focused(held.f32, *examined)
    rows = sample[None, hold.held.kept]
    return CheckScope(
        SubjectFunctions(focused(held.f64, *examined), f32, companions),
        scope.legs,
        effort_of(work),
        replace(blocks, inputs=tuple(examined[0]), rows=rows, held=len(columns) - len(hold.held.kept)),
    )


def _large_samples(plan: SubjectPlan, functions: SubjectFunctions, name: str) -> Iterator[tuple[Samples, Bools]]:
    """Yield samples of a launch with very many inputs, in parts, and where all of it is in bounds and finite."""
    columns = functions.f64.inputs.columns
    for start in range(0, tol.LARGE_SAMPLES, rows_at_once(len(columns))):
        count = tol.LARGE_SAMPLES - start
        drawn = draw_large(columns, plan.ranges, count, plan.seed, f"{name} {start}", plan.integers)
        rows = _made_finite(plan, functions, drawn.rows)
        with np.errstate(all="ignore"):
            good = functions.inside(rows) & np.isfinite(functions.evaluate(rows, rows)).all(axis=1)
        yield replace(drawn, rows=rows), good


def draw_in_range(plan: SubjectPlan, scope: CheckScope) -> RegionSamples:
    """Return samples in the ranges: random ones, corner cases, and those that scouts and blocks find suspicious."""
    functions, effort = scope.functions, scope.effort
    inputs, results = functions.f64.inputs, functions.f64.results
    size = max(1, len(inputs.differentiable) * max(1, len(results.differentiable)))
    count = max(min(tol.SAMPLES_LEAST, plan.samples), min(plan.samples, tol.JACOBIAN_ENTRIES // size))
    name = f"{plan.subject.name}({', '.join(c.path for c in inputs.columns)})"
    samples = _drawn(plan, functions, count, name, plan.constants)
    inside = functions.inside(samples.rows)
    full = functions.full_lists(samples.rows[~inside])
    samples = chosen(samples, inside)
    drawn = RegionSamples(samples, len(inside), len(inside) - int(inside.sum()), full)
    if drawn.empty:
        return drawn
    launched = functions.companions.indices is not None
    if launched:
        samples = replace(samples, rows=_made_finite(plan, functions, samples.rows))
    sizes = len(samples.rows), len(inputs.differentiable), len(results.differentiable)
    samples = chosen(samples, effort.thinned(*sizes, min(tol.WORK_SAMPLES, plan.samples)))
    scouts = min(tol.SCOUTS, count * tol.SCOUTS_EACH, effort.scouts)
    many = _drawn(replace(plan, seed=plan.seed + 1), functions, scouts, name)
    scales = np.max(samples.scales, axis=0, initial=0.0)
    if effort.is_long:
        many = chosen(many, evenly(len(many.rows), scouts))
    many = chosen(many, functions.inside(many.rows))
    rows = _made_finite(plan, functions, many.rows) if launched else many.rows
    try:
        with budget().until(tol.TIME_SCOUTS):
            scouted = scout(functions.f64, functions.evaluate, rows, scales, plan.seed, scope.legs)
    except OutOfTimeError:
        scouted = np.zeros(0, np.int64)
        drawn = replace(drawn, notes=(*drawn.notes, Note(NoteKind.SAMPLES, _NO_SCOUTS)))
    if scope.blocks is not None:
        samples = with_rows(samples, scope.blocks.rows, "block")
    return replace(drawn, samples=with_rows(samples, rows[scouted], "scout", many.degenerate[scouted]))


def _timed(plan: SubjectPlan, functions: SubjectFunctions, name: str) -> Floats:
    """Return samples of a function whose threads are timed."""
    columns = functions.f64.inputs.columns
    rows = draw_random(columns, plan.ranges, tol.SAMPLES_LEAST, plan.seed, name, plan.integers)
    return rows[functions.inside(rows)]


def _drawn(
    plan: SubjectPlan, functions: SubjectFunctions, count: int, name: str, constants: Sequence[float] = ()
) -> Samples:
    """Return random samples and corner cases; of a pipeline with very many inputs a few random samples alone."""
    columns = functions.f64.inputs.columns
    count = min(count, tol.LARGE_SAMPLES) if len(columns) > tol.LARGE_LAUNCH else count
    return draw_sized(columns, plan.ranges, count, plan.seed, name, constants, plan.integers)


def _made_finite(plan: SubjectPlan, functions: SubjectFunctions, rows: Floats) -> Floats:
    """Return rows of launches with magnitudes in place of values where only magnitudes give finite results.

    One thread outside its domain makes a launch not finite, and a domain is mostly the positive side.
    """
    low, high = bounds_of(intervals_of(functions.f64.inputs.columns, plan.ranges))
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(functions.evaluate(rows, rows)).all(axis=1)
        sizes = np.abs(rows)
        sizes = np.where((low <= sizes) & (sizes <= high), sizes, rows)
        good = np.isfinite(functions.evaluate(sizes, sizes)).all(axis=1) & functions.inside(sizes)
    return np.where((bad & good)[:, None], sizes, rows)
