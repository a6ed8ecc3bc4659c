"""Run the ``cpp`` target on all cores: build it with the machine's C++ compiler, and launch it in a worker process.

Buffers are memory shared with the worker, so a launch copies nothing. Buffers survive a crash of the worker, which
restarts with the next launch.
"""

from __future__ import annotations

import math
import os
import platform
import sys
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from slangad.compiler.emit.launch_plan import HOST
from slangad.compiler.emit.model import ParameterRole, ThreadWork, symbols
from slangad.compiler.errors.diagnostics import CompileError, Severity, ToolchainError
from slangad.compiler.runtime.device.cpu_kernels import core_count, with_first_threads, with_whole_groups
from slangad.compiler.runtime.device.cpu_worker import BufferUse, Dispatch, Load, Mapping, RefusedRequest, Submit
from slangad.compiler.runtime.device.cxx import build_shared_library, fuses
from slangad.compiler.runtime.device.memory import require_memory, too_little_memory
from slangad.compiler.runtime.device.model import Sliced
from slangad.compiler.runtime.device.reached_text import compile_reached
from slangad.compiler.runtime.device.segments import Segment, free_memory
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.messages.failures import failed, no_temporary_files, temporary_files
from slangad.compiler.toolchain.messages.messages import to_diagnostics
from slangad.compiler.toolchain.workers.processes import Child, ProcessDiedError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.emit.model import EmittedModule, EntryPoint
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.types import Texture
    from slangad.compiler.runtime.device.model import BuildOptions, DeviceBuffer, KernelLaunch

LAUNCH_LIMIT: Final = 600.0
"""Seconds one submission may take."""
OPTIMIZATION: Final = 3
_FUSED: Final = "SLANGAD_FUSED"
"""Macro of templates/slangad_linear.slang, for machines that multiply and add in one instruction."""
_TARGET: Final = "cpp"
_WORKER: Final = "slangad.compiler.runtime.device.cpu_worker"
_HELPS: Final = {
    False: "look for an index out of bounds, or a loop that does not end; a call in Python, kernel(…), names it",
    True: "no kernel ran yet: try again when the machine is less busy, or with a longer --time-limit",
}
"""The verb for messages: True if a program was loaded, False if it was run."""
_COPIED: Final = 1 << 16
"""Bytes up to which a copy costs less than a mapping, which also takes an open file."""
_SPARES: Final = 16
"""Closed segments to keep of each size. A larger value keeps more memory, and more open files."""
_ASKED: Final = 1 << 20
"""Bytes from which on a buffer asks how much memory is free. A smaller value makes small runs slower."""
_DEVICES: Final[WeakSet[CpuDevice]] = WeakSet()


@dataclass(frozen=True, slots=True)
class CpuProgram:
    """An emitted module as a shared library; ``number`` identifies it to the worker."""

    emitted: EmittedModule
    number: int
    library: bytes = field(repr=False)
    reflection: str = field(repr=False)


