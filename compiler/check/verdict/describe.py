"""Describe findings in the words of the report: failures, legs, notes and samples of one subject."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import Findings, State
from slangad.compiler.check.model.outcomes import CheckOutcome
from slangad.compiler.check.reference.slack import entry_slack
from slangad.compiler.check.verdict.decide import verdict_of
from slangad.compiler.check.verdict.explain.causes import cause_of_cotangent, common_signs, likely_cause
from slangad.compiler.report.figures import NAMED, equal_values, listed, shown
from slangad.compiler.report.model import (
    Curve,
    Failure,
    Jacobian,
    Leg,
    LegResult,
    LegState,
    Note,
    NoteKind,
    Sample,
    SampleState,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.columns import Column, ColumnTable
    from slangad.compiler.check.model.findings import Compared, Corner, Wrong
    from slangad.compiler.check.model.samples import Samples


"""Entries or inputs that a message names."""
NOISY: Final = "too noisy or too steep"
FINITE: Final = "declare ranges where it is"
SMOOTH: Final = "declare ranges where it is smooth"
_MODES = {Leg.REVERSE: "reverse mode", Leg.FORWARD: "forward mode"}


@dataclass(frozen=True, slots=True)
class Describer:
    """Describes the findings of one subject in words.

    Attributes:
        inputs: The columns of the inputs; ``results`` those of the results.
        drawn: The samples.
        values: The differentiable results at the samples.
        findings: The outcome of every entry.
        jacobians: The Jacobians by mode.
    """

    inputs: ColumnTable
    results: ColumnTable
    drawn: Samples
    values: Floats
    findings: Findings
    jacobians: Mapping[Leg, Floats]

    @property
    def rows(self) -> list[str]:
        """Return the names of the differentiable results."""
        return [self.results.columns[k].path for k in self.results.differentiable]

    @property
    def columns(self) -> list[Column]:
        """Return the columns of the differentiable inputs."""
        return [self.inputs.columns[k] for k in self.inputs.differentiable]

    def failures(self, command: str) -> Iterator[Failure]:
        """Yield the worst wrong entry and the worst wrong subgradient of each mode.

        Where both modes have the same error, there is one failure, which names the other mode.
        """
        failures: list[Failure] = []
        for leg in self.jacobians:
            for failure in self._worst_of(leg, command):
                same = next((k for k, other in enumerate(failures) if _is_same(failure, other)), None)
                if same is None:
                    failures.append(failure)
                else:
                    note = f"{_MODES[leg]} has the same error"
                    failures[same] = replace(failures[same], notes=(*failures[same].notes, note))
        yield from failures

    def _worst_of(self, leg: Leg, command: str) -> Iterator[Failure]:
        states = self.findings.states[leg]
        for state, outcome in ((State.WRONG, CheckOutcome.WRONG), (State.KINK_BAD, CheckOutcome.NO_SUBGRADIENT)):
            if (states == state).any():
                yield self._failure(leg, states == state, outcome, command)
        if (states == State.UNGUARDED).any():
            yield self._unguarded(leg, states == State.UNGUARDED, command)

    def _failure(self, leg: Leg, where: Bools, outcome: CheckOutcome, command: str) -> Failure:
        matrix, findings = self.jacobians[leg], self.findings
        with np.errstate(all="ignore"):
            gap = np.abs(matrix - findings.expected) / (np.abs(findings.expected) + self._slack(matrix) + tol.UNDERFLOW)
        gap = np.where(np.isnan(gap), np.inf, gap)
        index = np.unravel_index(int(np.argmax(np.where(where, gap, -1.0))), gap.shape)
        sample, row, column = (int(k) for k in index)
        kink = outcome is CheckOutcome.NO_SUBGRADIENT
        bounds = (float(findings.low[sample, row, column]), float(findings.high[sample, row, column])) if kink else None
        corner = findings.corners.get((leg, sample, row, column)) if kink else None
        if corner is not None:
            bounds = corner.low, corner.high
        return Failure(
            leg,
            verdict_of(outcome),
            self._message(leg, row, column, kink=kink) if corner is None else self._together(leg, row, column, corner),
            self.sample(sample),
            row=self.rows[row],
            column=self.columns[column].path,
            expected=None if kink else float(findings.expected[sample, row, column]),
            error=None if kink else float(findings.error[sample, row, column]),
            bounds=bounds,
            found=float(matrix[sample, row, column]) if corner is None else corner.found,
            cause="" if kink else self._cause(leg, row, column),
            curve=self._curve(sample, row, column, float(matrix[sample, row, column])),
            jacobian=self._jacobian(leg, sample),
            reproduce=command,
            notes=(*self._common_signs(leg, row, column), *self._more(where)),
        )

    def _unguarded(self, leg: Leg, where: Bools, command: str) -> Failure:
        """Return the entry that is not finite at the sample with the fewest degenerate inputs."""
        degenerate = self.drawn.degenerate
        samples = np.flatnonzero(where.any(axis=(1, 2)))
        sample = int(samples[np.argmin(degenerate[samples].sum(axis=1))])
        row, column = (int(k) for k in np.argwhere(where[sample] & ~np.isfinite(self.jacobians[leg][sample]))[0])
        found = float(self.jacobians[leg][sample, row, column])
        inputs = [self._inputs(sample)[k] for k in np.flatnonzero(degenerate[sample])]
        what = f"d {self.rows[row]} / d {self.columns[column].path} in {_MODES[leg]} is {shown(found)}"
        remedy = "declare a range without that, or guard the division (or root)"
        known = bool(np.isfinite(self.findings.error[sample, row, column]))
        return Failure(
            leg,
            verdict_of(CheckOutcome.UNGUARDED),
            f"{what} at {equal_values(inputs)}, where the value is finite: {remedy}",
            self.sample(sample),
            row=self.rows[row],
            column=self.columns[column].path,
            expected=float(self.findings.expected[sample, row, column]) if known else None,
            error=float(self.findings.error[sample, row, column]) if known else None,
            found=found,
            jacobian=self._jacobian(leg, sample),
            reproduce=command,
            notes=self._more(where),
        )

    def _message(self, leg: Leg, row: int, column: int, *, kink: bool) -> str:
        what = f"d {self.rows[row]} / d {self.columns[column].path} in {_MODES[leg]}"
        return f"{what} is no subgradient at a kink" if kink else f"{what} is wrong"

    def _together(self, leg: Leg, row: int, column: int, corner: Corner) -> str:
        names = (f"d {self.rows[row]} / d {self.columns[k].path}" for k in (column, *corner.others))
        combined = (" + " if corner.sign > 0 else " - ").join(names)
        return f"{combined} in {_MODES[leg]} is no subgradient at a kink"

    def _cause(self, leg: Leg, row: int, column: int) -> str:
        sharp = np.isfinite(self.findings.error[:, row]) & np.isfinite(self.findings.expected[:, row])
        expected = np.where(sharp, self.findings.expected[:, row], np.nan)
        names, groups = [c.path for c in self.columns], [c.group for c in self.columns]
        accused = self.findings.states[leg][:, row, column] == State.WRONG
        return likely_cause(self.jacobians[leg][:, row], expected, names, groups, column, accused)

    def _common_signs(self, leg: Leg, row: int, column: int) -> Iterator[str]:
        """Yield the inputs that have one sign wherever an entry is wrong, if there are any."""
        states = self.findings.states[leg][:, row, column]
        names = [column.path for column in self.inputs.columns]
        said = common_signs(self.drawn.rows, names, states == State.WRONG, states == State.OK)
        if said:
            yield said

    def _curve(self, sample: int, row: int, column: int, slope: float) -> Curve | None:
        known = self.findings.curves.get((sample, row, column))
        if known is None:
            return None
        steps, slopes = (tuple(float(x) for x in part) for part in known)
        return Curve(steps, slopes, tuple(abs(x - slope) for x in slopes))

    def _more(self, where: Bools) -> tuple[str, ...]:
        """Return the names of the other wrong entries."""
        entries = np.argwhere(where.any(axis=0))
        names = [f"d {self.rows[r]} / d {self.columns[c].path}" for r, c in entries]
        return (f"wrong entries: {listed(names, NAMED)}",) if len(names) > 1 else ()

    def other(self, compared: Compared, command: str) -> Iterator[Failure]:
        """Yield the failure of a leg that needs no reference, if it has one."""
        wrong = compared.wrong
        if wrong is None:
            return
        numbers = compared.result.leg is not Leg.BOUND
        names = [r for r, _ in zip(self.rows, wrong.cotangent, strict=False)]
        yield Failure(
            compared.result.leg,
            verdict_of(compared.outcome),
            compared.message,
            self.sample(wrong.sample),
            tuple(Value(n, w) for n, w in zip(names, wrong.cotangent, strict=False)),
            self.rows[wrong.row] if wrong.row >= 0 else "",
            self.columns[wrong.column].path if wrong.column >= 0 else "",
            wrong.expected if numbers else None,
            wrong.tolerance if numbers else None,
            found=wrong.found if numbers else None,
            cause=self._cause_of_sum(wrong),
            reproduce=command,
        )

    def _cause_of_sum(self, wrong: Wrong) -> str:
        """Return the reason why reverse mode is not linear in the cotangent; empty if something else is wrong."""
        if not wrong.cotangent or wrong.column < 0 or Leg.REVERSE not in self.jacobians:
            return ""
        return cause_of_cotangent(
            wrong.found, self.jacobians[Leg.REVERSE][wrong.sample, :, wrong.column], wrong.cotangent
        )

    def _slack(self, jacobian: Floats) -> Floats:
        return entry_slack(jacobian, share=self.findings.share)

    def leg(self, leg: Leg) -> LegResult:
        """Return the outcome of one mode against the reference."""
        states, jacobian = self.findings.states[leg], self.jacobians[leg]
        compared = (states == State.OK) | (states >= State.KINK_BAD)
        with np.errstate(all="ignore"):
            slack = self.findings.error + self._slack(jacobian)
            far = np.where(compared, np.abs(jacobian - self.findings.expected) / slack, 0.0)
        worst = float(np.nan_to_num(far, posinf=np.inf).max(initial=0.0))
        if (states >= State.KINK_BAD).any():
            return LegResult(leg, LegState.DISAGREES, int(compared.sum()), worst)
        if not compared.any():
            return LegResult(leg, LegState.UNDECIDED, 0, 0.0, "no sample could be compared")
        if self.findings.cut and (states == State.UNDECIDED).any():
            return LegResult(leg, LegState.UNDECIDED, int(compared.sum()), 0.0, "it did not end in time")
        return LegResult(leg, LegState.AGREES, int(compared.sum()), min(worst, 1.0))

    def uncompared(self, share: float) -> str:
        """Return a sentence on an entry that was compared at too few samples; empty if there is none."""
        finite = self.findings.finite
        for leg, states in self.findings.states.items():
            good = (states[finite] >= State.OK) & (states[finite] <= State.JUMP)
            shares = good.sum(axis=0) / np.maximum(1, self.findings.looked[finite].sum(axis=0))[None]
            if shares.size and shares.min() < share:
                row, column = np.unravel_index(int(shares.argmin()), shares.shape)
                what = f"d {self.rows[int(row)]} / d {self.columns[int(column)].path} in {_MODES[leg]}"
                return f"{what} could be compared at {shares.min():.0%} of the samples only: {NOISY}; {SMOOTH}"
        return ""

    def untested(self, share: float, number: int) -> str:
        """Return the reason why too few of the samples could be compared; empty if enough could.

        Enough are this share and this number of them. Half of them are enough if the number is more than half.
        """
        states = np.stack(list(self.findings.states.values())).reshape(len(self.findings.states), len(self.values), -1)
        seen = (states == State.OK) | (states == State.KINK)
        tested, drawn = int(seen.any(axis=(0, 2)).sum()), len(self.values)
        if tested >= max(share * drawn, min(number, 0.5 * drawn)):
            return ""
        lost = int((~self.findings.finite).sum())
        finite = lost <= drawn - tested - lost
        why = f"others are jumps, {NOISY}" if finite else f"it is not finite at {lost}"
        # where the share is enough, it is their number that is not
        more = f"take more samples (--samples {2 * number * drawn // tested}), or " if tested >= share * drawn else ""
        remedy = SMOOTH if finite else FINITE
        return f"only {tested} of {drawn} samples could be compared, {why}: {more}{remedy}"

    def kink_reason(self) -> str:
        """Return a sentence on the kinks and jumps that samples met."""
        kinks, jumps = (self._having(state) for state in (State.KINK, State.JUMP))
        kinked, jumped = (
            f"{len(matches)} {name}{'s' if len(matches) > 1 else ''}" if matches else ""
            for matches, name in ((kinks, "kink"), (jumps, "jump"))
        )
        also = f", also at {kinked}" if kinked else ""
        return f"right{also}" + (f"; {jumped}, where there is nothing to compare with" if jumped else "")

    def notes(self) -> Iterator[Note]:
        """Yield notes on kinks, jumps, and samples that say nothing."""
        kinks, jumps = (self._having(state) for state in (State.KINK, State.JUMP))
        if kinks:
            yield Note(NoteKind.KINK, f"not smooth, or bent too sharply to tell, at {self._where(kinks[0])}", kinks[0])
        if jumps:
            yield Note(NoteKind.JUMP, f"jumps at {self._where(jumps[0])}", jumps[0])
        if self.findings.left:
            more = f"{self.findings.left} more samples of an input seem wrong too"
            yield Note(NoteKind.SAMPLES, f"{more}, and were not looked at closely: they count as undecided")
        for field in self.findings.padding:
            yield Note(NoteKind.MISSING, f"no gradient reaches '{field}', which is padding by its name")
        lost = int((~self.findings.finite).sum())
        if lost:
            yield Note(NoteKind.SAMPLES, f"not finite at {lost} of {len(self.findings.finite)} samples")

    def _having(self, state: State) -> list[int]:
        states = np.any([(s == state).any(axis=(1, 2)) for s in self.findings.states.values()], axis=0)
        return [int(k) for k in np.flatnonzero(states)]

    def _where(self, sample: int) -> str:
        shown = [f"{v.path} = {v.value:g}" for v in self._inputs(sample)]
        return ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")

    def samples(self, others: Sequence[Compared]) -> tuple[Sample, ...]:
        """Return all samples with all their numbers."""
        float32 = next((c.float32 for c in others if c.float32 is not None), None)
        return tuple(self.sample(k, float32) for k in range(len(self.drawn.rows)))

    def sample(self, number: int, float32: Floats | None = None) -> Sample:
        """Return one sample with its numbers."""
        main = Leg.REVERSE if Leg.REVERSE in self.jacobians else Leg.FORWARD
        forward = self.jacobians.get(Leg.FORWARD)
        return Sample(
            number,
            self.drawn.origins[number],
            self._state(number),
            self._inputs(number),
            tuple(Value(n, float(v)) for n, v in zip(self.rows, self.values[number], strict=True)),
            self._jacobian(main, number),
            _nested(forward[number]) if forward is not None else (),
            _nested(float32[number]) if float32 is not None else (),
        )

    def _inputs(self, number: int) -> tuple[Value, ...]:
        row = self.drawn.rows[number]
        return tuple(Value(c.path, _typed(c, float(x))) for c, x in zip(self.inputs.columns, row, strict=True))

    def _state(self, number: int) -> SampleState:
        if not self.findings.finite[number]:
            return SampleState.NOT_FINITE
        worst = max(int(s[number].max(initial=0)) for s in self.findings.states.values())
        return _STATES[State(worst)]

    def _jacobian(self, leg: Leg, number: int) -> Jacobian:
        findings = self.findings
        kinked = bool(np.isfinite(findings.low[number]).any())
        return Jacobian(
            tuple(self.rows),
            tuple(c.path for c in self.columns),
            _nested(self.jacobians[leg][number]),
            _nested(findings.expected[number]),
            _nested(findings.error[number]),
            _nested(findings.low[number]) if kinked else (),
            _nested(findings.high[number]) if kinked else (),
        )


_STATES = {
    State.UNSEEN: SampleState.UNDECIDED,
    State.OK: SampleState.COMPARED,
    State.KINK: SampleState.KINK,
    State.JUMP: SampleState.JUMP,
    State.UNDECIDED: SampleState.UNDECIDED,
    State.UNGUARDED: SampleState.UNGUARDED,
    State.KINK_BAD: SampleState.WRONG,
    State.WRONG: SampleState.WRONG,
}


def _is_same(one: Failure, other: Failure) -> bool:
    """Return True if two modes gave the same wrong number at the same entry."""
    places = [(f.verdict, f.row, f.column, f.sample and f.sample.number, f.notes) for f in (one, other)]
    if places[0] != places[1] or one.found is None or other.found is None:
        return False
    return bool(np.isclose(one.found, other.found, rtol=tol.SAME_FOUND, atol=0.0, equal_nan=True))


def _nested(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))


def _typed(column: Column, value: float) -> float | int | bool:
    if column.scalar == "bool":
        return bool(value)
    return value if column.floating else int(value)
