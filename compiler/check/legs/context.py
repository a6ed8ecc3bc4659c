"""Define the input of every leg: one subject at its samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.model.findings import State, part_of
from slangad.compiler.check.model.samples import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Bools, Floats, Indices
    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.samples import Samples
    from slangad.compiler.check.run.companions import Companions
    from slangad.compiler.report.model import Leg


@dataclass(frozen=True, slots=True)
class LegContext:
    """One subject at its samples.

    Attributes:
        f64: The subject in float64.
        f32: The subject in float32 on the CPU; None if it does not compile.
        jacobians: Those of reverse and forward mode in float64, as far as they exist.
        findings: The outcome of their comparison with the reference.
    """

    plan: SubjectPlan
    f64: RowFunction
    f32: RowFunction | None
    companions: Companions
    samples: Samples
    jacobians: Mapping[Leg, Floats]
    findings: Findings

    @property
    def rows(self) -> Floats:
        """Return the inputs at the samples."""
        return self.samples.rows

    @property
    def seed(self) -> int:
        """Return the seed of random weights."""
        return self.plan.seed

    @property
    def agreed(self) -> Bools:
        """Return True for entries that agree with the reference in every mode."""
        return np.asarray(np.all([states == State.OK for states in self.findings.states.values()], axis=0))

    def at(self, some: Indices) -> LegContext:
        """Return the context with some of the samples, in ascending order."""
        kept = np.zeros(len(self.rows), bool)
        kept[some] = True
        jacobians = {mode: jacobian[some] for mode, jacobian in self.jacobians.items()}
        findings = part_of(self.findings, some)
        return replace(self, samples=chosen(self.samples, kept), jacobians=jacobians, findings=findings)
