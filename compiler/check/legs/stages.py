"""Comparisons of pipelines that need no oracle: as they are run, against every stage by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.legs import compared
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Compared, Findings
    from slangad.compiler.check.model.functions import RowFunction


def compare_joined(joined: RowFunction, apart: RowFunction, rows: Floats, findings: Findings, seed: int) -> Compared:
    """Gradients of randomly weighted results of a pipeline as it is run, against those with every stage by itself."""
    rng = np.random.default_rng([seed, 12])
    outputs, inputs = joined.results.differentiable, joined.inputs.differentiable
    cotangents = np.zeros((len(rows), len(joined.results.columns)))
    cotangents[:, outputs] = weights = rng.normal(size=(len(rows), len(outputs)))
    with np.errstate(all="ignore"):
        mine, wanted = (runner.gradients(rows, cotangents)[:, inputs] for runner in (joined, apart))
        size = np.fmax(np.abs(mine), np.abs(wanted))
        slack = tol.LEG_CONSTANTS * tol.CONSTANTS * (size + tol.USUAL_SHARE * known_median(size)) + tol.UNDERFLOW
        slack += tol.LEG_DOUBT * (np.abs(weights)[:, :, None] * findings.grain).sum(axis=1)
    certain = np.broadcast_to(findings.finite[:, None] & ~findings.jumps[:, None], mine.shape)
    wrong = certain & ~(np.abs(mine - wanted) <= slack) & np.isfinite(wanted)
    message = "joining neighbouring stages changes the gradient"
    return compared(Leg.JOINED, (mine, wanted, slack), certain, wrong, message, weights)
