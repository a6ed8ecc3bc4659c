"""Compare reverse mode of a function with clipped gradients with its forward mode, which is clipped here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.run.derivative import ModeDerivative
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Compared
    from slangad.compiler.ir.nodes import ClipGradient


def compare_clipped(context: LegContext) -> Compared:
    """Compare the gradients of a function whose policy clips them."""
    if context.plan.clip is None:
        return _compare_limit(context, context.plan.limit or np.inf)
    columns = [context.f64.inputs.columns[k] for k in context.f64.inputs.differentiable]
    with np.errstate(all="ignore"):
        expected = _clipped(context.jacobians[Leg.FORWARD], [column.path for column in columns], context.plan.clip)
        actual = ModeDerivative(context.f64, Leg.REVERSE)(context.rows)
        slack = tol.LEG_CONSTANTS * context.findings.share * np.abs(expected)
        slack = slack + tol.CLIPPED_CLOSE * np.nanmax(np.abs(expected), initial=0.0)
    numbers, certain = Numbers(actual, expected, slack), context.agreed
    wrong = certain & numbers.apart()
    return compared_numbers(Leg.INTENT, numbers, certain, wrong, "the gradient is not the clipped one")


def _compare_limit(context: LegContext, limit: float) -> Compared:
    """Compare the size of gradients with the limit that a line in Slang declares."""
    actual = context.jacobians[Leg.REVERSE]
    certain = np.isfinite(actual)
    expected = np.clip(actual, -limit, limit)
    numbers = Numbers(actual, expected, np.full(actual.shape, context.findings.share * limit))
    return compared_numbers(Leg.INTENT, numbers, certain, certain & numbers.apart(), "the gradient is not clipped")


def _clipped(jacobian: Floats, paths: list[str], clip: ClipGradient) -> Floats:
    """Return a Jacobian with the gradient of every parameter clipped."""
    if clip.limit is not None:
        return np.clip(np.nan_to_num(jacobian, nan=0.0, posinf=np.inf, neginf=-np.inf), -clip.limit, clip.limit)
    clipped, owners = jacobian.copy(), [re.split(r"[.\[]", path)[0] for path in paths]
    if clip.norm is not None:
        for owner in dict.fromkeys(owners):
            columns = [k for k, name in enumerate(owners) if name == owner]
            size = np.sqrt((clipped[:, :, columns] ** 2).sum(axis=2, keepdims=True))
            clipped[:, :, columns] *= np.minimum(1.0, clip.norm / np.where(size > 0, size, 1.0))
    return clipped
