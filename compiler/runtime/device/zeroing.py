"""Set many buffers of a CUDA device to zero with one launch: a command for each buffer takes 2 µs of an H200."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.model import EmittedModule
from slangad.compiler.runtime.device.model import KernelLaunch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.runtime.device.model import DeviceBuffer, DeviceProgram

ZERO_ENTRY: Final = "zero"
AT_MOST_ALONE: Final = 2
"""At most so many buffers are set to zero one by one: the kernel takes 0.3 s to compile."""
_BUFFERS: Final = 8
"""Buffers of one launch."""
_GROUP: Final = 256
_MOST_THREADS: Final = 1024 * _GROUP
"""Threads that keep a large GPU busy; each has several words of a larger buffer."""
WORD: Final = 4
"""Bytes that the kernel writes at once."""
_NUMBERS: Final = range(_BUFFERS)
_PARAMETERS: Final = "".join(
    f",\n    uniform RWStructuredBuffer<uint> buffer{n}, uniform uint count{n}" for n in _NUMBERS
)
_CLEARS: Final = "".join(f"    clear(buffer{n}, count{n}, thread.x, threads);\n" for n in _NUMBERS)
_TEXT: Final = f"""
void clear(RWStructuredBuffer<uint> words, uint count, uint first, uint step)
{{
    for (uint k = first; k < count; k += step)
        words[k] = 0;
}}

[shader("compute")]
[numthreads({_GROUP}, 1, 1)]
void {ZERO_ENTRY}(uint3 thread : SV_DispatchThreadID, uniform uint threads{_PARAMETERS})
{{
{_CLEARS}}}
"""
ZERO: Final = EmittedModule("slangad_zero.slang", _TEXT, {}, (), {}, ())
"""The kernel that does it."""


def is_whole(buffer: DeviceBuffer) -> bool:
    """Return True if a buffer is made of whole words, which the kernel writes."""
    return buffer.count * buffer.dtype.itemsize % WORD == 0


def zero_launches(program: DeviceProgram, buffers: Sequence[DeviceBuffer]) -> Iterator[KernelLaunch]:
    """Yield launches that set buffers to zero which the kernel takes.

    Args:
        program: ``ZERO``, loaded.
        buffers: The buffers.
    """
    for first in range(0, len(buffers), _BUFFERS):
        part = buffers[first : first + _BUFFERS]
        words = [buffer.count * buffer.dtype.itemsize // WORD for buffer in part]
        threads = _GROUP * max(1, -(-min(max(words), _MOST_THREADS) // _GROUP))
        bindings: dict[str, object] = {"threads": threads}
        for n in _NUMBERS:
            bindings[f"buffer{n}"] = part[min(n, len(part) - 1)]
            bindings[f"count{n}"] = words[n] if n < len(part) else 0
        yield KernelLaunch(program, ZERO_ENTRY, (threads, 1, 1), bindings)
