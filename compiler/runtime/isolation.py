"""Kernels launched in a process of their own: an index out of bounds or an endless loop ends that process, not slangad.

The same calls as ``cpu.CpuModule``; arrays are copied there and back. This module is also the child's side.
"""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from slangad.compiler.toolchain.failures import failed
from slangad.compiler.toolchain.frames import private_stdout, requests, send
from slangad.compiler.toolchain.processes import Child, ProcessDiedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from slangad.compiler.runtime.cpu import CpuModule

LAUNCH_LIMIT = 120.0
"""Seconds one launch may take."""


class _Load(NamedTuple):
    library: bytes
    reflection: str


class _Launch(NamedTuple):
    entry: str
    thread_count: tuple[int, int, int]
    buffers: dict[str, npt.NDArray[Any]]
    uniforms: dict[str, object]
    workers: int | None


class _Wrong(NamedTuple):
    """The caller's mistake, such as a missing buffer, to be raised on the caller's side."""

    error: Exception


class IsolatedModule:
    """A shared library in a child process; the child starts with the first launch, and anew after a crash."""

    def __init__(self, library: bytes, reflection: str, *, limit: float = LAUNCH_LIMIT) -> None:
        self._load = _Load(library, reflection)
        self._limit = limit
        self._child: Child | None = None

    def __enter__(self) -> IsolatedModule:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def launch(
        self,
        entry: str,
        thread_count: tuple[int, int, int],
        buffers: Mapping[str, npt.NDArray[Any]],
        uniforms: Mapping[str, object],
        *,
        workers: int | None = None,
    ) -> None:
        """Run a kernel as ``CpuModule.launch`` does; the buffers it may write are updated in place.

        Raises:
            ToolchainError: The kernel crashed or did not end in time.
        """
        if self._child is None:
            self._child = Child(__name__, paths=tuple(path for path in sys.path if path))
            self._ask(self._load, "loading")
        changed = self._ask(_Launch(entry, thread_count, dict(buffers), dict(uniforms), workers), entry)
        if isinstance(changed, dict):
            for name, array in changed.items():
                buffers[name][...] = array

    def _ask(self, request: _Load | _Launch, doing: str) -> object:
        assert self._child is not None  # noqa: S101  (launch starts it)
        try:
            with closing(self._child.talk(request, self._limit)) as answers:
                answer = next(answers)
        except ProcessDiedError as death:
            self.close()
            what = f"crashed ({death.how})" if death.how else f"did not end within {self._limit:g} s"
            raise failed(
                "SA248", f"the kernel {doing} {what} on the CPU", _HELP, tuple(death.tail.splitlines()[-3:])
            ) from None
        if isinstance(answer, _Wrong):
            raise answer.error
        return answer


_HELP = "look for an index out of bounds, or a loop that does not end"


def main() -> None:
    """Serve one parent: load a library, then launch its kernels until stdin ends."""
    from slangad.compiler.runtime.cpu import load_module

    module: CpuModule | None = None
    with private_stdout() as pipe:
        for request in requests():
            if isinstance(request, _Load):
                module = load_module(request.library, request.reflection)
                send(pipe, "loaded")
            elif isinstance(request, _Launch) and module is not None:
                send(pipe, _launch(module, request))


def _launch(module: CpuModule, request: _Launch) -> dict[str, npt.NDArray[Any]] | _Wrong:
    try:
        module.launch(request.entry, request.thread_count, request.buffers, request.uniforms, workers=request.workers)
    except (LookupError, TypeError, ValueError, NotImplementedError) as error:
        return _Wrong(error)
    written = module.written_buffers(request.entry)
    return {name: array for name, array in request.buffers.items() if name in written}
