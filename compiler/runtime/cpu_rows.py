"""Many small launches of one entry point on the CPU, each with arrays of its own, at the cost of a function call each.

Goes in: C++ text that is to have them, then the loaded library and one row of every array for each launch. Slang's C++
has a function for one thread of an entry point; a loop around it, in C++ too, goes through rows and threads.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.runtime.cpu_bounds import with_watched_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.runtime.cpu import CpuModule
    from slangad.compiler.runtime.layout import Block

_LOOP: Final = b"""
SLANG_PRELUDE_EXPORT
void slangad_rows(
    void (*entry)(ComputeThreadVaryingInput*, void*, void*), const uint32_t* threads, size_t count,
    char* own, size_t own_step, char* shared, size_t shared_step, size_t rows, bool* left)
{
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
            entry(&input, own + row * own_step, shared + row * shared_step);
        }
        if (left) left[row] = slangad_left;
    }
    slangad_watches = false;
}
"""


def with_rows(source: bytes) -> bytes:
    """The ``cpp`` target's output with the loop, and with indices that can be watched (see ``cpu_bounds``)."""
    return with_watched_bounds(source) + _LOOP


def launch_rows(
    module: CpuModule,
    entry: str,
    threads: npt.NDArray[np.uint32],
    buffers: Mapping[str, npt.NDArray[Any]],
    uniforms: Mapping[str, object],
    left: npt.NDArray[np.bool_] | None = None,
) -> None:
    """Launch an entry point once for each row of its buffers.

    Args:
        module: A library made of what ``with_rows`` gave.
        entry: The entry point.
        threads: Its threads, shape (count, 6): the group's place and the thread's in it, along x, y and z.
        buffers: C-contiguous arrays with the launches along the first axis; each launch sees its row.
        uniforms: Values that all launches share.
        left: Where to note the rows at which an index leads outside an array; it is taken for the first one there.
    """
    rows = len(next(iter(buffers.values())))
    own = _packed(module.block(entry), buffers, uniforms, rows)
    shared = _packed(module.block(), buffers, uniforms, rows)
    loop = module.library.slangad_rows
    loop.restype = None
    loop(
        ctypes.cast(getattr(module.library, f"{entry}_Thread"), ctypes.c_void_p),
        ctypes.c_void_p(threads.ctypes.data),
        ctypes.c_size_t(len(threads)),
        ctypes.c_void_p(own.ctypes.data),
        ctypes.c_size_t(own.itemsize),
        ctypes.c_void_p(shared.ctypes.data),
        ctypes.c_size_t(shared.itemsize),
        ctypes.c_size_t(rows),
        None if left is None else ctypes.c_void_p(left.ctypes.data),
    )


def _packed(
    block: Block, buffers: Mapping[str, npt.NDArray[Any]], uniforms: Mapping[str, object], rows: int
) -> npt.NDArray[Any]:
    """A block of parameters for each row."""
    import numpy as np

    packed = np.zeros(rows, block.dtype)
    for name in block.names:
        if name in block.elements:
            if name in buffers:
                array = buffers[name]
                packed[name]["data"] = array.ctypes.data + array.strides[0] * np.arange(rows, dtype=np.uint64)
                packed[name]["count"] = array[0].nbytes // block.elements[name].itemsize
        elif name in uniforms:
            packed[name] = uniforms[name]
    return packed