@dataclass(slots=True)
class CpuBuffer:
    """Scalars in memory shared with the worker."""

    dtype: np.dtype[Any]
    count: int
    number: int
    segment: Segment
    spare: SpareSegments | None = None

    @property
    def array(self) -> npt.NDArray[Any]:
        """Return the memory itself."""
        import numpy as np

        return np.frombuffer(self.segment.memory, self.dtype, self.count)

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy in an array with the same number of scalars."""
        self.array[...] = array.reshape(-1)

    def download(self) -> npt.NDArray[Any]:
        """Return a copy of the contents."""
        return self.array.copy()

    def take(self) -> npt.NDArray[Any]:
        """Return the memory in a mapping that a fork does not share: writes in the fork are not seen here."""
        import numpy as np

        if self.segment.closed or self.count * self.dtype.itemsize <= _COPIED:
            return self.download()
        try:
            return np.frombuffer(self.segment.private(), self.dtype, self.count)
        except OSError:
            return self.download()

    def fill(self, number: float) -> None:
        """Set everything to one number."""
        self.array[...] = number

    def close(self) -> None:
        """Release the memory."""
        spare, self.spare = self.spare, None
        if spare is None or not spare.keep(self.number, self.segment):
            self.segment.close()


class SpareSegments:
    """Small segments that later buffers of the same size use again: to make and map one takes longer than a small run.

    The results of small buffers are copies, so nobody looks into a segment that is kept here.
    """

    def __init__(self) -> None:
        self._kept: dict[int, list[tuple[int, Segment]]] = {}

    def take(self, size: int) -> tuple[int, Segment] | None:
        """Return a segment of at least ``size`` bytes with its number, all zero; None if there is none."""
        kept = self._kept.get(size_class(size))
        if not kept:
            return None
        number, segment = kept.pop()
        segment.memory[:] = bytes(len(segment.memory))
        return number, segment

    def keep(self, number: int, segment: Segment) -> bool:
        """Keep a segment, and return True, if there are not too many of its size."""
        kept = self._kept.setdefault(len(segment.memory), [])
        if segment.closed or len(kept) >= _SPARES:
            return False
        kept.append((number, segment))
        return True


def size_class(size: int) -> int:
    """Return the bytes of the segment for a small buffer: a power of two."""
    return 1 << max(8, (size - 1).bit_length())


class CpuDevice:
    """All cores of this machine, behind a worker process."""

    name = "cpu"
    host = True
    has_last_group = False

    def __init__(self, limit: float = LAUNCH_LIMIT) -> None:
        self.lock = RLock()
        self._limit = limit
        self._numbers = count()
        self._child: Child | None = None
        self._loaded: set[int] = set()
        self._attached: dict[int, CpuBuffer] = {}
        self._spare = SpareSegments()
        _DEVICES.add(self)

    @property
    def adapter(self) -> str:
        """Return the number and kind of cores."""
        return f"{core_count()} threads, {platform.machine()}"

    def __enter__(self) -> CpuDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]) -> CpuProgram:
        """Compile some entry points of a module; both compilers' outputs are cached."""
        job = CompileJob(
            name=emitted.file_name,
            source=emitted.text,
            entry_points=symbols(e for e in emitted.entry_points if e.symbol in entries),
            targets=(_TARGET,),
            modules=tuple(emitted.libraries.items()),
            include_dirs=source.include_dirs,
            defines=(*source.defines, *([(_FUSED, "")] if fuses() else [])),
            whole=True,
        )
        result = compile_reached(job, emitted, source.cache)
        options = to_diagnostics(result.messages, partial(_locate, emitted))
        errors = [diagnostic for diagnostic in options if diagnostic.severity is Severity.ERROR]
        if errors:
            raise CompileError(errors)
        if result.diagnostics:
            raise ToolchainError(result.diagnostics)
        grouped = symbols(e for e in emitted.entry_points if e.symbol in entries and not e.first_threads)
        text = with_first_threads(with_whole_groups(result.artefacts[0].data, grouped))
        library = build_shared_library(text, optimization=OPTIMIZATION, native=True, cache=source.cache)
        return CpuProgram(emitted, next(self._numbers), library, result.reflection_text(_TARGET) or "")

    def parts(self, elements: int, group: int, totals: int, *, scatters: bool) -> int:  # noqa: ARG002  (for GPUs)
        """Return a range of elements for each of some groups, which keep all cores busy."""
        return HOST.parts(elements, core_count())

    def copies(self, elements: int, scalars: int, *, alone: bool = False) -> int:  # noqa: ARG002  (one for each worker, however many)
        """Return one for each core."""
        return core_count()

    def buffer(self, dtype: np.dtype[Any], count: int) -> CpuBuffer:
        """Allocate memory, if the machine has enough."""
        size = dtype.itemsize * count
        if size <= _COPIED:
            number, segment = self._spare.take(size) or (next(self._numbers), self._segment(size_class(size)))
            return CpuBuffer(dtype, count, number, segment, self._spare)
        return CpuBuffer(dtype, count, next(self._numbers), self._segment(size))

    def _segment(self, size: int) -> Segment:
        if size > _ASKED:
            require_memory(self.name, size, free_memory())
        try:
            with temporary_files():
                return Segment(size)
        except MemoryError:
            raise too_little_memory(self.name, size) from None

    def texture(self, texels: npt.NDArray[Any], sampler: Texture) -> CpuBuffer:  # noqa: ARG002  (emitted code filters)
        """Return a buffer of the texels."""
        buffer = self.buffer(texels.dtype, texels.size)
        buffer.upload(texels)
        return buffer

    def sampler(self, texture: Texture) -> int:  # noqa: ARG002  (emitted code filters)
        """Return None: the CPU needs no samplers."""
        return 0

    def submit(self, launches: Sequence[KernelLaunch], cleared: Sequence[DeviceBuffer] = ()) -> None:
        """Run launches one after the other, and wait for them."""
        for buffer in cleared:
            buffer.fill(0.0)
        gone = tuple(number for number, buffer in self._attached.items() if buffer.segment.closed)
        for number in gone:
            del self._attached[number]
        new: list[Mapping] = []
        doing = f"the kernel {', '.join(dict.fromkeys(launch.entry for launch in launches))}"
        try:
            dispatches = tuple(self._dispatch(launch, new) for launch in launches)
            self._ask(Submit(dispatches, gone, tuple(new)), doing)
        except BaseException:
            for mapping in new:
                self._attached.pop(mapping.buffer, None)
            raise

    def wait(self) -> None:
        """Return at once: ``submit`` already waits."""

    def close(self) -> None:
        """End the worker."""
        child, self._child = self._child, None
        self._loaded.clear()
        self._attached.clear()
        self._spare = SpareSegments()
        if child is not None:
            child.close()

    def start_anew(self) -> None:
        """Reset after a fork: the worker and the lock belong to the parent. Programs stay valid."""
        self.lock = RLock()
        self._child = None
        self._loaded.clear()
        self._attached.clear()
        self._spare = SpareSegments()

    def _dispatch(self, launch: KernelLaunch, new: list[Mapping]) -> Dispatch:
        program = launch.program
        assert isinstance(program, CpuProgram)  # noqa: S101  (load gave it)
        if program.number not in self._loaded:
            self._ask(Load(program.number, program.library, program.reflection), f"loading {program.emitted.file_name}")
            self._loaded.add(program.number)
        uses: dict[str, BufferUse] = {}
        values: dict[str, object] = {}
        for name, value in launch.bindings.items():
            match value:
                case CpuBuffer():
                    uses[name] = self._use(value, 1, new)
                case Sliced(buffer=CpuBuffer() as buffer, slices=slices):
                    uses[name] = self._use(buffer, slices, new)
                case _:
                    values[name] = value
        entry = next(e for e in program.emitted.entry_points if e.symbol == launch.entry)
        workers = _workers(entry, launch)
        return Dispatch(program.number, launch.entry, launch.threads, uses, values, workers, entry.first_threads)

    def _use(self, buffer: CpuBuffer, slices: int, new: list[Mapping]) -> BufferUse:
        if buffer.number not in self._attached:
            new.append(Mapping(buffer.number, buffer.segment.place, len(buffer.segment.memory)))
            self._attached[buffer.number] = buffer
        return BufferUse(buffer.number, buffer.dtype.str, buffer.count, slices)

    def _ask(self, request: object, doing: str) -> None:
        if self._child is None:
            self._child = Child(_WORKER, paths=tuple(path for path in sys.path if path))
        try:
            with closing(self._child.talk(request, self._limit)) as answers:
                answer = next(answers)
        except ProcessDiedError as death:
            self.close()
            raise _died(death, doing, self._limit, loads=isinstance(request, Load)) from None
        except BaseException:
            self.close()  # interrupted: it would go on computing
            raise
        if isinstance(answer, RefusedRequest) and isinstance(answer.error, OSError):
            if isinstance(request, Load):
                raise no_temporary_files(answer.error)
            raise too_little_memory(self.name)  # to map what this process has mapped
        if isinstance(answer, RefusedRequest):
            raise answer.error


