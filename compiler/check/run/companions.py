"""Companions of a subject: its twins and other builds, ready to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check.model.integers import NO_INTEGERS, Integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.check.model.functions import Bounded, Inside, Oracle, RowFunction, Watch
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.run.launch import WholeRunner
    from slangad.compiler.check.run.thread import Runner

    Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches of one kernel at any size.

    Attributes:
        extents: The shapes for a domain, or why there are none.
        wide: The float64 twin for a size; ``narrow`` float32, on the device that is asked for.
        thread: What one thread does, in float64, where threads share no tensors.
        single: The same in float32, where ``narrow`` runs.
        means: The results that are averaged.
        integers: Among them those that must differ from thread to thread.
        reach: For a size, what tells whether launches stay inside their tensors and arrays, where threads share some.
    """

    extents: Callable[[Shape], Extents | str]
    wide: Callable[[Extents], WholeRunner]
    narrow: Callable[[Extents], RowFunction | None]
    thread: Runner | None
    single: Runner | None
    dims: int
    integers: Integers = NO_INTEGERS
    reach: Callable[[Extents], Inside] | None = None


@dataclass(frozen=True, slots=True)
class Companions:
    """Relatives of a subject.

    Attributes:
        oracle: Has frozen parts (see ``intent``).
        watch: Minds loops (see ``bounds``).
        device: The same in float32 on a device other than the CPU, or why that doesn't take it.
        reach: Tells whether a launch stays inside its tensors (see ``reach``).
        launches: Of the kernel itself, where it adds something up.
        apart: A pipeline with every stage by itself, where it is run with some of them joined.
        arrays: Of what is no launch: tells whether indices stay inside arrays.
    """

    oracle: Oracle | None = None
    watch: Watch | None = None
    device: RowFunction | str | None = None
    reach: Bounded | None = None
    launches: Launches | None = None
    apart: RowFunction | None = None
    arrays: Inside | None = None
