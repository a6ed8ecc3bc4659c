"""Define tasks: one subject with its kernels. A worker receives tasks and returns results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.subject import CheckedPipeline
    from slangad.compiler.ir.nodes import Kernel, SharedMemory


class TwinKernels(NamedTuple):
    """The twins of a kernel, as far as it has them.

    Attributes:
        frozen: Freezes declared parts.
        watch: Watches loops.
        indices: Records indices.
        racing: Runs two threads.
        waving: Runs the lanes of a wave.
    """

    frozen: Kernel | None
    watch: Kernel | None
    indices: Kernel | None
    racing: Kernel | None
    waving: Kernel | None


@dataclass(frozen=True, slots=True)
class SubjectTask:
    """One function or kernel to check.

    Attributes:
        kernel: Its harness kernel.
        in_f32: True if that compiles in float32.
        asked: Axes whose extents the kernel asks for, as parameter and axis.
        launch: The kernel as it is launched, where threads add something up.
        shared: The memory that the threads of a group share, of the twin that records indices.
    """

    plan: SubjectPlan
    kernel: Kernel
    in_f32: bool
    twins: TwinKernels
    asked: frozenset[tuple[str, int]] = frozenset()
    launch: Kernel | None = None
    shared: tuple[SharedMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineTask:
    """One pipeline to check.

    Attributes:
        kernels: The kernels of its stages, by name.
        twins: Their twins, by the name of the kernel.
    """

    plan: SubjectPlan
    pipeline: CheckedPipeline
    kernels: Mapping[str, Kernel]
    twins: Mapping[str, TwinKernels]
