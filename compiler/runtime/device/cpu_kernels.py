"""Load and launch kernels of the ``cpp`` target on the CPU, with groups spread over threads.

A launch writes into the caller's numpy arrays. A kernel runs in the calling process: an index out of bounds can crash
the process.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.launch_plan import HOST
from slangad.compiler.runtime.device.cxx import build_shared_library
from slangad.compiler.runtime.device.layout import block_of, dtype_of
from slangad.compiler.toolchain.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.runtime.device.layout import Block, Json
    from slangad.compiler.toolchain.cache import Cache

_FIRST_THREADS: Final = b"""
SLANG_PRELUDE_EXPORT
void slangad_first_threads(
    void (*entry)(ComputeThreadVaryingInput*, void*, void*), uint32_t start, uint32_t end, void* own, void* shared)
{
    ComputeThreadVaryingInput input = {};
    for (input.groupID.x = start; input.groupID.x < end; ++input.groupID.x)
        entry(&input, own, shared);
}
"""
"""No line begins with ``#``: the last one that does ends Slang's prelude."""
_PARAMETERS: Final = "void* entryPointParams, void* globalParams"
_ONE_THREAD: Final = (
    "SLANG_PRELUDE_EXPORT\nvoid {name}_Thread(ComputeThreadVaryingInput* varyingInput, " + _PARAMETERS + ")\n"
    "{{\n    _{name}(varyingInput, entryPointParams, globalParams);\n}}\n"
)
_CALL: Final = "    _{name}(&threadInput, entryPointParams, globalParams);\n"
"""Of the loops over the threads of a group: the only other call of a kernel."""
_PIECES_EACH = 4
"""Work items per CPU thread; a thread that finishes early takes the next item."""


