"""Find parameters of Slang functions that have no gradient although the result depends on them.

Slang gives a struct that is not ``IDifferentiable`` no gradient, wherever it stands, and reports nothing. Where the
result depends on numbers in such a parameter and nobody wrote ``no_diff``, the gradient is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement
from slangad.compiler.check.model.samples import chosen
from slangad.compiler.check.reference.differences import Slices, measure
from slangad.compiler.check.reference.stencil import central
from slangad.compiler.check.sampling.samples import draw
from slangad.compiler.check.verdict.explain.causes import NOT_DIFFERENTIABLE
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.types import Array, Struct
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.subject import SourceFacts
    from slangad.compiler.check.run.companions import SubjectFunctions
    from slangad.compiler.ir.nodes import KernelParam
    from slangad.compiler.ir.types import Type


def without_gradient(params: Iterable[KernelParam], facts: SourceFacts | None) -> tuple[tuple[str, str], ...]:
    """Return the parameters that have no gradient because of their struct, with the struct's name."""
    plain = facts.plain if facts is not None else frozenset()
    structs = ((p.name, _struct_of(p.type)) for p in params if p.no_diff and p.name in plain)
    return tuple((name, struct) for name, struct in structs if struct)


def _struct_of(type_: Type) -> str:
    """Return the name of the struct that a value is, or has as its elements; empty if there is none."""
    if isinstance(type_, Array):
        return _struct_of(type_.element)
    return type_.name if isinstance(type_, Struct) else ""


def lost_gradients(plan: SubjectPlan, functions: SubjectFunctions) -> Iterator[Disagreement]:
    """Yield every parameter without gradient that the result depends on, with its largest derivative."""
    if Mode.FORWARD in functions.f64.entries:
        for name, struct in plan.without_gradient:
            yield from _loss(plan, functions, name, struct)


def _loss(plan: SubjectPlan, functions: SubjectFunctions, name: str, struct: str) -> Iterator[Disagreement]:
    f64 = functions.f64
    inputs, results = f64.inputs.columns, f64.results.columns
    indices = [k for k, c in enumerate(inputs) if c.floating and c.path.startswith((f"{name}.", f"{name}["))]
    outputs = [k for k, c in enumerate(results) if c.floating]
    samples = draw(inputs, plan.ranges, tol.LOST_SAMPLES, plan.seed, f"silent {plan.subject.name}", plan.constants)
    samples = chosen(samples, functions.inside(samples.rows))
    if not indices or not outputs or not len(samples.rows):
        return
    row, column = np.repeat(np.arange(len(samples.rows)), len(indices)), np.tile(np.array(indices), len(samples.rows))
    slices = Slices(samples.rows[row], column, samples.scales[row, column])
    with np.errstate(all="ignore"):
        slopes = measure(lambda rows, _: f64.values(rows)[:, outputs], slices, tol.EXPLAIN_LEVELS, central())
        slope, bar = slopes.slope[:, 0], slopes.bar[:, 0]
        certain = np.isfinite(slope) & (np.abs(slope) > tol.EXPLAIN_BARS * bar + tol.LOST_LEAST)
    size = np.where(certain, np.abs(slope), 0.0)
    if not size.any():
        return
    place, output = (int(k) for k in np.unravel_index(int(size.argmax()), size.shape))
    yield Disagreement(
        Leg.REVERSE,
        CheckOutcome.LOST_GRADIENT,
        f"'{name}' has no gradient, and the result depends on it",
        row=results[outputs[output]].path,
        column=inputs[int(column[place])].path,
        expected=float(slope[place, output]),
        error=float(bar[place, output]),
        found=0.0,
        cause=f"{struct} {NOT_DIFFERENTIABLE}: make it so, or write no_diff before '{name}' if that is meant",
    )
