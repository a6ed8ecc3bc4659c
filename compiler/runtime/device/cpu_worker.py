"""Serve one cpu device in a process of its own: requests on stdin, answers on stdout.

A kernel that crashes or hangs ends this process, not slangad. Buffers are memory that both processes see.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from slangad.compiler.toolchain.workers.frames import private_stdout, requests, send

if TYPE_CHECKING:
    import mmap

    import numpy.typing as npt

    from slangad.compiler.runtime.device.cpu_kernels import CpuModule


class Load(NamedTuple):
    """Load a shared library under a number; ``reflection`` is Slang's of its parameters."""

    program: int
    library: bytes
    reflection: str


class Mapping(NamedTuple):
    """The memory of a buffer, and the number that identifies it."""

    buffer: int
    place: str
    size: int


class BufferUse(NamedTuple):
    """A buffer as one launch sees it; where there are ``slices``, each worker sees one."""

    buffer: int
    dtype: str
    size: int
    slices: int = 1


class Dispatch(NamedTuple):
    """One launch of a kernel; ``workers`` threads of the CPU run it, or as many as its own threads keep busy.

    ``first_threads`` says that only the first thread of each group has anything to do.
    """

    program: int
    entry: str
    threads: tuple[int, int, int]
    buffers: dict[str, BufferUse]
    values: dict[str, object]
    workers: int | None = None
    first_threads: bool = False


class Submit(NamedTuple):
    """Launches to be run one after the other; buffers to forget before, and those that are new."""

    dispatches: tuple[Dispatch, ...]
    gone: tuple[int, ...] = ()
    new: tuple[Mapping, ...] = ()


class RefusedRequest(NamedTuple):
    """An invalid request, such as a missing buffer. The parent raises it."""

    error: Exception


@dataclass
class _WorkerState:
    programs: dict[int, CpuModule] = field(default_factory=dict)
    memory: dict[int, mmap.mmap] = field(default_factory=dict)


STACK: Final = 256 << 20
"""Bytes of the stack of each thread, which only take memory once they are used. Arrays of a kernel's threads lie there.
Larger: a 32-bit system has no room for several."""


def main() -> None:
    """Serve one parent until its end of the pipe closes, in a thread with a stack for large arrays."""
    threading.stack_size(STACK)
    server = threading.Thread(target=_serve_parent)
    server.start()
    server.join()


def _serve_parent() -> None:
    state = _WorkerState()
    with private_stdout() as pipe:
        for request in requests():
            send(pipe, _answer(state, request))


def _answer(state: _WorkerState, request: object) -> RefusedRequest | str:
    try:
        _serve(state, request)
    except (LookupError, TypeError, ValueError, NotImplementedError, OSError) as error:
        return RefusedRequest(error)
    return "done"


def _serve(state: _WorkerState, request: object) -> None:
    from slangad.compiler.runtime.device.cpu_kernels import load_module
    from slangad.compiler.runtime.device.segments import attach

    match request:
        case Load(program, library, reflection):
            state.programs[program] = load_module(library, reflection)
        case Submit(dispatches, gone, new):
            for buffer in gone:
                state.memory.pop(buffer, None)
            for buffer, place, size in new:
                state.memory[buffer] = attach(place, size)
            for dispatch in dispatches:
                _launch(state, dispatch)
        case _:
            raise TypeError(f"{request!r} is no request")


def _launch(state: _WorkerState, dispatch: Dispatch) -> None:
    arrays = {name: _array(state, use) for name, use in dispatch.buffers.items() if use.slices == 1}
    sliced = {
        name: _array(state, use).reshape(use.slices, -1) for name, use in dispatch.buffers.items() if use.slices > 1
    }
    program = state.programs[dispatch.program]
    program.launch(
        dispatch.entry, dispatch.threads, arrays, dispatch.values,
        workers=dispatch.workers, sliced=sliced, first_threads=dispatch.first_threads,
    )  # fmt: skip


def _array(state: _WorkerState, use: BufferUse) -> npt.NDArray[Any]:
    import numpy as np

    return np.frombuffer(state.memory[use.buffer], use.dtype, use.size)