def open_cpu(_name: str, limit: float | None) -> CpuDevice:
    """Open the CPU; ``limit`` is how many seconds a submission may take."""
    return CpuDevice(limit or LAUNCH_LIMIT)


def _workers(entry: EntryPoint, launch: KernelLaunch) -> int | None:
    """Return the number of CPU threads for a launch of first threads; None for any other one."""
    if not entry.first_threads:
        return None
    if entry.work is ThreadWork.TOTALS:
        parts = next(launch.bindings[p.name] for p in entry.parameters if p.role is ParameterRole.PARTS)
        assert isinstance(parts, int)  # noqa: S101  (a number of ranges)
        return max(1, min(core_count(), entry.totals * parts // HOST.elements_a_worker))
    extents = next(launch.bindings[p.name] for p in entry.parameters if p.role is ParameterRole.DOMAIN)
    elements = math.prod(extents) if isinstance(extents, (list, tuple)) else extents
    assert isinstance(elements, int)  # noqa: S101  (a domain is made of ints)
    return max(1, min(core_count(), elements // HOST.elements_of(entry)))


def _died(death: ProcessDiedError, doing: str, limit: float, *, loads: bool) -> ToolchainError:
    tail = tuple(death.tail.splitlines()[-3:])
    if death.how == "SIGKILL":
        message = f"{doing} was killed on the CPU, most likely because memory ran out"
        return failed("SA251", message, "run on fewer elements at a time", tail)
    what = f"crashed ({death.how})" if death.how else f"did not end within {limit:g} s"
    return failed("SA248", f"{doing} {what} on the CPU", _HELPS[loads], tail)


def _locate(emitted: EmittedModule, file: str, line: int, column: int) -> Span | None:
    """Return the location in the user's file that a position of the emitted text was made from."""
    return emitted.locate(line, column) if file == emitted.file_name else None


def _start_all_anew() -> None:
    for device in tuple(_DEVICES):
        device.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_all_anew)
