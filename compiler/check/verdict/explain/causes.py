"""Name the likely cause of a wrong Jacobian from the right one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.check import tolerances as tol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.report.model import Failure, Result

NOT_DIFFERENTIABLE: Final = "is not IDifferentiable"
_SIGNS: Final = 3
"""Inputs that one message names."""
FACTOR: Final = "a factor of"
SOME_SAMPLES: Final = "at some samples"
NEVER_STORED: Final = "a local variable is read that this path never stores"


def with_failures(result: Result, failures: Sequence[Failure]) -> Result:
    """Return a result with other failures, one for each of its own. Its reason names the cause of the new one."""
    reason = result.reason
    for old, new in zip(result.failures, failures, strict=True):
        if old.cause and reason.endswith(old.cause):
            reason = reason.removesuffix(old.cause) + new.cause
    return replace(result, failures=tuple(failures), reason=reason)


def likely_cause(
    found: Floats,
    expected: Floats,
    names: Sequence[str],
    groups: Sequence[str],
    entry: int,
    accused: npt.NDArray[np.bool_] | None = None,
) -> str:
    """Name the likely cause of wrong gradients of one input.

    Args:
        found: The leg's slopes by samples and inputs, of one result; NaN where not known.
        expected: The oracle's.
        names: The inputs' paths.
        groups: The value of which each input is a component.
        entry: The wrong input.
        accused: The samples at which it is known to be wrong. A wrong entry may be tiny beside others.
    """
    mine, right = found[:, entry], expected[:, entry]
    if np.any(np.isfinite(mine) & (np.abs(mine) > tol.NEVER_STORED) & (np.abs(right) < tol.NEVER_STORED)):
        return NEVER_STORED
    known = np.isfinite(mine) & np.isfinite(right)
    if not known.any():
        return "the derivative is not a number" if not np.isfinite(mine).any() else ""
    counted = np.isfinite(right) if accused is None else np.isfinite(right) & accused
    if not np.isfinite(mine[counted]).all():
        return "the derivative is not a number"
    mine, right = mine[known], right[known]
    size = float(np.abs(right).max())
    if size == 0.0:
        return "the result does not depend on this input, but the derivative says so"
    wrong = np.abs(mine - right) > tol.CAUSE_CLOSE * size
    if accused is not None:
        wrong |= accused[known] & (np.abs(mine - right) > 0.0)
    if wrong.any() and np.all(mine[wrong] == 0.0):
        return _nothing(mine, wrong, right)
    return _swapped(found[known], expected[known], names, groups, entry) or _scaled(mine, right, wrong, size)


def cause_of_cotangent(found: float, slopes: Floats, cotangent: Sequence[float]) -> str:
    """Name the likely cause if the gradient for a cotangent is not the weighted sum of the results' gradients.

    Args:
        found: One input's gradient for the cotangent.
        slopes: The same input's gradients for cotangents of one result each, which are right.
        cotangent: One number for each result.
    """
    weights = np.asarray(cotangent)
    close = tol.CAUSE_CLOSE * float(np.abs(slopes).sum())
    if abs(found - float(slopes.sum())) <= close and close > 0.0:
        return "the cotangent is not used: the gradient is the one for a cotangent of 1"
    if abs(found - float((np.abs(weights) * slopes).sum())) <= close * float(np.abs(weights).max()):
        return "the cotangent's sign is lost"
    return "the gradient is not proportional to the cotangent"


def common_signs(rows: Floats, names: Sequence[str], wrong: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_]) -> str:
    """Return the inputs that have one sign at all wrong samples, in words; empty if there is none.

    Args:
        rows: The inputs by sample.
        names: The inputs' paths.
        wrong: The samples at which an entry is wrong.
        right: The samples at which it is right. The other sign of an input has enough of them.
    """
    if wrong.sum() < tol.SIGN_SAMPLES:
        return ""
    signs: list[str] = []
    for values, name in zip(rows.T, names, strict=True):
        bad, good = values[wrong], values[right]
        for word, has in (("<", bad < 0.0), (">", bad > 0.0)):
            others = good >= 0.0 if word == "<" else good <= 0.0
            if has.all() and others.sum() >= tol.SIGN_SAMPLES:
                signs.append(f"{name} {word} 0")
    if not signs or len(signs) > _SIGNS:
        return ""
    return f"all {wrong.sum()} wrong samples have {' and '.join(signs)}: declare ranges if that never happens"


def _nothing(mine: Floats, wrong: npt.NDArray[np.bool_], right: Floats) -> str:
    if not np.any(mine):
        return "no gradient reaches this input: a missing term, detach, a cast or a parameter that was forgotten"
    if wrong.sum() < (right != 0.0).sum():
        return f"no gradient reaches this input {SOME_SAMPLES}: one branch or one index is forgotten"
    return "no gradient reaches this input"


def _swapped(found: Floats, expected: Floats, names: Sequence[str], groups: Sequence[str], entry: int) -> str:
    mine = found[:, entry]
    for other in range(expected.shape[1]):
        theirs = expected[:, other]
        if other == entry or not np.isfinite(theirs).all() or not _same(mine, theirs):
            continue
        if groups[other] == groups[entry] and "][" in names[entry]:
            return f"it is the gradient of {names[other]}: a transposed matrix or swapped indices"
        return f"it is the gradient of {names[other]}: swapped arguments"
    return ""


def _scaled(mine: Floats, right: Floats, wrong: npt.NDArray[np.bool_], size: float) -> str:
    if _same(mine, -right):
        return "the sign is wrong"
    if wrong.any() and wrong.sum() < len(wrong) and _same(mine[wrong], -right[wrong]):
        return f"the sign is wrong {SOME_SAMPLES}: in one branch, or a missing absolute value"
    factor = _factor(mine[wrong], right[wrong])
    if factor is not None:
        close = tol.CAUSE_CLOSE * np.abs(right) + tol.CAUSE_ZERO * tol.CAUSE_CLOSE * size
        everywhere = np.all(np.abs(mine - factor * right) <= close)
        return f"{FACTOR} {_number(factor)}" + ("" if everywhere else f" {SOME_SAMPLES}: in one branch or at an edge")
    difference = mine - right
    if len(difference) > 2 and np.ptp(difference) <= tol.CAUSE_CLOSE * float(np.abs(difference).max()):
        return f"a constant term of {_number(float(np.median(difference)))} too much"
    if (~wrong).sum() >= max(2, wrong.sum()):
        return f"wrong {SOME_SAMPLES} only: one branch, one index or the edge of a loop"
    return "a missing or a wrong term"


def _factor(mine: Floats, right: Floats) -> float | None:
    """Return the common factor of all wrong slopes, if there is one."""
    size = float(np.abs(right).max(initial=0.0))
    big = np.abs(right) > tol.CAUSE_BIG * size
    if big.sum() < 2:
        return None
    ratios = mine[big] / right[big]
    factor = float(np.median(ratios))
    spread = min(tol.CAUSE_CLOSE * abs(factor), tol.CAUSE_FACTOR * abs(factor - 1.0))
    return factor if np.ptp(ratios) <= spread else None


def _same(a: Floats, b: Floats) -> bool:
    size = float(np.abs(b).max(initial=0.0))
    return size > 0.0 and bool(np.all(np.abs(a - b) <= tol.CAUSE_CLOSE * size))


def _number(value: float) -> str:
    near = next((s for s in tol.SIMPLE_FACTORS if abs(value - s) <= tol.CAUSE_CLOSE * s), None)
    if near is not None:
        return f"{near:.3g}"
    return f"{value:.6g}" if abs(value - 1.0) > tol.CAUSE_CLOSE else f"{value:.9g}"
