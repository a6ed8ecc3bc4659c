"""Compare loops with their bounds, by a twin that reports if a loop would run longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check.legs.comparison import Numbers, compared_numbers
from slangad.compiler.check.twins.loop_bounds import BEYOND, EXCEEDED
from slangad.compiler.report.model import Leg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.check.legs.context import LegContext
    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.findings import Compared

_CUT_SHORT: Final = "{} runs longer than its bound, so it is cut short"
_NO_MEMORY: Final = "a loop runs more iterations than [MaxIters] declares: reverse mode has no memory for the others"


def compare_bounds(context: LegContext) -> Compared:
    """Compare the number of iterations of every loop with its bound."""
    watch = context.companions.watch
    assert watch is not None  # noqa: S101  (the table asks)
    columns = [k for k, c in enumerate(watch.results.columns) if c.path.startswith(EXCEEDED)]
    paths = [watch.results.columns[k].path for k in columns]
    exceeded = watch.values(context.rows)[:, columns]
    over = np.asarray(exceeded > 0.0)
    message = _NO_MEMORY if BEYOND in paths else _CUT_SHORT.format(_loop(paths, exceeded))
    numbers = Numbers(over.astype(np.float64), np.zeros_like(exceeded), np.full_like(exceeded, 0.5))
    return compared_numbers(Leg.BOUND, numbers, np.ones(over.shape, bool), over, message, about_sample=True)


def _loop(paths: Sequence[str], exceeded: Floats) -> str:
    """Return the words for the first loop that runs past its bound, with its line if its flag has one."""
    flag, column = next(((exceeded[k, c], c) for k, c in np.argwhere(exceeded > 0.0)), (1.0, 0))
    owner = "".join(paths[column : column + 1]).partition(" by ")[2]
    of = f" of {owner}" if owner else ""
    return f"the loop{of} in line {flag - 1.0:.0f}" if flag > 1.0 else f"a loop{of}"
