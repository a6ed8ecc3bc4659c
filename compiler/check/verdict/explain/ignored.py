"""Note where a declared derivative differs from the function's own slope."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.differences import Slices, measure
from slangad.compiler.check.reference.stencil import central
from slangad.compiler.report.model import Note, NoteKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.check.model.findings import Findings
    from slangad.compiler.check.model.functions import RowFunction
    from slangad.compiler.check.model.samples import Samples


def ignored(runner: RowFunction, samples: Samples, findings: Findings) -> Iterator[Note]:
    """Yield a note for each input whose declared gradient differs from the function's own, with the worst sample."""
    inputs, outputs = runner.inputs.differentiable, runner.results.differentiable
    which = np.flatnonzero(findings.finite)[: tol.IGNORED_SAMPLES]
    if not len(which) or not inputs:
        return
    sample, column = np.repeat(which, len(inputs)), np.tile(np.array(inputs), len(which))
    places = Slices(samples.rows[sample], column, samples.scales[sample, column])
    slopes = measure(lambda rows, _: runner.values(rows)[:, outputs], places, tol.EXPLAIN_LEVELS, central())
    shape = (len(which), len(inputs), len(outputs))
    slopes_here, bar = (a[:, 0].reshape(shape).transpose(0, 2, 1) for a in (slopes.slope, slopes.bar))
    declared, doubt = findings.expected[which], findings.error[which]
    with np.errstate(all="ignore"):
        gap = np.abs(slopes_here - declared)
        certain = gap > tol.EXPLAIN_BARS * (bar + doubt) + tol.IGNORED_CLOSE * np.abs(slopes_here)
    gap = np.where(certain & np.isfinite(gap), gap, 0.0)
    for entry in np.argsort(-gap.max(axis=(0, 1)), kind="stable")[: tol.IGNORED_SHOWN]:
        if gap[:, :, entry].max(initial=0.0) > 0.0:
            place, row = np.unravel_index(int(gap[:, :, entry].argmax()), gap.shape[:2])
            name, result = runner.inputs.columns[inputs[entry]].path, runner.results.columns[outputs[int(row)]].path
            truth, kept = slopes_here[place, row, entry], declared[place, row, entry]
            message = f"d {result} / d {name} is {truth:.6g} and declared to be {kept:.6g}"
            yield Note(NoteKind.STOP, message, int(which[place]))
