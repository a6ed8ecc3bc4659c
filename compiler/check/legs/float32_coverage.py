"""Count how far float32 was tested: samples that were compared, and the others by reason."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.findings import State
from slangad.compiler.report.model import Float32, LeftAside

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Bools
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.report.model import Leg

_REASONS: Final = {
    State.WRONG: "wrong in float64 already",
    State.KINK_BAD: "wrong in float64 already",
    State.UNGUARDED: "not finite derivatives in float64",
    State.JUMP: "at a kink or a jump",
    State.KINK: "at a kink or a jump",
    State.UNDECIDED: "undecided in float64",
    State.OK: f"with derivatives above {tol.LARGEST_F32:g}",
    State.UNSEEN: "not looked at in float64",
}


def coverage(findings: Findings, mode: Leg, certain: Bools) -> Float32:
    """Return the number of samples of which an entry was compared in float32, and the others by reason."""
    compared = np.asarray(certain.any(axis=(1, 2)))
    states = findings.states[mode].reshape(len(compared), -1)
    counts: dict[str, int] = {}
    for sample in np.flatnonzero(~compared):
        if not findings.finite[sample]:
            reason = "not finite in float64"
        else:
            reason = _REASONS[State(int(states[sample].max(initial=int(State.UNSEEN))))]
        counts[reason] = counts.get(reason, 0) + 1
    left = tuple(LeftAside(number, reason) for reason, number in sorted(counts.items()))
    return Float32("cpu", int(compared.sum()), int(certain.sum()), left)


def with_samples_left_out(covered: Float32 | None, count: int) -> Float32 | None:
    """Return the coverage with samples that did not run on a device."""
    if covered is None or not count:
        return covered
    return replace(covered, left=(*covered.left, LeftAside(count, "not run: on a device, launches take a while")))
