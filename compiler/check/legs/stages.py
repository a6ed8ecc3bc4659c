"""Compare a pipeline with neighbouring stages joined, as users run it, with its stages run separately."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.reference.median import known_median
from slangad.compiler.check.run.derivative import ModeDerivative
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.findings import Compared


def compare_stages(context: LegContext) -> Compared:
    """Compare the gradients of randomly weighted results of both."""
    findings, separate = context.findings, context.companions.apart
    assert separate is not None  # noqa: S101  (the table asks)
    joined = ModeDerivative(context.f64, Leg.REVERSE)
    rng = np.random.default_rng([context.seed, 12])
    weights = rng.normal(size=(len(context.rows), len(joined.weighted.differentiable)))
    cotangents = joined.all_columns(weights)
    with np.errstate(all="ignore"):
        actual = joined.along(context.rows, cotangents)
        expected = separate.gradients(context.rows, cotangents)[:, context.f64.inputs.differentiable]
        size = np.fmax(np.abs(actual), np.abs(expected))
        slack = tol.LEG_CONSTANTS * tol.CONSTANTS * (size + tol.USUAL_SHARE * known_median(size)) + tol.UNDERFLOW
        slack += tol.LEG_DOUBT * (np.abs(weights)[:, :, None] * findings.grain).sum(axis=1)
        numbers = Numbers(actual, expected, slack)
        certain = np.broadcast_to(findings.guarded[:, None] & ~findings.jumps[:, None], actual.shape)
        wrong = certain & numbers.apart() & np.isfinite(expected)
    return compared_numbers(
        Leg.JOINED, numbers, certain, wrong, "joining neighbouring stages changes the gradient", weights
    )
