"""Groups of threads in Python: the threads of a block of the domain run in step where they compute together.

Each has a thread of Python's. One runs at a time: it runs until it gives a value to the group, then the next one runs.
"""

from __future__ import annotations

import itertools
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad.compiler.ir.types import Tensor
from slangad.compiler.lang.decorators.groups import GROUP_OPERATIONS, Shared, barrier
from slangad.compiler.lang.errors import AnnotationError, DescriptionError
from slangad.compiler.lang.execution.elements import dtype_of, trailing_shape
from slangad.compiler.lang.execution.memories import TensorArgument
from slangad.compiler.lang.types.annotations import ir_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FunctionType

    from slangad.compiler.lang.activation import Meet

Index = tuple[int, ...]
_WORDS: Final = {**GROUP_OPERATIONS, "barrier": barrier, "Shared": Shared}


def memory(parts: object) -> TensorArgument:
    """Return the memory of a group for what stands in the brackets of ``Shared``: a type, then sizes.

    Raises:
        AnnotationError: for anything else.
    """
    annotation, *sizes = parts if isinstance(parts, tuple) else (parts,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n > 0 for n in sizes)
    if not sizes or not whole:
        raise AnnotationError("Shared needs a type and sizes", "write sa.Shared[float, 64]()")
    element, extents = ir_type(annotation), tuple(int(n) for n in sizes)
    array = np.zeros((*extents, *trailing_shape(element)), dtype_of(element))
    return TensorArgument(array, Tensor(element, len(extents), reads=True, writes=True, extents=extents), "Shared")


def computes_together(function: FunctionType) -> bool:
    """Return True if the body of a kernel has a word for what the threads of a group compute together."""
    words = _WORDS.values()
    named = (function.__globals__.get(name) for name in function.__code__.co_names)
    held = (cell.cell_contents for cell in function.__closure__ or ())
    return bool({*_WORDS} & {*function.__code__.co_names}) or any(
        value is word for value in (*named, *held) for word in words
    )


def blocks_of(domain: Index, extents: Index) -> Iterator[list[Index]]:
    """Yield the elements of each block of a domain, in the order of the threads of a group."""
    starts = (range(0, size, extent) for size, extent in zip(domain, extents, strict=True))
    for start in itertools.product(*starts):
        axes = (range(s, min(s + e, n)) for s, e, n in zip(start, extents, domain, strict=True))
        yield list(itertools.product(*axes))


def run_in_step(elements: Sequence[Index], run: Callable[[Index, Meet], None]) -> None:
    """Run the threads of a group, each on its element."""
    group = _Group(elements, run)
    threads = [threading.Thread(target=copy_context().run, args=(group.go, own)) for own in range(len(elements))]
    for thread in threads:
        thread.start()
    group.turns[0].release()
    for thread in threads:
        thread.join()
    if group.error is not None:
        raise group.error


class _Group:
    """The threads of a group, one of which runs at a time."""

    def __init__(self, elements: Sequence[Index], run: Callable[[Index, Meet], None]) -> None:
        self.elements = elements
        self.run = run
        self.turns = [threading.Semaphore(0) for _ in elements]
        self.given: list[list[tuple[str, object]]] = [[] for _ in elements]
        self.running = [True for _ in elements]
        self.error: BaseException | None = None

    def go(self, own: int) -> None:
        """Run a thread when it is its turn."""
        self.turns[own].acquire()
        try:
            if self.error is None:
                self.run(self.elements[own], lambda word, value: self._meet(own, word, value))
        except BaseException as error:
            self.error = self.error or error
        self.running[own] = False
        self._pass_on(own)

    def _meet(self, own: int, word: str, value: object) -> tuple[list[object], int]:
        at = len(self.given[own])
        self.given[own].append((word, value))
        self._pass_on(own)
        self.turns[own].acquire()
        if self.error is not None:
            raise _Ended
        met = [given[at] for given in self.given if len(given) > at and given[at][0] == word]
        if len(met) < len(self.elements):
            raise DescriptionError(f"not all threads of the group come by sa.{word}", "call it where all of them do")
        return [value for _, value in met], own

    def _pass_on(self, own: int) -> None:
        """Let the next thread run that has not ended."""
        for step in range(1, len(self.turns) + 1):
            following = (own + step) % len(self.turns)
            if self.running[following]:
                self.turns[following].release()
                return


class _Ended(Exception):  # noqa: N818  (nobody sees it)
    """Another thread of the group has failed."""
