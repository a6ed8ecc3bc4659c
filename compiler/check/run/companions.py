"""Represent a subject as functions: its builds in both precisions, and its companions.

A companion is a twin of the subject, or another build of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slangad.compiler.check.model.integers import NO_INTEGERS, Integers
from slangad.compiler.check.run.derivative import ModeDerivative

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Bools, Floats
    from slangad.compiler.check.model.columns import Column
    from slangad.compiler.check.model.functions import Bounded, Inside, Oracle, RowFunction, Watch
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.model.samples import FullLists
    from slangad.compiler.check.run.launch import LaunchRunner
    from slangad.compiler.check.run.on_device import LaunchOnDevice
    from slangad.compiler.check.run.thread import ThreadRunner
    from slangad.compiler.report.model import Leg

    Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches of one kernel at any size.

    Attributes:
        extents: Returns the shapes for a domain, or why there are none.
        f64: Returns the float64 twin for a size.
        f32: Returns float32 for a size, on the device that is asked for.
        by_runtime: Returns float32 for a size as the runtime launches it on the CPU; None if ``f32`` is on a device.
        thread: One thread alone in float64, where threads share no tensors.
        thread_f32: The same in float32, where ``f32`` runs.
        dims: Axes of the domain.
        integers: Integer parameters, among them those that must differ from thread to thread.
        inside: Returns for a size what finds indices outside tensors and arrays, where threads share some.
        group: The extents of a group whose threads compute together; empty where each computes alone.
        recording: Returns for a size the twin that records accesses to memory of groups; None without such memory.
    """

    extents: Callable[[Shape], Extents | str]
    f64: Callable[[Extents], LaunchRunner]
    f32: Callable[[Extents], RowFunction | None]
    by_runtime: Callable[[Extents], LaunchOnDevice | None]
    thread: ThreadRunner | None
    thread_f32: ThreadRunner | None
    dims: int
    integers: Integers = NO_INTEGERS
    inside: Callable[[Extents], Inside] | None = None
    group: Shape = ()
    recording: Callable[[Extents], LaunchRunner] | None = None


@dataclass(frozen=True, slots=True)
class Companions:
    """Twins of a subject, and other builds of it.

    Attributes:
        frozen: The twin that freezes declared parts (see ``twins.declared``).
        watch: The twin that watches loops (see ``twins.loop_bounds``).
        device: The subject in float32 on a device other than the CPU, or why that device does not take it.
        indices: The twin that records indices of a launch (see ``twins.index_ranges``).
        launches: The kernel as it is launched, where threads add something up.
        apart: A pipeline with every stage by itself, where neighbouring stages run joined.
        arrays: Finds indices outside arrays, where the subject is no launch.
        racing: The twin whose derivative runs two threads before gradients are read from memory.
        waving: The twin whose derivative runs the lanes of a wave before that.
    """

    frozen: Oracle | None = None
    watch: Watch | None = None
    device: RowFunction | str | None = None
    indices: Bounded | None = None
    launches: Launches | None = None
    apart: RowFunction | None = None
    arrays: Inside | None = None
    racing: RowFunction | None = None
    waving: RowFunction | None = None


class SubjectFunctions(NamedTuple):
    """One subject as functions of rows of numbers."""

    f64: RowFunction
    f32: RowFunction | None
    companions: Companions

    @property
    def columns(self) -> npt.NDArray[np.int64]:
        """The differentiable columns of the inputs."""
        return np.array(self.f64.inputs.differentiable, np.int64)

    @property
    def active(self) -> tuple[list[Column], list[Column]]:
        """The differentiable inputs, and the differentiable results."""
        tables = self.f64.inputs, self.f64.results
        inputs, results = ([table.columns[k] for k in table.differentiable] for table in tables)
        return inputs, results

    @property
    def floating(self) -> npt.NDArray[np.int64]:
        """The floating-point columns of the inputs."""
        return np.array([k for k, column in enumerate(self.f64.inputs.columns) if column.floating], np.int64)

    def evaluate(self, rows: Floats, base: Floats) -> Floats:
        """Return the differentiable results at rows, in float64, with frozen parts as they are at ``base``."""
        frozen, outputs = self.companions.frozen, self.f64.results.differentiable
        return self.f64.values(rows)[:, outputs] if frozen is None else frozen.moved(rows, base)[:, outputs]

    def inside(self, rows: Floats) -> Bools:
        """Return True for each sample at which all indices of tensors and arrays are in bounds."""
        within = self.companions.indices or self.companions.arrays
        return np.ones(len(rows), bool) if within is None else within.inside(rows)

    def full_lists(self, rows: Floats) -> FullLists | None:
        """Return the lists of a pipeline that are longer than their capacity at some samples; None elsewhere."""
        bounded = self.companions.indices
        return None if bounded is None or not len(rows) else bounded.full_lists(rows)

    def jacobian(self, mode: Leg) -> ModeDerivative:
        """Return the derivative in float64 by reverse or forward mode."""
        return ModeDerivative(self.f64, mode)
