"""The state of a run in Python: the thread's index in its domain, and the probes reached so far."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

Meet = Callable[[str, object], tuple[list[object], int]]


@dataclass(slots=True)
class Activation:
    """One call from outside, or one thread of a kernel.

    Attributes:
        index: The thread's index in the domain; empty outside kernels.
        domain: The domain's shape; empty outside kernels.
        probes: Names of probes reached.
        meet: Gives a value to the group, and returns those of all its threads and the own place among them; None where
            threads run one after another.
    """

    index: tuple[int, ...] = ()
    domain: tuple[int, ...] = ()
    meet: Meet | None = None
    probes: set[str] = field(default_factory=set)


_CURRENT: Final[ContextVar[Activation | None]] = ContextVar("slangad_activation", default=None)


@contextmanager
def activation(index: tuple[int, ...] = (), domain: tuple[int, ...] = (), meet: Meet | None = None) -> Iterator[None]:
    """Start a run for the block; its arithmetic follows IEEE without warnings."""
    token = _CURRENT.set(Activation(index, domain, meet))
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def outermost() -> Iterator[None]:
    """Start a run for the block unless a run is active."""
    if _CURRENT.get() is not None:
        yield
        return
    with activation():
        yield


def running() -> bool:
    """Return True if a described function runs."""
    return _CURRENT.get() is not None


def note_probe(name: str) -> None:
    """Record that a probe was reached.

    Raises:
        DescriptionError: if it was reached before in this run.
    """
    current = _CURRENT.get()
    if current is None:
        return
    if name in current.probes:
        raise DescriptionError(
            f"probe {name!r} is reached twice by one thread", "use a different name at each location"
        )
    current.probes.add(name)


def meet(word: str, value: object) -> tuple[list[object], int]:
    """Return the values that all threads of the group give to ``sa.word``, and the own place among them.

    Raises:
        DescriptionError: outside the body of a kernel.
    """
    current = _CURRENT.get()
    if current is None or current.meet is None:
        raise DescriptionError(f"sa.{word} is used outside a kernel", "call it in the body of the kernel")
    return current.meet(word, value)


def thread(word: str, axis: object) -> tuple[int, int]:
    """Return the thread's index along an axis and the domain's size there.

    Raises:
        DescriptionError: outside a kernel, or for an axis the kernel has not.
    """
    current = _CURRENT.get()
    if current is None or not current.domain:
        raise DescriptionError(f"sa.{word} is used outside a kernel", "pass the index to the function")
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not 0 <= axis < len(current.domain):
        raise DescriptionError(f"axis {axis} of sa.{word} in a kernel of {len(current.domain)} dims")
    return np.int32(current.index[axis]), np.int32(current.domain[axis])  # type: ignore[return-value]  # strong ints