@dataclass(frozen=True, slots=True)
class CpuModule:
    """A loaded shared library; ``entries`` and ``globals_`` are Slang's reflection of its parameters."""

    library: ctypes.CDLL
    entries: Mapping[str, Json]
    globals_: tuple[Json, ...]
    _blocks: dict[str, Block] = field(default_factory=dict, repr=False)

    def block(self, entry: str = "") -> Block:
        """Return the memory layout of an entry point's parameters; without one, of the module's that can be passed.

        Raises:
            NotImplementedError: One of the entry point cannot be passed to the CPU (a texture, say).
        """
        if entry not in self._blocks:
            fields = self.entries[entry].get("parameters", ()) if entry else self.globals_
            self._blocks[entry] = block_of(fields, some=not entry)
        return self._blocks[entry]

    def launch(
        self,
        entry: str,
        thread_count: tuple[int, int, int],
        buffers: Mapping[str, npt.NDArray[Any]],
        uniforms: Mapping[str, object],
        *,
        workers: int | None = None,
        sliced: Mapping[str, npt.NDArray[Any]] | None = None,
        first_threads: bool = False,
    ) -> None:
        """Run at least ``thread_count`` threads of a kernel, in whole groups.

        Args:
            entry: The entry point's name.
            thread_count: Threads wanted along x, y and z.
            buffers: An array for every buffer parameter, of its element type; those written must be C-contiguous.
            uniforms: A value for every other parameter: a scalar, an array, or a mapping for a struct. Parameters of
                the module that the entry point does not use may be left out.
            workers: CPU threads to use; as many as pay off when not given.
            sliced: Buffers of which each worker sees one row, its own; there are as many workers as rows at most.
            first_threads: Only the first thread of each group has anything to do, and groups lie along x.
        """
        sliced = sliced or {}
        local, shared = self.block(entry), self.block()
        wrong = local.names ^ ({*buffers, *uniforms, *sliced} - (shared.names - local.names))
        if wrong:
            raise KeyError(f"{entry}: {', '.join(sorted(wrong))} given but no parameter, or the reverse")
        kept: list[npt.NDArray[Any]] = []
        limit = min((len(rows) for rows in sliced.values()), default=None)
        count = min(workers or _worker_count(thread_count), limit or 1 << 30)
        blocks = []
        for worker in range(count if sliced else 1):
            arrays = {**buffers, **{name: rows[worker] for name, rows in sliced.items()}}
            blocks.append((_pack(local, arrays, uniforms, kept), _pack(shared, arrays, uniforms, kept)))
        sizes = self.entries[entry]["threadGroupSize"]
        groups = [-(-count // size) for count, size in zip(thread_count, sizes, strict=True)]
        if first_threads:
            thread = ctypes.cast(getattr(self.library, f"{entry}_Thread"), ctypes.c_void_p)
            _spread(_FirstThreads(self.library.slangad_first_threads, thread, blocks), groups[0], count)
        else:
            _spread(_Groups(getattr(self.library, entry), blocks, groups), max(groups), count)


def load_module(library: bytes, reflection: str) -> CpuModule:
    """Load a shared library that ``build_shared_library`` made."""
    with TemporaryFolder() as folder:  # Windows keeps what is loaded
        file = folder / ("kernel.dll" if os.name == "nt" else "kernel.so")
        file.write_bytes(library)
        loaded = ctypes.CDLL(str(file))
    parsed = json.loads(reflection)
    entries = {entry["name"]: entry for entry in parsed["entryPoints"]}
    return CpuModule(loaded, entries, tuple(p for p in parsed["parameters"] if "binding" in p))


def build_module(source: bytes, reflection: str, *, optimization: int = 1, cache: Cache | None = None) -> CpuModule:
    """Compile the ``cpp`` target's output (of one entry point or all) and load it."""
    library = build_shared_library(with_first_threads(source), optimization=optimization, cache=cache)
    return load_module(library, reflection)


def with_first_threads(source: bytes) -> bytes:
    """Return the ``cpp`` target's output with the loop that ``first_threads`` of ``CpuModule.launch`` needs."""
    return source + _FIRST_THREADS


def with_whole_groups(source: bytes, entries: Iterable[str]) -> bytes:
    """Return the ``cpp`` target's output with some entry points as part of the loops over their groups.

    They are launched without ``first_threads``. A call for each thread would take twenty times as long as a short
    kernel, and no loop over threads would become vector code.
    """
    for name in entries:
        thread, call = (text.format(name=name).encode() for text in (_ONE_THREAD, _CALL))
        if source.count(thread) == source.count(call) == 1:
            head = f"void _{name}(".encode()
            source = source.replace(thread, b"").replace(b"\n" + head, b"\n[[gnu::always_inline]] inline " + head)
    return source


def _pack(
    block: Block,
    buffers: Mapping[str, npt.NDArray[Any]],
    uniforms: Mapping[str, object],
    kept: list[npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """Return the parameter block in C++ layout; arrays that it points to are appended to ``kept``."""
    import numpy as np

    packed = np.zeros((), block.dtype)
    for parameter in block.parameters:
        name = parameter["name"]
        if name in block.elements:
            if name in buffers:
                array = _buffer(buffers[name], block, parameter)
                kept.append(array)
                packed[name] = (array.ctypes.data, array.nbytes // block.elements[name].itemsize)
        elif name in uniforms and parameter["type"]["kind"] == "constantBuffer":
            memory = np.zeros(1, [("content", dtype_of(parameter["type"]["elementType"]))])
            _fill(memory.reshape(()), "content", uniforms[name])
            kept.append(memory)
            packed[name] = memory.ctypes.data
        elif name in uniforms:
            _fill(packed, name, uniforms[name])
    return packed


def _buffer(array: npt.NDArray[Any], block: Block, parameter: Json) -> npt.NDArray[Any]:
    import numpy as np

    name = parameter["name"]
    element = block.elements[name]
    scalar = element.subdtype[0].base if element.subdtype else element
    if array.dtype not in (scalar, element) and "resultType" in parameter["type"]:
        raise TypeError(f"buffer {name} needs {scalar}, not {array.dtype}")
    if name in block.writable and not (array.flags.c_contiguous and array.flags.writeable):
        raise TypeError(f"buffer {name} is written: its array must be writable and C-contiguous")
    return np.ascontiguousarray(array)


def _fill(block: np.ndarray[Any, Any], name: str, value: object) -> None:
    """Store a value in a field; mappings go into structs, sequences into arrays of structs."""
    if isinstance(value, dict):
        for key, part in value.items():
            _fill(block[name], key, part)
    elif isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
        for index, item in enumerate(value):
            for key, part in item.items():
                _fill(block[name][index : index + 1].reshape(()), key, part)
    else:
        block[name] = value


def core_count() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _worker_count(thread_count: tuple[int, int, int]) -> int:
    total = thread_count[0] * thread_count[1] * thread_count[2]
    return max(1, min(core_count(), total // HOST.threads_a_worker))


@dataclass(frozen=True, slots=True)
class _Groups:
    """Run groups from ``start`` to ``end`` along the axis that has most of them, with one of the parameter blocks."""

    function: Callable[..., object]
    blocks: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]
    groups: list[int]

    def __call__(self, start: int, end: int, block: int) -> None:
        axis = self.groups.index(max(self.groups))
        first, last = [0, 0, 0], list(self.groups)
        first[axis], last[axis] = start, end
        local, shared = (ctypes.c_void_p(part.ctypes.data) for part in self.blocks[block])
        self.function((ctypes.c_uint32 * 6)(*first, *last), local, shared)


@dataclass(frozen=True, slots=True)
class _FirstThreads:
    """Run the first thread of each group from ``start`` to ``end``."""

    loop: Callable[..., object]
    thread: ctypes.c_void_p
    blocks: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]

    def __call__(self, start: int, end: int, block: int) -> None:
        local, shared = (ctypes.c_void_p(part.ctypes.data) for part in self.blocks[block])
        self.loop(self.thread, ctypes.c_uint32(start), ctypes.c_uint32(end), local, shared)


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that wait for the next launch."""
    return ThreadPoolExecutor(core_count())


def _spread(run: _Groups | _FirstThreads, count: int, workers: int) -> None:
    """Split the groups evenly; into more pieces than workers if no buffer is sliced.

    The calling thread works too: a short launch need not wait until others wake up.
    """
    if workers == 1:
        run(0, count, 0)
        return
    several = len(run.blocks) > 1
    pieces = workers if several else min(count, workers * _PIECES_EACH)
    cuts = [count * index // pieces for index in range(pieces + 1)]
    left = deque(zip(cuts[:-1], cuts[1:], range(pieces) if several else [0] * pieces, strict=True))

    def work() -> None:
        while True:
            try:
                piece = left.popleft()
            except IndexError:
                return
            run(*piece)

    helpers = [_pool().submit(work) for _ in range(workers - 1)]
    try:
        work()
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()
