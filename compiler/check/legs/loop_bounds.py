"""Compare loops with their bounds, by a twin that reports if a loop would run longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.twins.loop_bounds import BEYOND, EXCEEDED
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.findings import Compared

_CUT_SHORT: Final = "a loop{} runs longer than its bound, so it is cut short"
_NO_MEMORY: Final = "a loop runs more iterations than [MaxIters] declares: reverse mode has no memory for the others"


def compare_bounds(context: LegContext) -> Compared:
    """Compare the number of iterations of every loop with its bound."""
    watch = context.companions.watch
    assert watch is not None  # noqa: S101  (the table asks)
    columns = [k for k, c in enumerate(watch.results.columns) if c.path.startswith(EXCEEDED)]
    paths = [watch.results.columns[k].path for k in columns]
    exceeded = watch.values(context.rows)[:, columns]
    any_sample = np.asarray(exceeded.any(axis=0))
    owners = (path.partition(" by ")[2] for path, over in zip(paths, any_sample, strict=True) if over)
    owner = next(owners, "")
    message = _NO_MEMORY if BEYOND in paths else _CUT_SHORT.format(f" of {owner}" if owner else "")
    numbers = Numbers(exceeded, np.zeros_like(exceeded), np.full_like(exceeded, 0.5))
    return compared_numbers(
        Leg.BOUND, numbers, np.ones(exceeded.shape, bool), exceeded > 0.0, message, about_sample=True
    )
