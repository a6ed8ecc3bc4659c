"""Floats without a range beyond [-1, 1], where numbers of the program lie: a result goes in, with what is wrong there.

Nobody said that the function is meant to be used there, so these samples may only accuse, and only derivatives that
somebody wrote: automatic ones have no branches of their own, and ``clamp`` has none where its ends have changed places.
Those say nothing at which it isn't finite, overflows, leads an index outside or a loop beyond its bound, or can't be
told. They are looked at by themselves, since their derivatives may be far larger than usual ones, and not in float32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.kinks.corners import compare_corners
from slangad.compiler.check.kinks.ties import excuse_ties
from slangad.compiler.check.model.findings import State
from slangad.compiler.check.model.samples import chosen
from slangad.compiler.check.reference.entries import compare_entries
from slangad.compiler.check.reference.function import ExaminedFunction
from slangad.compiler.check.sampling.samples import AT_NUMBER
from slangad.compiler.check.twins.loop_bounds import EXCEEDED
from slangad.compiler.check.verdict.describe import Describer
from slangad.compiler.check.verdict.explain.races import with_races
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import LeftAside, LegState, Note, NoteKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.functions import Evaluate, JacobianOf, RowFunction
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.run.companions import Companions
    from slangad.compiler.report.model import Failure, Leg, LegResult, Result


_LARGEST: Final = 1e30
"""What is larger is as good as an overflow."""
_LOST: Final = 0.05
"""Of a value: further off in float32, something has overflowed there, and may have in derivatives in float64."""
_LOOPS: Final = "a loop runs beyond its bound at {} of {} samples outside [-1, 1], which are left out: declare ranges"
_NOTHING: Final = "nothing could be told at numbers of the text outside [-1, 1]: declare ranges to have them tried"
_NOT_RUN: Final = "outside [-1, 1], where nobody declared a range"
_BAD: Final = (Verdict.FAIL, Verdict.KINK_BAD)


@dataclass(frozen=True, slots=True)
class Beyond:
    """What it takes to look at one subject there.

    Attributes:
        inside: The rows at which no index leads outside.
        noise: How much of values may be rounding, of rows and their values.
        again: Each leg's Jacobians.
        most: Pairs of sample and input to look at, and those to look at closely.
    """

    wide: RowFunction
    narrow: RowFunction | None
    companions: Companions
    evaluate: Evaluate
    inside: Callable[[Floats], Bools]
    noise: Callable[[Floats, Floats], Floats]
    again: Mapping[Leg, JacobianOf]
    most: tuple[int, int]
    seed: int

    def look(self, result: Result, drawn: Samples, command: str) -> Result:
        """The result with what is wrong at these samples."""
        inside = chosen(drawn, self.inside(drawn.rows))
        ends = self._ends(inside.rows)
        if not ends.all():
            told = Note(NoteKind.SAMPLES, _LOOPS.format(int((~ends).sum()), len(inside.rows)))
            result = replace(result, notes=(*result.notes, told))
        samples = self._calm(chosen(inside, ends))
        if not len(samples.rows):
            more = (Note(NoteKind.SAMPLES, _NOTHING),) if len(drawn.rows) and ends.all() else ()
            return replace(result, notes=(*result.notes, *more))
        with np.errstate(all="ignore"):
            values = self.evaluate(samples.rows, samples.rows)
            found = {leg: again(samples.rows) for leg, again in self.again.items()}
        inputs = self.wide.inputs
        columns = np.array(inputs.differentiable, np.int64)
        noise = self.noise(samples.rows, values)
        function = ExaminedFunction(self.evaluate, columns, self.again, noise, self.seed, *self.most)
        findings = compare_entries(function, samples, values, found)
        compare_corners(function, samples, found, findings)
        floating = np.array([k for k, c in enumerate(inputs.columns) if c.floating], np.int64)
        excuse_ties(function, samples, found, findings, floating)
        describer = Describer(inputs, self.wide.results, samples, values, findings, found)
        failures = with_races(list(describer.failures(command)), self.companions.reach, samples.rows)
        return _with(result, describer, failures)

    def _ends(self, rows: Floats) -> Bools:
        """Where no loop runs beyond its bound."""
        watch = self.companions.watch
        if watch is None or not len(rows):
            return np.ones(len(rows), bool)
        columns = [k for k, c in enumerate(watch.results.columns) if c.path.startswith(EXCEEDED)]
        return ~np.asarray((watch.values(rows)[:, columns] > 0.0).any(axis=1))

    def _calm(self, samples: Samples) -> Samples:
        """Those at which neither values nor derivatives overflow, nor values in float32, be it on their way."""
        if self.narrow is not None and Mode.FORWARD in self.narrow.entries and len(samples.rows):
            with np.errstate(all="ignore"):
                wide, narrow = self.wide.values(samples.rows), self.narrow.values(samples.rows)
                close = (np.abs(narrow - wide) <= _LOST * np.abs(wide))[:, self.wide.results.differentiable]
            samples = chosen(samples, np.asarray(close.all(axis=1)))
        ways: list[Callable[[Floats], Floats]] = [lambda rows: self.evaluate(rows, rows), *self.again.values()]
        for way in ways:
            if len(samples.rows):
                with np.errstate(all="ignore"):
                    sizes = np.abs(way(samples.rows)).reshape(len(samples.rows), -1)
                    samples = chosen(samples, np.asarray((sizes < _LARGEST).all(axis=1)))
        return samples


def _with(result: Result, describer: Describer, failures: Sequence[Failure]) -> Result:
    """The result with samples that could be told, numbered on from its own, and what is wrong at them."""
    findings = describer.findings
    worst = np.max([states.max(axis=(1, 2)) for states in findings.states.values()], axis=0)
    least = np.max(list(findings.states.values()), axis=0) == State.OK
    at_number = np.array([origin == AT_NUMBER for origin in describer.drawn.origins])
    bent = at_number & ((worst == State.KINK) | (worst == State.JUMP))
    kept = (worst == State.OK) | (worst >= State.KINK_BAD) | bent
    first, own = len(result.samples), np.flatnonzero(kept)
    numbers = {int(old): first + k for k, old in enumerate(own)}
    told = describer.samples(())
    samples = tuple(replace(told[old], number=number) for old, number in numbers.items())
    failures = [
        replace(f, sample=f.sample and replace(f.sample, number=numbers.get(f.sample.number, f.sample.number)))
        for f in failures
    ]
    counts = replace(
        result.counts,
        drawn=result.counts.drawn + len(own),
        compared=result.counts.compared + int((least.any(axis=(1, 2)) | (worst >= State.KINK_BAD))[own].sum()),
        kinks=result.counts.kinks + int((worst[own] == State.KINK).sum()),
        jumps=result.counts.jumps + int((worst[own] == State.JUMP).sum()),
        entries=result.counts.entries + sum(int((s == State.OK).sum()) for s in findings.states.values()),
    )
    single = result.float32
    if single is not None and len(own):
        single = replace(single, left=(*single.left, LeftAside(len(own), _NOT_RUN)))
    made = replace(
        result, samples=(*result.samples, *samples), counts=counts, float32=single, legs=_legs(result, describer)
    )
    return _judged(made, failures, kinks=[numbers[int(old)] for old in np.flatnonzero(bent)])


def _legs(result: Result, describer: Describer) -> tuple[LegResult, ...]:
    """The legs, those of both modes with what they compared here."""
    more = {leg: describer.leg(leg) for leg in describer.found}

    def together(one: LegResult) -> LegResult:
        other = more.get(one.leg)
        if other is None or not other.compared:
            return one
        worse = other if other.state is LegState.DISAGREES else one
        return replace(worse, compared=one.compared + other.compared, worst=max(one.worst, other.worst))

    return tuple(together(one) for one in result.legs)


def _judged(result: Result, failures: Sequence[Failure], kinks: Sequence[int]) -> Result:
    """The result with failures and kinks."""
    if kinks and result.verdict is Verdict.PASS:
        what = f"{len(kinks)} kink{'s' if len(kinks) > 1 else ''} or jump{'s' if len(kinks) > 1 else ''}"
        result = replace(result, verdict=Verdict.KINK_OK, reason=f"right, also at {what} outside [-1, 1]")
    result = replace(result, failures=(*result.failures, *failures))
    for verdict in _BAD:
        worst = next((f for f in failures if f.verdict is verdict), None)
        if worst is not None:
            reason = worst.message + (f"; {worst.cause}" if worst.cause else "")
            return replace(result, verdict=verdict, reason=reason)
    return result
