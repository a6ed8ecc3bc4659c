"""One subject from samples to verdict: its kernels in both precisions go in, a ``Result`` comes out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.kinks.corners import compare_corners
from slangad.compiler.check.kinks.ties import excuse_ties
from slangad.compiler.check.legs.context import LegContext
from slangad.compiler.check.legs.table import compare_legs
from slangad.compiler.check.model.effort import Effort, effort_of
from slangad.compiler.check.model.findings import Compared, Findings, State
from slangad.compiler.check.model.samples import chosen, with_rows
from slangad.compiler.check.reference.entries import compare_entries
from slangad.compiler.check.reference.function import ExaminedFunction
from slangad.compiler.check.reference.overflow import overflows
from slangad.compiler.check.reference.rounding import f32_error_nearby
from slangad.compiler.check.run.derivative import ModeDerivative
from slangad.compiler.check.sampling.blocks import BlockFindings, Blocks, focused, is_large
from slangad.compiler.check.sampling.samples import draw, draw_beyond, interval_of
from slangad.compiler.check.sampling.scouts import scout
from slangad.compiler.check.verdict.decide import blank
from slangad.compiler.check.verdict.describe import Describer
from slangad.compiler.check.verdict.explain.ignored import ignored
from slangad.compiler.check.verdict.explain.races import with_races
from slangad.compiler.check.verdict.out_of_range import Beyond
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.nodes import Custom
from slangad.compiler.report.model import (
    Counts,
    Failure,
    Float32,
    Leg,
    LegResult,
    LegState,
    Note,
    NoteKind,
    Result,
    Verdict,
)
from slangad.compiler.slang_text.files import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.functions import Bounded, JacobianOf, RowFunction
    from slangad.compiler.check.model.plan import Plan
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.run.companions import Companions


_MOST_WORK: Final = 1 << 16
_FEWEST: Final = 16
_UNKNOWN_NOISE: Final = 1e-5
_LEAST_NOISE: Final = 1e-9
_SAFETY: Final = 4000.0
_LOST: Final = 0.05
_SCOUTS: Final = 2048
_SCOUTS_EACH: Final = 16
_ENOUGH: Final = 0.2
"""Share of the finite samples at which an entry must have been compared."""
_TESTED: Final = 0.1, 8
"""Share and number of all samples that must have been compared."""
_ENOUGH_BLOCKS: Final = 0.5
_MOST_OUTSIDE: Final = 0.85
"""Share of the samples at which an index may lead outside what it indexes."""
_MODES: Final = {Leg.REVERSE: Mode.BACKWARD, Leg.FORWARD: Mode.JVP}


def judge(plan: Plan, wide: RowFunction, narrow: RowFunction | None, companions: Companions) -> Result:
    """Check one subject."""
    start = time.perf_counter()
    result = _Judge(plan, wide, narrow, companions).run()
    return replace(result, seconds=time.perf_counter() - start, seed=plan.seed)


@dataclass(slots=True)
class _Judge:
    """The check of one subject; of one with many inputs, ``found`` is what came of looking at them in blocks.

    Of the samples that were ``drawn``, those at which an index leads ``outside`` are left out.
    """

    plan: Plan
    wide: RowFunction
    narrow: RowFunction | None
    companions: Companions
    found: BlockFindings | None = None
    effort: Effort = field(default_factory=Effort)
    outside: int = 0
    drawn: int = 0

    def run(self) -> Result:
        legs = {leg: mode for leg, mode in _MODES.items() if mode in self.wide.entries}
        if not self.plan.linear:
            legs.pop(Leg.REVERSE, None)
        if not legs:
            reason = "; ".join(reason for _, reason in self.plan.missing) or "it has no derivative"
            return blank(self.plan, Verdict.SKIPPED, reason)
        modes = tuple(mode.value for mode in legs.values())
        if self.companions.reach is not None:
            self._prepare(self.companions.reach, modes)
        samples = self._draw(modes)
        if not len(samples.rows):
            return blank(self.plan, Verdict.INCONCLUSIVE, self._outside())
        values = self._evaluate(samples.rows, samples.rows)
        with np.errstate(all="ignore"):
            found = {leg: ModeDerivative(self.wide, leg)(samples.rows) for leg in legs}
        values[overflows(self.wide, samples.rows, found)] = np.nan
        columns = np.array(self.wide.inputs.differentiable, np.int64)
        again = {leg: ModeDerivative(self.wide, leg) for leg in legs}
        noise = self._noise(samples.rows, values)
        pairs, deep = self.effort.pairs, self.effort.deep
        function = ExaminedFunction(self._evaluate, columns, again, noise, self.plan.seed, pairs, deep)
        findings = compare_entries(function, samples, values, found)
        compare_corners(function, samples, found, findings)
        floating = np.array([k for k, c in enumerate(self.wide.inputs.columns) if c.floating], np.int64)
        excuse_ties(function, samples, found, findings, floating)
        describer = Describer(self.wide.inputs, self.wide.results, samples, values, findings, found)
        return self._beyond(self._result(samples, findings, found, describer), again)

    def _beyond(self, result: Result, again: Mapping[Leg, JacobianOf]) -> Result:
        """The result with what own derivatives have wrong where floats without a range are numbers of the text."""
        plan, inputs, results = self.plan, self.wide.inputs, self.wide.results
        facts = plan.subject.facts
        own = isinstance(plan.subject.policy, Custom) or (facts is not None and not facts.calls)
        unbounded = facts is not None and self.companions.watch is None and "MaxIters" in text_of(plan.file)
        if not own or unbounded or result.verdict in (Verdict.FAIL, Verdict.NONDETERMINISTIC) or self.found:
            return result
        name, far = plan.subject.name, (plan.constants, plan.integers)
        drawn = draw_beyond(inputs.columns, plan.ranges, plan.seed, name, *far)
        sizes = len(drawn.rows), len(inputs.differentiable), len(results.differentiable)
        drawn = chosen(drawn, self.effort.thinned(*sizes)) if len(drawn.rows) else drawn
        most = self.effort.pairs, self.effort.deep
        beyond = Beyond(
            self.wide, self.narrow, self.companions, self._evaluate, self._inside, self._noise, again, most, plan.seed
        )
        return beyond.look(result, drawn, plan.command) if len(drawn.rows) else result

    def _prepare(self, reach: Bounded, modes: tuple[str, ...]) -> None:
        """Of a launch: how much of everything is affordable, and what of it to look at."""
        inputs = self.wide.inputs
        name = f"blocks {self.plan.subject.name}"
        drawn = draw(inputs.columns, self.plan.ranges, _FEWEST, self.plan.seed, name, (), self.plan.integers)
        drawn = chosen(drawn, self._inside(drawn.rows))
        self.effort = effort_of(reach.work(drawn.rows[:_FEWEST]))
        if not is_large(self.wide):
            return
        with np.errstate(all="ignore"):
            finite = np.isfinite(self._evaluate(drawn.rows, drawn.rows)).all(axis=1)
        scales = np.max(drawn.scales, axis=0, initial=0.0)
        self.found = Blocks(self.wide, self._evaluate, modes, self.plan.seed).compare(drawn.rows[finite], scales)
        self.wide = focused(self.wide, self.found.inputs, self.found.results)
        if self.narrow is not None:
            self.narrow = focused(self.narrow, self.found.inputs, self.found.results)
        device = self.companions.device
        if device is not None and not isinstance(device, str):
            device = focused(device, self.found.inputs, self.found.results)
            self.companions = replace(self.companions, device=device)

    def _draw(self, modes: tuple[str, ...]) -> Samples:
        inputs, results = self.wide.inputs, self.wide.results
        size = max(1, len(inputs.differentiable) * max(1, len(results.differentiable)))
        count = max(min(_FEWEST, self.plan.samples), min(self.plan.samples, _MOST_WORK // size))
        name = f"{self.plan.subject.name}({', '.join(c.path for c in inputs.columns)})"
        integers = self.plan.integers
        samples = draw(inputs.columns, self.plan.ranges, count, self.plan.seed, name, self.plan.constants, integers)
        inside = self._inside(samples.rows)
        self.outside, self.drawn = len(inside) - int(inside.sum()), len(inside)
        samples = chosen(samples, inside)
        if not inside.any():
            return samples
        if self.companions.reach is not None:
            samples = replace(samples, rows=self._finite(samples.rows))
        sizes = len(samples.rows), len(inputs.differentiable), len(results.differentiable)
        samples = chosen(samples, self.effort.thinned(*sizes))
        scouts = min(_SCOUTS, count * _SCOUTS_EACH, self.effort.scouts)
        many = draw(inputs.columns, self.plan.ranges, scouts, self.plan.seed + 1, name, (), integers)
        scales = np.max(samples.scales, axis=0, initial=0.0)
        rows = many.rows[self._inside(many.rows)]
        if self.companions.reach is not None:
            rows = self._finite(rows)
        found = scout(self.wide, self._evaluate, rows, scales, self.plan.seed, modes)
        if self.found is not None:
            samples = with_rows(samples, self.found.rows, "block")
        return with_rows(samples, found, "scout")

    def _finite(self, rows: Floats) -> Floats:
        """The rows of launches with magnitudes in place of values where only that gives something finite.

        One thread outside its domain is enough for a launch not to be finite, and domains are mostly the positive side.
        """
        columns = self.wide.inputs.columns
        intervals = [interval_of(column, self.plan.ranges) for column in columns]
        low, high = (np.array([getattr(i, side) for i in intervals]) for side in ("low", "high"))
        with np.errstate(all="ignore"):
            bad = ~np.isfinite(self._evaluate(rows, rows)).all(axis=1)
            sizes = np.abs(rows)
            sizes = np.where((low <= sizes) & (sizes <= high), sizes, rows)
            good = np.isfinite(self._evaluate(sizes, sizes)).all(axis=1) & self._inside(sizes)
        return np.where((bad & good)[:, None], sizes, rows)

    def _inside(self, rows: Floats) -> npt.NDArray[np.bool_]:
        """The rows at which no index leads outside a tensor or an array."""
        within = self.companions.reach or self.companions.arrays
        return np.ones(len(rows), bool) if within is None else within.inside(rows)

    def _evaluate(self, rows: Floats, base: Floats) -> Floats:
        if self.companions.oracle is not None:
            return self.companions.oracle.moved(rows, base)[:, self.wide.results.differentiable]
        return self.wide.values(rows)[:, self.wide.results.differentiable]

    def _noise(self, rows: Floats, values: Floats) -> Floats:
        """How much noise the values may have in float64, from how far float32 is off; times the safety of a bar.

        Rounding is 2^29 times coarser there. Where float32 has lost everything, float64 may have lost almost as much.
        """
        narrow = self.narrow
        if narrow is None or Mode.FORWARD not in narrow.entries:
            return np.full(values.shape, _UNKNOWN_NOISE)
        columns = self.wide.results.differentiable
        with np.errstate(all="ignore"):
            off = np.abs(narrow.values(rows)[:, columns] - values) / np.abs(values)
        off = np.where(np.isfinite(off), off, 1.0)
        inputs, evaluate = self.wide.inputs.differentiable, self._evaluate
        nearby = (lambda r: narrow.values(r)[:, columns]), (lambda r: evaluate(r, r))
        off = np.fmax(off, f32_error_nearby(*nearby, rows, values, inputs, self.plan.seed))
        return np.where(off > _LOST, 1.0, np.maximum(_LEAST_NOISE, _SAFETY * off * 2.0**-29))

    def _result(self, samples: Samples, findings: Findings, found: dict[Leg, Floats], describer: Describer) -> Result:
        context = LegContext(self.plan, self.wide, self.narrow, self.companions, samples, found, findings)
        others = list(compare_legs(context))
        failures = list(describer.failures(self.plan.command))
        failures += [f for compared in others for f in describer.other(compared, self.plan.command)]
        failures += [replace(c.failure, reproduce=self.plan.command) for c in others if c.failure is not None]
        failures = with_races(failures, self.companions.reach, samples.rows)
        legs = [*(describer.leg(leg) for leg in found), *(c.result for c in others), *self._missing_legs()]
        verdict, reason = self._verdict(failures, findings, describer)
        if verdict is Verdict.NONDETERMINISTIC:  # what other legs see may be the noise
            failures = [failure for failure in failures if failure.verdict is verdict]
        subject = self.plan.subject
        return Result(
            self.plan.file,
            subject.label,
            subject.kind,
            verdict,
            subject.span,
            self.plan.generated,
            reason,
            tuple(legs),
            tuple(failures),
            (
                *self.plan.notes,
                *self._outside_note(),
                *self._blocks_note(),
                *self._ignored(samples, findings),
                *self._missing_notes(),
                *describer.notes(),
            ),
            _counts(findings),
            describer.samples(others),
            float32=self._single(others),
        )

    def _single(self, others: list[Compared]) -> Float32 | None:
        """How far float32 was tested."""
        found = next((compared.single for compared in others if compared.single is not None), None)
        elsewhere = self.companions.device is not None and not isinstance(self.companions.device, str)
        return None if found is None else replace(found, device=self.plan.device if elsewhere else "cpu")

    def _outside(self) -> str:
        """At how many samples an index leads outside, in words."""
        where = f"at {self.outside} of {self.drawn} samples"
        return f"an index leads outside what it indexes {where}: declare ranges of the integers it is made from"

    def _outside_note(self) -> Iterator[Note]:
        if self.outside:
            where = f"at {self.outside} of {self.drawn} samples, which are left out"
            yield Note(NoteKind.SAMPLES, f"an index leads outside what it indexes {where}")

    def _blocks_note(self) -> Iterator[Note]:
        if self.found is not None:
            shown = f"{len(self.found.inputs)} inputs and {len(self.found.results)} results one by one"
            what = f"its inputs in {self.found.blocks} blocks, then {shown}"
            yield Note(NoteKind.SAMPLES, f"looked at {what}")

    def _missing_legs(self) -> Iterator[LegResult]:
        for mode, reason in self.plan.missing:
            leg = Leg.REVERSE if mode is Mode.BACKWARD else Leg.FORWARD
            yield LegResult(leg, LegState.MISSING, detail=reason)

    def _ignored(self, samples: Samples, findings: Findings) -> tuple[Note, ...]:
        """What was declared away, where something was."""
        return () if self.companions.oracle is None else tuple(ignored(self.wide, samples, findings))

    def _missing_notes(self) -> Iterator[Note]:
        for mode, reason in self.plan.missing:
            name = "reverse" if mode is Mode.BACKWARD else "forward"
            yield Note(NoteKind.MISSING, f"{name} mode is not checked: {reason}")

    def _verdict(self, failures: list[Failure], findings: Findings, describer: Describer) -> tuple[Verdict, str]:
        for verdict in (Verdict.NONDETERMINISTIC, Verdict.FAIL, Verdict.KINK_BAD, Verdict.PRECISION):
            first = next((f for f in failures if f.verdict is verdict), None)
            if first is not None:
                return verdict, first.message + (f"; {first.cause}" if first.cause else "")
        if not findings.finite.any():
            return Verdict.INCONCLUSIVE, "it is not finite at any sample: declare ranges where it is"
        if self.found is not None and self.found.compared < _ENOUGH_BLOCKS * self.found.blocks:
            told = f"{self.found.compared} of {self.found.blocks} blocks of inputs"
            return Verdict.INCONCLUSIVE, f"only {told} could be compared: too noisy or too steep"
        if self.outside > _MOST_OUTSIDE * self.drawn:
            return Verdict.INCONCLUSIVE, self._outside()
        weak = describer.untested(*_TESTED) or describer.uncompared(_ENOUGH)
        if weak:
            return Verdict.INCONCLUSIVE, weak
        if isinstance(self.companions.device, str):
            return Verdict.INCONCLUSIVE, f"it was not compared on the device: {self.companions.device}"
        states = list(findings.states.values())
        if any(((s == State.KINK) | (s == State.JUMP)).any() for s in states):
            return Verdict.KINK_OK, describer.kink_reason()
        return Verdict.PASS, ""


def _counts(findings: Findings) -> Counts:
    states = np.max(list(findings.states.values()), axis=0)
    worst = states.reshape(len(states), -1).max(axis=1, initial=0)
    finite = findings.finite

    def having(state: State) -> int:
        return int((states == state).any(axis=(1, 2)).sum())

    return Counts(
        drawn=len(states),
        compared=int(((states == State.OK) | (states >= State.KINK_BAD)).any(axis=(1, 2)).sum()),
        kinks=having(State.KINK),
        jumps=having(State.JUMP),
        not_finite=int((~finite).sum()),
        undecided=int(((worst == State.UNDECIDED) & finite).sum()),
        entries=int(sum((s == State.OK).sum() for s in findings.states.values())),
    )
