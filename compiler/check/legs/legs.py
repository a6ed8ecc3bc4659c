"""Comparisons that need no oracle: linearity in the cotangent, values of forward mode, repetition, and float32."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.float32_slopes import steps_fit
from slangad.compiler.check.legs.float32_tally import tally
from slangad.compiler.check.model.findings import Compared, Findings, State, Wrong
from slangad.compiler.check.reference.differences import power_of_two
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.check.reference.rounding import moved, rounded, scatter, terms
from slangad.compiler.check.run.thread import jacobian_by_columns, jacobian_by_rows
from slangad.compiler.check.twins.loop_bounds import BEYOND, EXCEEDED
from slangad.compiler.emit.model import Mode
from slangad.compiler.report.model import Leg, LegResult, LegState, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.functions import RowFunction, Watch
    from slangad.compiler.ir.nodes import ClipGradient

    Places = npt.NDArray[np.int64]
    Jacobian = Callable[[RowFunction, Floats], Floats]

_CUT_SHORT: Final = "a loop{} runs longer than its bound, so it is cut short"
_TURNS_ON: Final = "a loop turns more often than its [MaxIters] says: reverse mode has no memory for further turns"


def compare_linear(
    runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats], findings: Findings, seed: int
) -> Compared:
    """Random cotangents against the Jacobian from unit ones: reverse mode is linear, and forgets no result."""
    rng = np.random.default_rng([seed, 1])
    outputs, inputs = runner.results.differentiable, runner.inputs.differentiable
    weights = (
        rng.normal(size=(len(rows), len(outputs))) * np.where(np.arange(len(rows)) % 2, 1.0, tol.LEG_SIZE)[:, None]
    )
    cotangents = np.zeros((len(rows), len(runner.results.columns)))
    cotangents[:, outputs] = weights
    with np.errstate(all="ignore"):
        mine = runner.gradients(rows, cotangents)[:, inputs]
        jacobians = found.get(Leg.FORWARD, found[Leg.REVERSE]), found[Leg.REVERSE]
        wanted, slack = _combined(weights[:, :, None], jacobians, findings, axis=1)
        slack += tol.LEG_ROUNDING * moved(
            lambda r: runner.gradients(r, cotangents)[:, inputs], rows, mine, inputs, tol.ULP64, rng
        )
        certain = np.asarray(_certain(findings).all(axis=1))

        def left(some: Places) -> Floats:
            own = rounded(lambda c: runner.gradients(rows[some], c)[:, inputs], cotangents[some], tol.ULP64, rng)
            units = rounded(
                lambda c: jacobian_by_rows(runner, rows[some], c), np.ones(weights[some].shape), tol.ULP64, rng
            )
            return np.asarray(own + (np.abs(weights[some])[:, :, None] * units).sum(axis=1))

        def scattered(some: Places) -> Floats:
            return np.asarray((np.abs(weights[some])[:, :, None] * _scattered(runner, rows[some], found)).sum(axis=1))

        slack, found_wrong = _but_for_rounding((mine, wanted, slack), certain, left, scattered)
    message = "forward and reverse mode disagree: w'Jv is not v'J'w for random w"
    told = compared(Leg.TRANSPOSE, (mine, wanted, slack), certain, found_wrong, message, weights)
    return told if told.wrong is not None or Leg.FORWARD not in found else _with_accused(told, found, findings)


def _with_accused(told: Compared, found: Mapping[Leg, Floats], findings: Findings) -> Compared:
    """With the entries that some mode has wrong, which has been told: whether the other mode has the same there."""
    accused = np.any([states == State.WRONG for states in findings.states.values()], axis=0)
    reverse, forward = found[Leg.REVERSE], found[Leg.FORWARD]
    with np.errstate(all="ignore"):
        slack = tol.LEG_CONSTANTS * tol.CONSTANTS * np.fmax(np.abs(reverse), np.abs(forward)) + tol.UNDERFLOW
        apart = np.asarray(accused & ~(np.abs(reverse - forward) <= slack) & ~(np.isnan(reverse) & np.isnan(forward)))
        far = np.where(apart, np.abs(reverse - forward) / slack, 0.0)
    count = told.result.compared + int(accused.sum())
    if not apart.any():
        state = LegState.AGREES if count else told.result.state
        return replace(told, result=replace(told.result, state=state, compared=count))
    worst = float(np.nan_to_num(far, nan=np.inf, posinf=np.inf).max())
    return replace(told, result=LegResult(Leg.TRANSPOSE, LegState.DISAGREES, count, worst))


def compare_tangents(
    runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats], findings: Findings, seed: int
) -> Compared:
    """Random directions against the Jacobian, of reverse mode where it has one: forward mode is linear in them."""
    rng = np.random.default_rng([seed, 4])
    outputs, inputs = runner.results.differentiable, runner.inputs.differentiable
    weights = rng.normal(size=(len(rows), len(inputs))) * np.where(np.arange(len(rows)) % 2, 1.0, tol.LEG_SIZE)[:, None]
    directions = np.zeros((len(rows), len(runner.inputs.columns)))
    directions[:, inputs] = weights
    with np.errstate(all="ignore"):
        mine = runner.tangents(rows, directions)[1][:, outputs]
        jacobians = found.get(Leg.REVERSE, found[Leg.FORWARD]), found[Leg.FORWARD]
        wanted, slack = _combined(weights[:, None, :], jacobians, findings, axis=2)
        slack += tol.LEG_ROUNDING * moved(
            lambda r: runner.tangents(r, directions)[1][:, outputs], rows, mine, inputs, tol.ULP64, rng
        )
        certain = np.asarray(_certain(findings).all(axis=2))

        def left(some: Places) -> Floats:
            own = rounded(lambda d: runner.tangents(rows[some], d)[1][:, outputs], directions[some], tol.ULP64, rng)
            ones = np.ones(weights[some].shape)
            units = rounded(lambda d: jacobian_by_columns(runner, rows[some], d), ones, tol.ULP64, rng)
            return np.asarray(own + (np.abs(weights[some])[:, None, :] * units).sum(axis=2))

        def scattered(some: Places) -> Floats:
            return np.asarray((np.abs(weights[some])[:, None, :] * _scattered(runner, rows[some], found)).sum(axis=2))

        slack, found_wrong = _but_for_rounding((mine, wanted, slack), certain, left, scattered)
    message = "forward mode is not linear: Jv is not the Jacobian times v for random v"
    return compared(Leg.TRANSPOSE, (mine, wanted, slack), certain, found_wrong, message, by_result=True)


def _but_for_rounding(
    numbers: tuple[Floats, Floats, Floats], certain: Bools, *left: Callable[[Places], Floats]
) -> tuple[Floats, Bools]:
    """How far off numbers may be with what rounding leaves of terms that cancel out, and which are further off.

    Of what ``left`` tells of the rows that are too far off, only as much is asked for as is needed.
    """
    mine, wanted, slack = numbers
    slack = slack.copy()
    wrong = certain & ~(np.abs(mine - wanted) <= slack) & np.isfinite(wanted)
    for more in left:
        some = np.flatnonzero(wrong.any(axis=1))
        if len(some):
            slack[some] += tol.LEG_ROUNDING * more(some)
            wrong = certain & ~(np.abs(mine - wanted) <= slack) & np.isfinite(wanted)
    return slack, wrong


def _scattered(runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats]) -> Floats:
    """How far rounding may bring entries of both modes apart, over what ``left`` is multiplied by."""
    inputs = runner.inputs.differentiable
    far = np.zeros((len(rows), len(runner.results.differentiable), len(inputs)))
    rows = rows[: max(1, tol.SCATTER_PAIRS // len(inputs))]
    for leg in found:
        jacobian = jacobian_by_rows if leg is Leg.REVERSE else jacobian_by_columns
        for place, column in enumerate(inputs):
            widths = power_of_two(np.fmax(np.abs(rows[:, column]), tol.ULP32)) * tol.SCATTER_WIDTH

            def entries(near: Floats, place: int = place, jacobian: Jacobian = jacobian) -> Floats:
                return jacobian(runner, near)[:, :, place]

            far[: len(rows), :, place] += scatter(entries, rows, np.full(len(rows), column), widths)
    return far / tol.LEG_ROUNDING


def _combined(
    weights: Floats, jacobians: tuple[Floats, Floats], findings: Findings, axis: int
) -> tuple[Floats, Floats]:
    """What weights make of the first Jacobian along an axis, and how far off that may be; the second is as good."""
    wanted: Floats = (weights * jacobians[0]).sum(axis=axis)
    size = (np.abs(weights) * np.fmax(*map(np.abs, jacobians))).sum(axis=axis)
    slack: Floats = tol.LEG_CONSTANTS * tol.CONSTANTS * (size + tol.USUAL_SHARE * known_median(size))
    doubt = np.where(np.isfinite(findings.error), findings.error, 0.0) + findings.grain + tol.UNDERFLOW
    slack += tol.LEG_DOUBT * (np.abs(weights) * doubt).sum(axis=axis)
    return wanted, slack


def both(one: Compared, other: Compared) -> Compared:
    """Two comparisons of one leg as one: that which disagrees and tells where, else what they compared together."""
    apart = [each for each in (one, other) if each.result.state is LegState.DISAGREES]
    if apart:
        return next((each for each in apart if each.wrong is not None), apart[0])
    kept = one if one.result.state is LegState.AGREES else other
    worst = max(one.result.worst, other.result.worst)
    return replace(kept, result=replace(kept.result, compared=one.result.compared + other.result.compared, worst=worst))


def compare_bounds(watch: Watch, rows: Floats) -> Compared:
    """Whether a loop would run longer than its bound allows."""
    columns = [k for k, c in enumerate(watch.results.columns) if c.path.startswith(EXCEEDED)]
    exceeded = watch.values(rows)[:, columns]
    owners = [watch.results.columns[k].path.partition(" by ")[2] for k in columns]
    owner = next((name for name, over in zip(owners, np.asarray(exceeded.any(axis=0)), strict=True) if over), "")
    whose = f" of {owner}" if owner else ""
    return compared(
        Leg.BOUND,
        (exceeded, np.zeros_like(exceeded), np.full_like(exceeded, 0.5)),
        np.ones(exceeded.shape, bool),
        exceeded > 0.0,
        _TURNS_ON if BEYOND in [watch.results.columns[k].path for k in columns] else _CUT_SHORT.format(whose),
        about_sample=True,
    )


def compare_clipped(
    runner: RowFunction, rows: Floats, found: Mapping[Leg, Floats], findings: Findings, clip: ClipGradient
) -> Compared:
    """Reverse mode of a function with clipped gradients against its forward mode, clipped here."""
    columns = [runner.inputs.columns[k] for k in runner.inputs.differentiable]
    owners = [re.split(r"[.\[]", column.path)[0] for column in columns]
    wanted = found[Leg.FORWARD].copy()
    with np.errstate(all="ignore"):
        if clip.limit is not None:
            wanted = np.clip(np.nan_to_num(wanted, nan=0.0, posinf=np.inf, neginf=-np.inf), -clip.limit, clip.limit)
        elif clip.norm is not None:
            for owner in dict.fromkeys(owners):
                own = [k for k, name in enumerate(owners) if name == owner]
                size = np.sqrt((wanted[:, :, own] ** 2).sum(axis=2, keepdims=True))
                wanted[:, :, own] *= np.minimum(1.0, clip.norm / np.where(size > 0, size, 1.0))
        mine = jacobian_by_rows(runner, rows)
        slack = tol.LEG_CONSTANTS * tol.CONSTANTS * np.abs(wanted) + tol.CLIPPED_CLOSE * np.nanmax(
            np.abs(wanted), initial=0.0
        )
    certain = _certain(findings)
    wrong = certain & ~(np.abs(mine - wanted) <= slack)
    return compared(Leg.INTENT, (mine, wanted, slack), certain, wrong, "the gradient is not the clipped one")


def compare_primal(runner: RowFunction, rows: Floats, findings: Findings, seed: int) -> Compared:
    """The values that forward mode computes against the function alone."""
    outputs, inputs = runner.results.differentiable, runner.inputs.differentiable
    rng = np.random.default_rng([seed, 2])
    directions = np.zeros((len(rows), len(runner.inputs.columns)))
    directions[:, inputs] = rng.normal(size=(len(rows), len(inputs)))
    with np.errstate(all="ignore"):
        mine = runner.tangents(rows, directions)[0][:, outputs]
        alone = runner.values(rows)[:, outputs]
        slack = tol.LEG_ROUNDING * moved(lambda r: runner.values(r)[:, outputs], rows, alone, inputs, tol.ULP64, rng)
        slack += tol.PRIMAL_CLOSE * np.maximum(np.abs(alone), known_median(np.abs(alone))) + tol.UNDERFLOW
    certain = np.broadcast_to(findings.finite[:, None] & ~findings.jumps[:, None], alone.shape)
    found_wrong = certain & ~(np.abs(mine - alone) <= slack)
    message = "forward mode computes another value than the function alone"
    return compared(Leg.PRIMAL, (mine, alone, slack), certain, found_wrong, message, by_result=True)


def compare_repeat(runner: RowFunction, rows: Floats) -> Compared:
    """Two runs of the same launch, bit by bit."""
    outputs = runner.results.differentiable
    seeds = np.zeros((len(rows), len(runner.results.columns)))
    seeds[:, outputs] = 1.0
    first, second = (runner.gradients(rows, seeds)[:, runner.inputs.differentiable] for _ in range(2))
    differs = ~((first == second) | (np.isnan(first) & np.isnan(second)))
    told = compared(
        Leg.REPEAT,
        (second, first, np.zeros_like(first)),
        np.ones(first.shape, bool),
        differs,
        "two runs with the same inputs give different gradients",
    )
    return Compared(told.result, Verdict.NONDETERMINISTIC, told.message, told.wrong)


def compare_float32(
    runners: tuple[RowFunction, RowFunction],
    rows: Floats,
    found: Mapping[Leg, Floats],
    findings: Findings,
    seed: int,
    *,
    filtered: bool = False,
) -> Compared:
    """Derivatives in float32 against float64, as far as the conditioning lets them be right.

    ``filtered`` says that textures are filtered by hardware, whose weights have eight bits.
    """
    narrow = runners[1]
    leg = next(
        (
            one
            for one, mode in ((Leg.REVERSE, Mode.BACKWARD), (Leg.FORWARD, Mode.JVP))
            if one in found and mode in narrow.entries
        ),
        None,
    )
    if leg is None:
        return Compared(LegResult(Leg.FLOAT32, LegState.MISSING, detail="it does not compile in float32"))
    numbers = _Single(runners, rows, found[leg], leg, seed, filtered=filtered)
    with np.errstate(all="ignore"):
        mine, slack = numbers.compared()
        certain = (findings.states[leg] == State.OK) & (np.abs(found[leg]) < tol.LARGEST_F32)
        wrong = numbers.wrong(mine, slack, certain)
        if wrong.any():
            some = np.flatnonzero(wrong.any(axis=(1, 2)))
            slack[some] += numbers.looked_again(some, mine)
            wrong = numbers.wrong(mine, slack, certain)
    message = (
        f"{leg.value} mode in float32 is far from the same in float64, further than rounding of the inputs explains"
    )
    told = compared(Leg.FLOAT32, (mine, found[leg], slack), certain, wrong, message)
    single = tally(findings, leg, certain)
    return Compared(told.result, Verdict.PRECISION, told.message, told.wrong, mine, single=single)


@dataclass(frozen=True, slots=True)
class _Single:
    """One mode's Jacobians in float64, ``wanted``, and what float32 may make of them."""

    runners: tuple[RowFunction, RowFunction]
    rows: Floats
    wanted: Floats
    leg: Leg
    seed: int
    filtered: bool

    @property
    def _half(self) -> bool:
        wide = self.runners[0]
        return any(c.scalar == "half" for c in (*wide.inputs.columns, *wide.results.columns))

    @property
    def _ulp(self) -> float:
        return tol.ULP16 if self._half else tol.ULP32

    @property
    def _usual(self) -> Floats:
        return np.asarray(np.median(np.where(np.isfinite(self.wanted), np.abs(self.wanted), 0.0), axis=0))

    def _jacobian(self, runner: RowFunction, rows: Floats, sizes: Floats | None = None) -> Floats:
        return (jacobian_by_rows if self.leg is Leg.REVERSE else jacobian_by_columns)(runner, rows, sizes)

    def compared(self) -> tuple[Floats, Floats]:
        """What float32 gives, and how far off that may be."""
        wide, narrow = self.runners
        rng = np.random.default_rng([self.seed, 3])
        mine = self._jacobian(narrow, self.rows)
        sizes = np.where(np.isfinite(self.wanted), np.abs(self.wanted), 0.0)
        inputs = wide.inputs.differentiable
        slack = self._moved(self.rows, (self.wanted, mine), inputs, rng, tol.CONDITION_TRIES)
        slack = (
            slack
            + (tol.F32_IMPRECISE_HALF if self._half else 1)
            * tol.F32_IMPRECISE
            * np.fmax(np.abs(self.wanted), self._usual)
            + tol.UNDERFLOW_F32
        )
        lost = tol.F32_FILTERED if self.filtered else tol.F32_CANCELLED * self._ulp
        slack += lost * np.fmax(sizes.max(axis=0), sizes.max(axis=2, keepdims=True))
        return mine, slack

    def _moved(
        self, rows: Floats, bases: tuple[Floats, Floats], inputs: list[int], rng: np.random.Generator, tries: int
    ) -> Floats:
        """What moving the inputs by rounding explains."""
        wide, narrow = self.runners
        far = tol.F32_CONDITION * moved(
            lambda r: self._jacobian(wide, r), rows, bases[0], inputs, self._ulp, rng, tries
        )
        return far + tol.F32_CONDITION_OWN * moved(
            lambda r: self._jacobian(narrow, r), rows, bases[1], inputs, tol.F32_CONDITION_ULPS * self._ulp, rng, tries
        )

    def wrong(self, mine: Floats, slack: Floats, certain: Bools) -> Bools:
        """What is further off, if that is so often enough to count."""
        wrong = certain & ~(np.abs(mine - self.wanted) <= slack)
        often = wrong.any(axis=(1, 2)).sum() >= max(tol.F32_OFTEN_LEAST, tol.F32_OFTEN * certain.any(axis=(1, 2)).sum())
        return np.asarray(wrong & often)

    def looked_again(self, some: Places, mine: Floats) -> Floats:
        """How much further off it may be at some of the samples.

        Here, inputs without a derivative move by rounding too, and often enough to meet the other side of a branch.
        A derivative that is nothing but what rounding leaves of terms that cancel out may be off by rounding of those.
        """
        wide = self.runners[0]
        rng = np.random.default_rng([self.seed, 5])
        rows, wanted = self.rows[some], self.wanted[some]
        floating = [k for k, column in enumerate(wide.inputs.columns) if column.floating]
        more = self._moved(rows, (wanted, mine[some]), floating, rng, tol.F32_TRIES_CLOSELY)
        shape = len(some), wanted.shape[1 if self.leg is Leg.REVERSE else 2]
        left = tol.F32_TERMS * self._ulp * terms(lambda sizes: self._jacobian(wide, rows, sizes), shape, rng)
        gap = np.abs(mine[some] - wanted)
        alive = (mine[some] != 0.0) | ((mine != 0.0).mean(axis=0) >= tol.F32_ALIVE)
        more += np.where(alive & self._of_another(rows, mine[some], gap), gap, 0.0)
        return more + np.where(self._usual <= np.median(left, axis=0), left, 0.0)

    def _of_another(self, rows: Floats, mine: Floats, gap: Floats) -> Bools:
        """Whether derivatives are those of what float32 computes, another function than in float64: a hash, say."""
        narrow = self.runners[1]
        fits = np.zeros(mine.shape, bool)
        if Mode.FORWARD not in narrow.entries:
            return fits
        for place, column in enumerate(narrow.inputs.differentiable):
            entries, near = mine[:, :, place], tol.F32_OWN_FUNCTION * gap[:, :, place]
            fits[:, :, place] = steps_fit(narrow, (rows, column), entries, near, self._ulp)
        return fits


