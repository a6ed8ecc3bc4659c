"""Draw samples outside [-1, 1] for floats without a declared range: at numbers of the text, and past them.

The function may not be meant to be used there. So these samples can only accuse, and only custom derivatives:
automatic ones add no branches, and ``clamp`` has no derivative if its limits are exchanged. A sample is omitted if a
value or a derivative overflows, an index is out of bounds, or a loop exceeds its bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.samples import RegionSamples, chosen
from slangad.compiler.check.sampling.samples import draw_outside
from slangad.compiler.check.twins.loop_bounds import EXCEEDED
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.nodes import Custom
from slangad.compiler.report.model import Note, NoteKind
from slangad.compiler.slang_text.files import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.run.companions import SubjectFunctions
    from slangad.compiler.check.sampling.in_range import CheckScope

_LOOPS: Final = "a loop exceeds its bound at {} of {} samples outside [-1, 1], which are left out: declare ranges"
_NOTHING: Final = "no sample outside [-1, 1] at a number of the text could be compared: declare ranges to test there"


def has_custom_derivative(plan: SubjectPlan, scope: CheckScope) -> bool:
    """Return True if samples out of range may accuse a subject: its derivative is custom, and its loops are watched."""
    facts = plan.subject.facts
    custom = isinstance(plan.subject.policy, Custom) or (facts is not None and not facts.calls)
    unwatched = scope.functions.companions.watch is None
    unbounded = facts is not None and unwatched and "MaxIters" in text_of(plan.file)
    return custom and not unbounded and scope.blocks is None


def draw_out_of_range(plan: SubjectPlan, scope: CheckScope) -> RegionSamples:
    """Return the samples out of range at which nothing overflows."""
    functions = scope.functions
    inputs, results = functions.f64.inputs, functions.f64.results
    drawn = draw_outside(inputs.columns, plan.ranges, plan.seed, plan.subject.name, plan.constants, plan.integers)
    number = len(drawn.rows)
    if not number:
        return RegionSamples(drawn, 0)
    drawn = chosen(drawn, scope.effort.thinned(number, len(inputs.differentiable), len(results.differentiable)))
    inside = chosen(drawn, functions.inside(drawn.rows))
    ends = _ends(functions, inside.rows)
    samples = _calm(functions, scope, chosen(inside, ends))
    notes: tuple[Note, ...] = ()
    if not ends.all():
        notes = (Note(NoteKind.SAMPLES, _LOOPS.format(int((~ends).sum()), len(inside.rows))),)
    elif not len(samples.rows):
        notes = (Note(NoteKind.SAMPLES, _NOTHING),)
    return RegionSamples(samples, number, notes=notes)


def _ends(functions: SubjectFunctions, rows: Floats) -> Bools:
    """Return True for each sample at which all loops keep their bounds."""
    watch = functions.companions.watch
    if watch is None or not len(rows):
        return np.ones(len(rows), bool)
    columns = [k for k, c in enumerate(watch.results.columns) if c.path.startswith(EXCEEDED)]
    return ~np.asarray((watch.values(rows)[:, columns] > 0.0).any(axis=1))


def _calm(functions: SubjectFunctions, scope: CheckScope, samples: Samples) -> Samples:
    """Return the samples at which values and derivatives do not overflow, nor values in float32 on their way."""
    f64, f32 = functions.f64, functions.f32
    if f32 is not None and Mode.FORWARD in f32.entries and len(samples.rows):
        with np.errstate(all="ignore"):
            exact, rounded = f64.values(samples.rows), f32.values(samples.rows)
            close = (np.abs(rounded - exact) <= tol.OUTSIDE_F32 * np.abs(exact))[:, f64.results.differentiable]
        samples = chosen(samples, np.asarray(close.all(axis=1)))
    jacobians = [functions.jacobian(leg) for leg in scope.legs]
    numbers: list[Callable[[Floats], Floats]] = [lambda rows: functions.evaluate(rows, rows), *jacobians]
    for numbers_at in numbers:
        if len(samples.rows):
            with np.errstate(all="ignore"):
                sizes = np.abs(numbers_at(samples.rows)).reshape(len(samples.rows), -1)
                samples = chosen(samples, np.asarray((sizes < tol.OUTSIDE_LARGEST).all(axis=1)))
    return samples
