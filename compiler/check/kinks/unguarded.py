"""Mark derivatives that are not finite at zeros, ties and ends of inputs that nobody declared a range for.

Such inputs are drawn to look for trouble. It is unknown if they occur in use, so such a derivative is no error.
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
    """Mark entries that are not finite where the values are, at samples with degenerate inputs."""
    where = samples.degenerate.any(axis=1) & findings.finite
    for mode, states in findings.states.items():
        states[where[:, None, None] & ~np.isfinite(jacobians[mode])] = State.UNGUARDED
