"""Parameters that lose their gradient without a word: a function of a Slang file goes in, what it loses comes out.

Slang gives a struct that is not ``IDifferentiable`` no gradient, wherever it stands, and says nothing. Where the result
depends on numbers in such a parameter and nobody wrote ``no_diff``, that is a wrong gradient.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.model.samples import chosen
from slangad.compiler.check.reference.differences import Slices, measure
from slangad.compiler.check.reference.stencil import central
from slangad.compiler.check.sampling.samples import draw
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.types import Array, Struct
from slangad.compiler.report.model import Failure, Leg, LegState, Verdict

if TYPE_CHECKING:
    from slangad.compiler.check.model.plan import Plan
    from slangad.compiler.check.run.thread import Runner
    from slangad.compiler.ir.nodes import Kernel
    from slangad.compiler.ir.types import Type
    from slangad.compiler.report.model import Result

_LOOKED: Final = 32
_WINDOW: Final = 9
_CERTAIN: Final = 1e-5
_DECIDED: Final = (Verdict.PASS, Verdict.KINK_OK, Verdict.INCONCLUSIVE, Verdict.SKIPPED)


def with_lost_gradients(result: Result, plan: Plan, kernel: Kernel, runner: Runner) -> Result:
    """The result, which is a failure where the function depends on a parameter that silently has no gradient."""
    facts = plan.subject.facts
    silent = [p for p in kernel.params if facts and p.no_diff and p.name in facts.plain and _struct_of(p.type)]
    if not silent or Mode.FORWARD not in runner.entries:
        return result
    failures = [failure for p in silent if (failure := _loss(plan, runner, p.name, _struct_of(p.type)))]
    if not failures:
        return result
    legs = tuple(replace(one, state=LegState.DISAGREES) if one.leg is Leg.REVERSE else one for one in result.legs)
    made = replace(result, failures=(*result.failures, *failures), legs=legs)
    if result.verdict not in _DECIDED:
        return made
    return replace(made, verdict=Verdict.FAIL, reason=f"{failures[0].message}; {failures[0].cause}")


def _struct_of(type_: Type) -> str:
    """The name of the struct that a value is, or has as its elements."""
    if isinstance(type_, Array):
        return _struct_of(type_.element)
    return type_.name if isinstance(type_, Struct) else ""


def _loss(plan: Plan, runner: Runner, name: str, struct: str) -> Failure | None:
    """The largest of the derivatives that a parameter's numbers should have, as a failure."""
    inputs, results = runner.inputs.columns, runner.results.columns
    own = [k for k, c in enumerate(inputs) if c.floating and c.path.startswith((f"{name}.", f"{name}["))]
    outputs = [k for k, c in enumerate(results) if c.floating]
    samples = draw(inputs, plan.ranges, _LOOKED, plan.seed, f"silent {plan.subject.name}", plan.constants)
    samples = chosen(samples, runner.inside(samples.rows))
    if not own or not outputs or not len(samples.rows):
        return None
    row, column = np.repeat(np.arange(len(samples.rows)), len(own)), np.tile(np.array(own), len(samples.rows))
    places = Slices(samples.rows[row], column, samples.scales[row, column])
    with np.errstate(all="ignore"):
        slopes = measure(lambda rows, _: runner.values(rows)[:, outputs], places, (_WINDOW,), central())
        slope, bar = slopes.slope[:, 0], slopes.bar[:, 0]
        certain = np.isfinite(slope) & (np.abs(slope) > 4 * bar + _CERTAIN)
    size = np.where(certain, np.abs(slope), 0.0)
    if not size.any():
        return None
    place, output = (int(k) for k in np.unravel_index(int(size.argmax()), size.shape))
    return Failure(
        Leg.REVERSE,
        Verdict.FAIL,
        f"'{name}' has no gradient, and the result depends on it",
        row=results[outputs[output]].path,
        column=inputs[int(column[place])].path,
        expected=float(slope[place, output]),
        error=float(bar[place, output]),
        found=0.0,
        cause=f"{struct} is not IDifferentiable: make it so, or write no_diff before '{name}' if that is meant",
        reproduce=plan.command,
    )
