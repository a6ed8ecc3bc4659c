"""Run many small launches of one entry point on the CPU, each with its own arrays, for one function call each.

Slang's C++ has a function for one thread of an entry point. A loop around it, also in C++, visits rows and threads.
"""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.runtime.device.cpu_bounds import with_watched_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.runtime.device.cpu_kernels import CpuModule
    from slangad.compiler.runtime.device.layout import Block

_LOOP: Final = b"""
struct SlangadBlock
{
    char* parameters;
    const uint64_t* moving;
    size_t count;

    void next() const
    {
        for (size_t k = 0; k < count; ++k)
            *reinterpret_cast<char**>(parameters + moving[2 * k]) += moving[2 * k + 1];
    }
};

SLANG_PRELUDE_EXPORT
void slangad_rows(
    void (*entry)(ComputeThreadVaryingInput*, void*, void*), const uint32_t* threads, size_t count,
    const SlangadBlock* own, const SlangadBlock* shared, size_t rows, bool* left, bool backwards)
{
    slangad_order(backwards);
    slangad_watches = left != nullptr;
    for (size_t row = 0; row < rows; ++row)
    {
        slangad_left = false;
        for (size_t k = 0; k < count; ++k)
        {
            const uint32_t* place = threads + 6 * k;
            ComputeThreadVaryingInput input = {};
            input.groupID = Vector<uint32_t, 3>(place[0], place[1], place[2]);
            input.groupThreadID = Vector<uint32_t, 3>(place[3], place[4], place[5]);
            entry(&input, own->parameters, shared->parameters);
        }
        if (left) left[row] = slangad_left;
        own->next();
        shared->next();
    }
    slangad_watches = false;
    slangad_order(false);
}
"""
_ORDER: Final = b"\nstatic void slangad_order(bool backwards) { slangad_groups::group().backwards = backwards; }\n"
_NO_ORDER: Final = b"\nstatic void slangad_order(bool) {}\n"
"""The order of the threads of a group. No line begins with ``#``: the last one that does ends Slang's prelude."""


class _Moving(ctypes.Structure):
    """A block of parameters, the offsets of the addresses that advance with each row, and their strides."""

    _fields_ = (("parameters", ctypes.c_void_p), ("moving", ctypes.c_void_p), ("count", ctypes.c_size_t))


def with_rows(source: bytes) -> bytes:
    """Return the ``cpp`` target's output with the loop, and with indices that can be watched (see ``cpu_bounds``)."""
    order = _ORDER if b"slangad_groups::" in source else _NO_ORDER
    return with_watched_bounds(source) + order + _LOOP


def launch_rows(
    module: CpuModule,
    entry: str,
    threads: npt.NDArray[np.uint32],
    buffers: Mapping[str, npt.NDArray[Any]],
    uniforms: Mapping[str, object],
    left: npt.NDArray[np.bool_] | None = None,
    *,
    backwards: bool = False,
) -> None:
    """Launch an entry point once for each row of its buffers.

    Args:
        module: A library built from the output of ``with_rows``.
        entry: The entry point.
        threads: Its threads, shape (count, 6): the group's place and the thread's in it, along x, y and z.
        buffers: C-contiguous arrays with the launches along the first axis; each launch sees its row.
        uniforms: Values that all launches share.
        backwards: The threads of a group that compute together run in the opposite order.
        left: Where to note the rows at which an index leads outside an array; it is taken for the first one there.
    """
    rows = len(next(iter(buffers.values())))
    moving, *_own_kept = _moving(module.block(entry), buffers, uniforms)
    shared, *_shared_kept = _moving(module.block(), buffers, uniforms)
    loop = module.library.slangad_rows
    loop.restype = None
    loop(
        ctypes.cast(getattr(module.library, f"{entry}_Thread"), ctypes.c_void_p),
        ctypes.c_void_p(threads.ctypes.data),
        ctypes.c_size_t(len(threads)),
        ctypes.byref(moving),
        ctypes.byref(shared),
        ctypes.c_size_t(rows),
        None if left is None else ctypes.c_void_p(left.ctypes.data),
        ctypes.c_bool(backwards),
    )


def _moving(
    block: Block, buffers: Mapping[str, npt.NDArray[Any]], uniforms: Mapping[str, object]
) -> tuple[_Moving, npt.NDArray[Any], npt.NDArray[np.uint64]]:
    """Return the first row's block and its strides, then the objects that must stay alive with it."""
    import numpy as np

    packed = np.zeros((), block.dtype)
    steps: list[tuple[int, int]] = []
    for name in block.names:
        if name in block.elements:
            if name in buffers:
                array = buffers[name]
                packed[name] = (array.ctypes.data, array[0].nbytes // block.elements[name].itemsize)
                steps.append((block.offsets[name], array.strides[0]))
        elif name in uniforms:
            packed[name] = uniforms[name]
    moving = np.array(steps, np.uint64)
    return _Moving(packed.ctypes.data, moving.ctypes.data, len(steps)), packed, moving


def first_threads(groups: int) -> npt.NDArray[np.uint32]:
    """Return the first thread of each of some groups along x, as ``launch_rows`` takes threads."""
    import numpy as np

    threads = np.zeros((groups, 6), np.uint32)
    threads[:, 0] = range(groups)
    return threads


@lru_cache(maxsize=256)
def all_threads(count: tuple[int, int, int], group: tuple[int, int, int]) -> npt.NDArray[np.uint32]:
    """Return a number of threads along x, y and z, in groups of that size."""
    import numpy as np

    x, y, z = count
    places = np.stack(np.meshgrid(range(x), range(y), range(z)), -1).reshape(math.prod(count), 3)
    size = np.array(group)
    threads = np.ascontiguousarray(np.concatenate([places // size, places % size], axis=1), np.uint32)
    threads.flags.writeable = False
    return threads
