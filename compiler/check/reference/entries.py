"""Compare the Jacobians of every mode with the reference, entry by entry.

Agreement with a sharp estimate settles an entry. Disagreement does not: ``deep`` examines the entry with all windows,
other nodes, from both sides and at locations close by, before it calls the entry wrong.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.budget import OutOfTimeError, budget
from slangad.compiler.check.model.findings import Findings, State
from slangad.compiler.check.reference.deep import DeepComparison
from slangad.compiler.check.reference.differences import Ladder, Slices, deep_estimate, measure
from slangad.compiler.check.reference.slack import entry_slack
from slangad.compiler.check.reference.stencil import central

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.function import ExaminedFunction
    from slangad.compiler.report.model import Leg


_SCREEN: Final = "screen"
"""The key of the time that a pair of sample and input takes in the first look."""
_FIRST_LOOK: Final = "a first look at each input"


def compare_entries(
    function: ExaminedFunction, samples: Samples, values: Floats, jacobians: Mapping[Leg, Floats]
) -> Findings:
    """Return the state of every entry of every mode's Jacobians.

    Args:
        function: The function.
        samples: The samples.
        values: Its differentiable results there; NaN where a sample shows nothing.
        jacobians: Its Jacobians there by mode.
    """
    shape = (len(samples.rows), values.shape[1], len(function.inputs))
    finite = np.asarray(np.isfinite(values).all(axis=1))
    unknown = np.full(shape, np.nan)
    findings = Findings(
        unknown,
        np.full(shape, np.inf),
        unknown.copy(),
        unknown.copy(),
        {mode: np.zeros(shape, np.int8) for mode in jacobians},
        finite,
        jumps=np.zeros(shape[0], bool),
        share=function.share,
        looked=np.zeros((shape[0], shape[2]), bool),
        grain=tol.GRAIN * np.abs(values)[:, :, None] / samples.scales[:, None, function.inputs],
    )
    if finite.any() and len(function.inputs):
        _screen(function, samples, values, jacobians, findings)
        with budget().until(tol.TIME_ENTRIES):
            _deepen(function, samples, values, jacobians, findings)
    return findings


def _screen(
    function: ExaminedFunction,
    samples: Samples,
    values: Floats,
    jacobians: Mapping[Leg, Floats],
    findings: Findings,
) -> None:
    """Settle the entries that agree in a few windows."""
    which = np.flatnonzero(findings.finite)
    pairs = _pairs_to_screen(function, len(which))
    shape = (len(tol.SCREEN_LEVELS), len(which), values.shape[1], len(function.inputs))
    slope, bar = np.full(shape, np.nan), np.full(shape, np.inf)
    for levels in tol.SCREEN_STEPS if function.is_long else (range(len(tol.SCREEN_LEVELS)),):
        windows = [tol.SCREEN_LEVELS[level] for level in levels]
        slices = _slices(function, samples, which[pairs[:, 0]], pairs[:, 1])
        ladder = _measured(function, slices, windows)
        if not findings.looked.any() and len(ladder.slope) < len(pairs):
            findings.cut += (_FIRST_LOOK,)
        if not len(ladder.slope):  # what is open then counts as undecided
            return
        pairs = pairs[: len(ladder.slope)]
        if not findings.looked.any():
            findings.looked[which[pairs[:, 0]], pairs[:, 1]] = True
        for number, level in enumerate(levels):
            slope[level, pairs[:, 0], :, pairs[:, 1]] = ladder.slope[:, number]
            bar[level, pairs[:, 0], :, pairs[:, 1]] = ladder.bar[:, number]
        _settle(function, samples, values, jacobians, findings, (slope, bar))
        is_open = np.any([states[which] == State.UNSEEN for states in findings.states.values()], axis=(0, 2))
        pairs = pairs[is_open[pairs[:, 0], pairs[:, 1]]]
        if not len(pairs):
            return


def _settle(
    function: ExaminedFunction,
    samples: Samples,
    values: Floats,
    jacobians: Mapping[Leg, Floats],
    findings: Findings,
    windows: tuple[Floats, Floats],
) -> None:
    """Settle the entries that agree in some of the windows, whose slopes and bars are known as far as measured."""
    which, (slope, bar) = np.flatnonzero(findings.finite), windows
    scales = samples.scales[which][:, function.inputs]
    sharp = np.isfinite(slope) & (bar <= tol.SHARP * np.abs(slope))
    moves = (np.where(sharp, np.abs(slope), 0.0).max(axis=0) * scales[:, None, :]).max(axis=2)
    moves = np.maximum(moves, tol.VALUE_SHARE * np.abs(values[which]))
    bar = np.where(np.isfinite(slope), bar, np.inf)
    usable = (bar <= tol.SHARP * np.abs(slope)) | (bar * scales[:, None, :] <= tol.NOTHING * moves[:, :, None])
    usable_bar = np.where(usable, bar, np.inf)
    best = np.argmin(usable_bar, axis=0)[None]
    expected, error = (np.take_along_axis(levels, best, axis=0)[0] for levels in (slope, usable_bar))
    findings.expected[which], findings.error[which] = np.where(np.isfinite(error), expected, np.nan), error
    for mode, jacobian in jacobians.items():
        entries, slack = jacobian[which], _slack(function, samples, jacobian)[which]
        with np.errstate(all="ignore"):
            near = sharp & (np.abs(function.unclipped(mode, entries[None], slope) - slope) <= bar + slack)
            nothing = (np.abs(entries) <= error) & (np.abs(expected) <= error) & np.isfinite(error)
        findings.states[mode][which] = np.where(near.any(axis=0) | nothing, State.OK, State.UNSEEN)


def _measured(function: ExaminedFunction, slices: Slices, windows: Sequence[int]) -> Ladder:
    """Return the windows of the slices, or of the first ones if the time is over."""
    parts: list[Ladder] = []
    with budget().until(tol.TIME_SCREEN), suppress(OutOfTimeError):
        for part in budget().parts(len(slices), len(slices), _SCREEN, tol.TIMED_PAIRS):
            some = np.arange(len(slices))[part]
            parts.append(measure(function.evaluate, slices.pick(some), windows, central()))
    return Ladder.joined(parts)


def _slack(function: ExaminedFunction, samples: Samples, jacobian: Floats) -> Floats:
    return entry_slack(jacobian, samples.rows[:, function.inputs], function.share)


def _pairs_to_screen(function: ExaminedFunction, count: int) -> Indices:
    """Return pairs of sample and input: all, or equally many of each input at random."""
    inputs = len(function.inputs)
    if count * inputs <= function.most_pairs:
        return np.stack([np.repeat(np.arange(count), inputs), np.tile(np.arange(inputs), count)], axis=1)
    each = max(tol.PAIRS_EACH, function.most_pairs // inputs)
    rng = np.random.default_rng(function.seed)
    parts = [
        np.stack([rng.permutation(count)[:each], np.full(min(each, count), place)], axis=1) for place in range(inputs)
    ]
    return np.stack(parts, axis=1).reshape(-1, 2)  # of every input one, then of every input another


def _deepen(
    function: ExaminedFunction,
    samples: Samples,
    values: Floats,
    jacobians: Mapping[Leg, Floats],
    findings: Findings,
) -> None:
    """Examine what the screen left open."""
    unseen = np.any([states == State.UNSEEN for states in findings.states.values()], axis=0)
    unseen &= findings.finite[:, None, None] & findings.looked[:, None, :]
    pairs = np.argwhere(unseen.any(axis=1))
    if not len(pairs):
        return
    for states in findings.states.values():
        states[unseen & (states == State.UNSEEN)] = State.UNDECIDED
    if len(pairs) > function.most_deep:
        order = np.random.default_rng(function.seed).permutation(len(pairs))[: function.most_deep]
        pairs = pairs[np.sort(order)]
    done = 0
    try:
        for part in _parts_to_deepen(len(pairs)):
            some = pairs[part]
            slices = _slices(function, samples, some[:, 0], some[:, 1])
            ladder, estimate = deep_estimate(function.evaluate, slices, function.noise[some[:, 0]])
            DeepComparison(function, samples, values, jacobians, findings, some, slices, ladder, estimate).settle()
            done = part.stop
    except OutOfTimeError:
        findings.cut += (f"a close look at {len(pairs) - done} of {len(pairs)} pairs of sample and input",)


def _parts_to_deepen(count: int) -> Iterator[slice]:
    """Yield all pairs at once, or parts of them where they take long: some have results if the time is over."""
    each = budget().rates.get(_SCREEN, 0.0) * tol.WORK_DEEP / tol.WORK_SCREEN
    if count * each < tol.TIMED_DEEP:
        return iter([slice(0, count)])
    return budget().parts(count, count, "deep", tol.TIMED_PAIRS)


def _slices(function: ExaminedFunction, samples: Samples, which: Indices, places: Indices) -> Slices:
    columns = function.inputs[places]
    return Slices(samples.rows[which], columns, samples.scales[which, columns])
