"""A function whose derivatives are compared with the reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.slack import without_clip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Floats, Indices
    from slangad.compiler.check.model.functions import Evaluate, JacobianOf
    from slangad.compiler.report.model import Leg


@dataclass(frozen=True, slots=True)
class ExaminedFunction:
    """A function whose derivatives are compared with the reference.

    Attributes:
        evaluate: The differentiable results of rows of inputs.
        inputs: The differentiable columns.
        derivatives: The Jacobians of each mode at other rows.
        noise: Rounding of the values, relative, shape (samples, results).
        seed: That of choices among pairs of sample and input.
        most_pairs: Pairs to screen, at most.
        most_deep: Pairs to examine with all windows, at most.
        share: The relative tolerance of derivatives.
        is_long: True if it takes long: windows are then measured only as far as they are needed.
        limits: The size to which a mode clips derivatives, by mode.
    """

    evaluate: Evaluate
    inputs: Indices
    derivatives: Mapping[Leg, JacobianOf]
    noise: Floats
    seed: int = 0
    most_pairs: int = tol.PAIRS
    most_deep: int = tol.DEEP
    share: float = tol.CONSTANTS
    limits: Mapping[Leg, float] = field(default_factory=dict)
    is_long: bool = False

    def unclipped(self, mode: Leg, entries: Floats, slopes: Floats) -> Floats:
        """Return entries of a mode with the slopes in place of those that its clip explains."""
        limit = self.limits.get(mode)
        return entries if limit is None else without_clip(entries, slopes, limit, self.share)
