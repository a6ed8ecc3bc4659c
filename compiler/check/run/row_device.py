"""Define a device for the check. Its buffers have one row for each sample, in the precision of a build.

The runtime plans a pipeline for it as for any device. Each launch then runs for all rows. The device itself does the
steps between kernels: zeroing, adding, converting.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.emit.model import EmittedModule, ThreadWork
from slangad.compiler.runtime.device.cpu_rows import all_threads, first_threads, launch_rows
from slangad.compiler.runtime.device.model import KernelLaunch, Sliced
from slangad.compiler.runtime.pipeline.steps import HostWork, Step, scalar_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from slangad.compiler.check.run.thread import Precision
    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.ir.types import Texture
    from slangad.compiler.runtime.device.cpu_kernels import CpuModule
    from slangad.compiler.runtime.device.model import BuildOptions, DeviceBuffer, DeviceProgram
    from slangad.compiler.runtime.pipeline.steps import Planned

    Array = npt.NDArray[Any]


@dataclass
class RowBuffer:
    """Memory of a launch with one copy for each row. ``dtype`` is the type in the program."""

    dtype: np.dtype[Any]
    array: Array

    @property
    def count(self) -> int:
        """The number of scalars of one row."""
        return int(self.array.shape[1])

    def upload(self, array: Array) -> None:
        """Set all rows to the same values."""
        self.array[...] = np.asarray(array).reshape(1, -1)

    def download(self) -> Array:
        """Return a copy of all rows, one after the other."""
        return self.array.reshape(-1).copy()

    def take(self) -> Array:
        """Return all rows, one after the other."""
        return self.array.reshape(-1)

    def fill(self, number: float) -> None:
        """Set all values to one number."""
        self.array[...] = number

    def close(self) -> None:
        """Do nothing: the memory belongs to numpy."""


@dataclass(frozen=True)
class LoadedProgram:
    """The entry points of a build by name, with their libraries."""

    emitted: EmittedModule
    entries: Mapping[str, tuple[CpuModule, EntryPoint]]


def loaded_program(module: CpuModule, points: Iterable[EntryPoint]) -> LoadedProgram:
    """Return the entry points of one library."""
    return LoadedProgram(EmittedModule("", "", {}, (), {}, ()), {point.symbol: (module, point) for point in points})


@dataclass
class RowDevice:
    """The CPU, which runs every launch for all rows."""

    rows: int
    precision: Precision
    books: Mapping[str, int] = field(default_factory=dict)
    name: str = "cpu"
    adapter: str = "rows"
    host: bool = True
    has_last_group: bool = False
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)

    def parts(self, elements: int, group: int, totals: int, *, scatters: bool) -> int:  # noqa: ARG002  (few are enough)
        """Return 2, so that sums have several parts."""
        return tol.SUM_PARTS

    def copies(self, elements: int, scalars: int, *, alone: bool = False) -> int:  # noqa: ARG002  (few are enough)
        """Return 2."""
        return tol.SUM_COPIES

    def load(self, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]) -> DeviceProgram:
        """Fail: programs are loaded before."""
        raise NotImplementedError

    def buffer(self, dtype: np.dtype[Any], count: int) -> RowBuffer:
        """Allocate memory."""
        made = RowBuffer(dtype, np.zeros((self.rows, 0)))
        made.array = np.zeros((self.rows, count), self.precision.dtype(scalar_name(made)))
        return made

    def texture(self, texels: Array, sampler: Texture) -> RowBuffer:  # noqa: ARG002  (emitted code filters)
        """Return a buffer with the same texels for all rows."""
        made = self.buffer(np.dtype("f4"), texels.size)
        made.upload(texels)
        return made

    def sampler(self, texture: Texture) -> object:  # noqa: ARG002  (emitted code filters)
        """Return a placeholder."""
        return 0

    def submit(self, launches: Sequence[KernelLaunch], cleared: Sequence[DeviceBuffer] = ()) -> None:
        """Run launches for all rows."""
        for buffer in cleared:
            buffer.fill(0.0)
        self.run(launches)

    def run(self, planned: Iterable[Planned]) -> None:
        """Run launches and the steps between them, if there are rows."""
        if not self.rows:
            return
        with np.errstate(all="ignore"):
            for one in planned:
                if isinstance(one, KernelLaunch):
                    self._launch(one)
                elif isinstance(one, HostWork):
                    one.run()
                else:
                    _step(one)

    def wait(self) -> None:
        """Do nothing: no launch is ever in progress."""

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self) -> RowDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _launch(self, launch: KernelLaunch) -> None:
        assert isinstance(launch.program, LoadedProgram)  # noqa: S101  (made with this device)
        module, entry = launch.program.entries[launch.entry]
        buffers: dict[str, Array] = {}
        uniforms: dict[str, object] = {}
        for name, bound in launch.bindings.items():
            held = bound.buffer if isinstance(bound, Sliced) else bound
            if isinstance(held, RowBuffer):
                buffers[name] = held.array
            else:
                uniforms[name] = held
        launch_rows(module, entry.symbol, _threads(entry, launch.threads), buffers, uniforms)


def _step(step: Step) -> None:
    """Zero, add or copy a buffer, as ``emit/entry_points/steps.py`` does."""
    target = step.bindings["target"]
    assert isinstance(target, RowBuffer)  # noqa: S101  (made by this device)
    kind = step.entry.partition("_")[0]
    if kind == "zero":
        target.fill(0)
        return
    source = step.bindings["source"]
    assert isinstance(source, RowBuffer)  # noqa: S101  (made by this device)
    assert kind in ("add", "copy"), step.entry  # noqa: S101  (no other lies between stages)
    moved = source.array.astype(target.array.dtype)
    target.array[...] = target.array + moved if kind == "add" else moved


def _threads(entry: EntryPoint, count: tuple[int, int, int]) -> npt.NDArray[np.uint32]:
    """Return the threads with work to do. Of threads that add up sums, that is the first of each group."""
    match entry.work:
        case ThreadWork.TOTALS:
            return first_threads(entry.totals_groups)
        case ThreadWork.STRIDED:
            return first_threads(-(-count[0] // entry.group_size[0]))
        case _:
            return all_threads(count, entry.group_size)


def padded(texels: npt.NDArray[np.float64], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Return rows of texels as textures store them: texels of three channels get a fourth."""
    if shape != (3,):
        return texels
    split = texels.reshape(len(texels), -1, 3)
    return np.concatenate([split, np.zeros((*split.shape[:2], 1))], axis=2).reshape(len(texels), -1)
