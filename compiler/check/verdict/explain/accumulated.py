"""Name the mistake in the gradient of memory: what a derivative adds to the memory that accumulates it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import owner_of
from slangad.compiler.check.verdict.explain.causes import with_failures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.report.model import Failure, Result

_NOTHING: Final = "nothing is added to '{gradient}', the gradient of '{memory}'"
_ELSEWHERE: Final = "the gradient of '{memory}' is added to other elements of '{gradient}'"
_TWICE: Final = "the gradient of '{memory}' is added to '{gradient}' twice"
_MISSING: Final = "an addition to '{gradient}', the gradient of '{memory}', is missing"


def with_accumulated(result: Result, memory: Mapping[str, str]) -> Result:
    """Return a result whose failures name what is wrong with additions to memory.

    Args:
        result: The result of a function of a Slang file.
        memory: The memory in which gradients accumulate, by the memory that they belong to.
    """
    return with_failures(
        result, [replace(failure, cause=_cause(failure, memory) or failure.cause) for failure in result.failures]
    )


def _cause(failure: Failure, memory: Mapping[str, str]) -> str:
    owner, jacobian = owner_of(failure.column), failure.jacobian
    if owner not in memory or jacobian is None or failure.row not in jacobian.rows:
        return ""
    row = jacobian.rows.index(failure.row)
    columns = [k for k, path in enumerate(jacobian.columns) if owner_of(path) == owner]
    found, expected = (np.array(part[row])[columns] for part in (jacobian.found, jacobian.expected))
    if not np.isfinite(found).all() or not np.isfinite(expected).all():
        return ""
    return _mistake(found, expected).format(memory=owner, gradient=memory[owner])


def _mistake(found: Floats, expected: Floats) -> str:
    close = tol.CAUSE_CLOSE * float(np.abs(expected).max(initial=0.0))

    def same(one: Floats, other: Floats) -> bool:
        return bool(np.all(np.abs(one - other) <= close))

    if not found.any():
        return _NOTHING
    if same(np.sort(found), np.sort(expected)):
        return _ELSEWHERE
    if same(found, 2.0 * expected):
        return _TWICE
    return _MISSING if same(found, np.where(found == 0.0, 0.0, expected)) else ""
