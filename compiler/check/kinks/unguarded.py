"""Mark derivatives that are not finite at zeros, ties and ends of inputs that nobody declared a range for.

Such inputs are drawn to look for trouble. It is unknown if they occur in use, so such a derivative is no error.
If some derivatives of a result are NaN there, its other derivatives are no errors either: a number on the way to the
result is probably NaN, and `max` or a comparison drops it. So the colour `max(dot(normalize(d), c) + c0, 0)` is 0 at
`d = 0`, and reverse mode gives half of the slope for `c0`, since `max` takes NaN for a tie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.model.findings import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.report.model import Leg


def mark_unguarded(samples: Samples, jacobians: Mapping[Leg, Floats], findings: Findings) -> None:
    """Mark entries that are not finite where the values are, at samples with degenerate inputs.

    Wrong entries in a row that has NaN are marked, too.
    """
    where = (samples.degenerate.any(axis=1) & findings.finite)[:, None, None]
    for mode, states in findings.states.items():
        jacobian = jacobians[mode]
        accused = np.isin(states, (State.WRONG, State.KINK_BAD)) & np.isnan(jacobian).any(axis=2, keepdims=True)
        states[where & (accused | ~np.isfinite(jacobian))] = State.UNGUARDED