def _certain(findings: Findings) -> Bools:
    """Entries that every leg has right."""
    return np.asarray(np.all([states == State.OK for states in findings.states.values()], axis=0))


def compared(
    leg: Leg,
    numbers: tuple[Floats, Floats, Floats],
    certain: Bools,
    wrong: Bools,
    message: str,
    weights: Floats | None = None,
    *,
    by_result: bool = False,
    about_sample: bool = False,
) -> Compared:
    """The leg that comes of what was found, what was wanted and how far apart they may be; the worst is kept."""
    mine, wanted, slack = numbers
    with np.errstate(all="ignore"):
        far = np.where(certain, np.abs(mine - wanted) / np.where(slack > 0, slack, 1.0), 0.0)
    far = np.where(np.isnan(far), np.inf, far)
    count = int(certain.sum())
    if not wrong.any():
        state = LegState.AGREES if count else LegState.UNDECIDED
        worst = float(np.where(np.isfinite(far), far, 0.0).max(initial=0.0))
        return Compared(LegResult(leg, state, count, min(worst, 1.0)))
    place = np.unravel_index(int(np.argmax(np.where(wrong, far, -1.0))), wrong.shape)
    index = tuple(int(k) for k in place)
    row, column = (index[1], -1) if by_result else (index[1], index[2]) if len(index) == 3 else (-1, index[1])
    if about_sample:
        row = column = -1
    cotangent = () if weights is None else tuple(float(w) for w in weights[index[0]])
    bad = Wrong(index[0], row, column, float(mine[index]), float(wanted[index]), float(slack[index]), cotangent)
    return Compared(LegResult(leg, LegState.DISAGREES, count, float(far[index])), Verdict.FAIL, message, bad)
