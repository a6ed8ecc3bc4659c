"""Bounded loops, ``sa.range`` and its kin, and the thread's index in its domain, ``sa.thread_id``."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.lang.errors import DescriptionError, LoopBoundExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """A range with a bound on its trip count; iterating past the bound raises ``LoopBoundExceeded``."""

    indices: builtins.range
    max_iters: int | None = None
    unroll: bool = False
    keep: int | None = None

    def __iter__(self) -> Iterator[int]:
        for iteration, value in enumerate(self.indices):
            if self.max_iters is not None and iteration >= self.max_iters:
                raise LoopBoundExceeded(f"the loop takes {len(self.indices)} iterations, its bound is {self.max_iters}")
            yield value

    def __len__(self) -> int:
        return len(self.indices)

    def __reversed__(self) -> Iterator[int]:
        return iter(BoundedRange(self.indices[::-1], self.max_iters, self.unroll, self.keep))


def range(  # noqa: A001  (reads sa.range)
    *bounds: int,
    max_iters: int | None = None,
    unroll: bool = False,
    keep: int | None = None,
    inverse: Callable[..., object] | None = None,  # noqa: ARG001  (reverse mode reads it)
) -> BoundedRange:
    """Return Python's range with a bound for Slang.

    Args:
        *bounds: As of ``range``: stop, or start and stop, or start, stop and step.
        max_iters: The largest number of iterations; needed if the bounds are known only at run time.
        unroll: True if Slang should unroll the loop.
        keep: Reverse mode keeps the state of every ``keep``-th iteration and computes the others again. With 0 it keeps
            none, and finds each state from the one after it. By default slangad chooses.
        inverse: A described function that gives the state before an iteration from the state after it. Its parameters
            are named like locals of the loop; it returns the earlier values of those that an iteration changes.

    Raises:
        DescriptionError: when the bound is not a positive integer, or ``keep`` is negative.
    """
    if keep is not None and keep < 0:
        raise DescriptionError(f"keep= is {keep}, not at least 0")
    if max_iters is not None:
        max_iters = _bound("max_iters=", max_iters)
    return BoundedRange(builtins.range(*(int(b) for b in bounds)), max_iters, bool(unroll), keep)


def group_range(*bounds: int, max_iters: int | None = None) -> BoundedRange:
    """Return ``sa.range(…)`` of a loop that a group should run together: it reads once what its threads share.

    Results are those of ``sa.range``, except for rounding. A note (SA310) says why a group does not run it together.

    Args:
        *bounds: As of ``range``: stop, or start and stop, or start, stop and step.
        max_iters: The largest number of iterations; needed if the bounds are known only at run time.

    Raises:
        DescriptionError: when the bound is not a positive integer.
    """
    return range(*bounds, max_iters=max_iters)


def max_iters(n: int) -> bool:
    """Bound a loop to ``n`` iterations: ``while sa.max_iters(n) and …``. Return True; the loop counts.

    Raises:
        DescriptionError: when the bound is not a positive integer.
    """
    _bound("the bound of sa.max_iters", n)
    return True


def _bound(what: str, value: object) -> int:
    try:
        bound = int(value.__index__())  # type: ignore[attr-defined]  # checked by the except
    except (AttributeError, TypeError):
        raise DescriptionError(f"{what} is {value!r}, not an integer") from None
    if bound < 1:
        raise DescriptionError(f"{what} is {bound}, not at least 1")
    return bound


def thread_id(axis: int = 0) -> int:
    """Return the index of this thread along an axis of the kernel's domain.

    Raises:
        DescriptionError: outside a kernel, or for an axis the kernel has not.
    """
    from slangad.compiler.lang.activation import thread

    return thread("thread_id", axis)[0]


def thread_count(axis: int = 0) -> int:
    """Return the size of the kernel's domain along an axis.

    Raises:
        DescriptionError: outside a kernel, or for an axis the kernel has not.
    """
    from slangad.compiler.lang.activation import thread

    return thread("thread_count", axis)[1]


def static_assert(condition: object, message: str = "static_assert failed") -> None:
    """Check a condition that is known when the file is loaded.

    Raises:
        DescriptionError: with the message, when the condition does not hold.
    """
    if not condition:
        raise DescriptionError(message)


__all__ = ["group_range", "max_iters", "range", "static_assert", "thread_count", "thread_id"]
