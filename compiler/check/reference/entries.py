"""Compare the Jacobians of every mode with the reference, entry by entry.

Agreement with a sharp estimate settles an entry. Disagreement does not: ``deep`` examines the entry with all windows,
other nodes, from both sides and at locations close by, before it calls the entry wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import Findings, State
from slangad.compiler.check.reference.deep import DeepComparison
from slangad.compiler.check.reference.differences import Slices, deep_estimate, measure
from slangad.compiler.check.reference.slack import entry_slack
from slangad.compiler.check.reference.stencil import central

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.reference.function import ExaminedFunction
    from slangad.compiler.report.model import Leg


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
    slices = _slices(function, samples, which[pairs[:, 0]], pairs[:, 1])
    ladder = measure(function.evaluate, slices, tol.SCREEN_LEVELS, central())
    shape = (len(tol.SCREEN_LEVELS), len(which), values.shape[1], len(function.inputs))
    slope, bar = np.full(shape, np.nan), np.full(shape, np.inf)
    for level in range(len(tol.SCREEN_LEVELS)):
        slope[level, pairs[:, 0], :, pairs[:, 1]] = ladder.slope[:, level]
        bar[level, pairs[:, 0], :, pairs[:, 1]] = ladder.bar[:, level]
    findings.looked[which[pairs[:, 0]], pairs[:, 1]] = True
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
    return np.concatenate(parts)


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
    slices = _slices(function, samples, pairs[:, 0], pairs[:, 1])
    ladder, estimate = deep_estimate(function.evaluate, slices, function.noise[pairs[:, 0]])
    DeepComparison(function, samples, values, jacobians, findings, pairs, slices, ladder, estimate).settle()


def _slices(function: ExaminedFunction, samples: Samples, which: Indices, places: Indices) -> Slices:
    columns = function.inputs[places]
    return Slices(samples.rows[which], columns, samples.scales[which, columns])
