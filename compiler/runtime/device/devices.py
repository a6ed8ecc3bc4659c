"""Devices: a name goes in, a device with buffers that stay on it and kernels that run on them comes out.

Everything above this module (``run``, ``train``, the Python calls) sees devices through the protocols here and never
asks which one it has.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.errors.diagnostics import ToolchainError
    from slangad.compiler.ir.types import Texture
    from slangad.compiler.toolchain.cache import Cache


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """What can stand after ``--device``: half a line about it, what it needs, whether slangad was ever tried on it."""

    name: str
    title: str
    remedy: str
    tested: bool = True


_ROWS = (
    DeviceKind("cpu", "this machine's processor", "install g++ or clang++, or `pip install slangad[zig]`"),
    DeviceKind("cuda", "NVIDIA GPUs", "needs an NVIDIA GPU and its driver"),
    DeviceKind(
        "vulkan",
        "GPUs with a Vulkan driver",
        "install a Vulkan driver; Mesa 25 or later (mesa-vulkan-drivers) has one that needs no GPU",
    ),
    DeviceKind("d3d12", "GPUs with Direct3D 12", "needs Windows and a GPU with Direct3D 12", tested=False),
    DeviceKind("metal", "Apple's GPUs", "needs macOS", tested=False),
    DeviceKind(
        "webgpu",
        "GPUs through wgpu",
        "`pip install 'slangad[webgpu]'`; needs a Vulkan, Metal or Direct3D 12 driver",
    ),
)

DEVICES: Final = {row.name: row for row in _ROWS}
"""Every device by name; ``auto`` stands for the best of them that works."""

AUTO: Final = "auto"

_SPARE: Final = 64 << 20
"""Bytes of memory to leave, at least."""
_FOR_OTHERS: Final = 8
"""One part in so many of what this machine has to spare is left to others."""


class Buffer(Protocol):
    """Scalars on a device, one after the other. It holds anything until it is uploaded to, filled or written."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What it holds."""

    @property
    def count(self) -> int:
        """How many."""

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of as many scalars of this dtype to the device."""

    def download(self) -> npt.NDArray[Any]:
        """A copy of what it holds, of one axis; waits for what was submitted before."""

    def take(self) -> npt.NDArray[Any]:
        """The same, or the memory itself, for a buffer that is not used any more."""

    def fill(self, number: float) -> None:
        """Set everything to one number."""

    def close(self) -> None:
        """Give the memory back."""


@dataclass(frozen=True, slots=True)
class Sliced:
    """A buffer of as many equal slices as ``Device.copies`` said, on a host device: each worker sees one of its own."""

    buffer: Buffer
    slices: int


@dataclass(frozen=True, eq=False)
class Launch:
    """One dispatch; itself only, whatever others are like, and what devices keep for it goes with it.

    Attributes:
        program: What ``Device.load`` gave.
        entry: The entry point's name.
        threads: Threads along x, y and z; at least as many run, in whole groups.
        bindings: A buffer, or for values a number, a list or a mapping of them, for every parameter by name.
        shared: Those of the names that are parameters of the whole module.
    """

    program: DeviceProgram
    entry: str
    threads: tuple[int, int, int]
    bindings: Mapping[str, Buffer | Sliced | object]
    shared: frozenset[str] = frozenset()


class DeviceProgram(Protocol):
    """An emitted module on a device."""

    @property
    def emitted(self) -> EmittedModule:
        """What was loaded."""


class Device(Protocol):
    """An open device. Close it, or use it in a ``with``. One thread at a time may use it: whoever holds ``lock``."""

    @property
    def name(self) -> str:
        """As in ``DEVICES``."""

    @property
    def adapter(self) -> str:
        """What the machine calls it."""

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held from the first upload to the last download by threads that share the device; may be taken again."""

    @property
    def host(self) -> bool:
        """Whether it has neither groups nor atomics: what is shared is kept apart for each worker, in double."""

    def parts(self, elements: int, group: int, totals: int, *, scatters: bool) -> int:
        """Into how many partial sums, by groups of this size, work on elements is split.

        ``scatters`` says that groups keep sums of tensors while they work.
        """

    def copies(self, elements: int, scalars: int) -> int:
        """How many copies of a tensor's totals threads are spread over, so that sums stay exact."""

    def load(self, emitted: EmittedModule, source: Source, entries: Collection[str]) -> DeviceProgram:
        """Compile a module's entry points for this device.

        Raises:
            CompileError: Slang rejects it.
            ToolchainError: A compiler is missing or failed, or the driver does not take the code.
        """

    def buffer(self, dtype: np.dtype[Any], count: int) -> Buffer:
        """Take memory.

        Raises:
            ToolchainError: There isn't that much.
        """

    def texture(self, texels: npt.NDArray[Any], sampler: Texture) -> Buffer | object:
        """A texture of rows of texels: float32, with an axis of 2 or 4 channels or none.

        Raises:
            ToolchainError: There isn't that much memory.
        """

    def sampler(self, texture: Texture) -> object:
        """What a texture is sampled with, as it is bound."""

    def submit(self, launches: Sequence[Launch], cleared: Sequence[Buffer] = ()) -> None:
        """Run launches one after the other; each sees what those before it wrote. May return before they are done.

        Args:
            launches: What runs.
            cleared: Buffers that are set to zero first.

        Raises:
            ToolchainError: A kernel crashed, or the driver failed.
        """

    def wait(self) -> None:
        """Return when everything submitted is done."""

    def close(self) -> None:
        """Give everything back."""

    def __enter__(self) -> Device: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Source:
    """How a module is compiled, as far as its text doesn't say: where imports look, macros, the cache."""

    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    cache: Cache | None = None


def open_device(name: str = AUTO, *, limit: float | None = None) -> Device:
    """Open a device by name; ``auto`` takes a GPU that works, else the CPU.

    Args:
        name: One of ``DEVICES``, or ``auto``.
        limit: Seconds a submission may take on the CPU, after which it counts as hanging.

    Raises:
        ToolchainError: It isn't there, or doesn't work.
    """
    if name == AUTO:
        from slangad.compiler.runtime.device.choice import best_device

        name = best_device()
    if name not in DEVICES:
        raise unknown_device(name)
    if name == "cpu":
        from slangad.compiler.runtime.device.cpu_device import LAUNCH_LIMIT, CpuDevice

        return CpuDevice(limit or LAUNCH_LIMIT)
    if _INHERITED:
        raise _forked(name)
    device = _open_gpu(name)
    _OPENED.add(name)
    return device


def _open_gpu(name: str) -> Device:
    if name == "webgpu":
        from slangad.compiler.runtime.device.webgpu_device import open_webgpu

        return open_webgpu()
    from slangad.compiler.runtime.device.slangpy_device import open_gpu

    return open_gpu(name)


_OPENED: Final[set[str]] = set()
"""GPUs that this process has opened."""
_INHERITED: Final[set[str]] = set()
"""In a fork: those that its parent had opened. The drivers' threads aren't there, and calls into them hang or crash."""


def _forked(name: str) -> ToolchainError:
    """A GPU can't be had in a fork of a process that had one."""
    opened = ", ".join(sorted(_INHERITED))
    message = f"the device {name} can't be used here: this process is a fork of one that had opened {opened}"
    help_ = "start processes with multiprocessing's method 'spawn', or run kernels on GPUs in the child only"
    return failed("SA249", message, help_)


def _inherit() -> None:
    _INHERITED.update(_OPENED)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)


def unknown_device(name: str) -> ToolchainError:
    """There is no device of this name."""
    return failed("SA250", f"there is no device {name!r}", help=f"there are {', '.join(DEVICES)} and {AUTO}")


_BUSY: Final[list[Device]] = []


def leave_busy(device: Device) -> None:
    """Keep a device that still runs what was submitted when it is to be closed: giving it back would wait for that."""
    _BUSY.append(device)


def is_left_busy() -> bool:
    """Whether a device was left so, and this process would wait for it at its end."""
    return bool(_BUSY)


def require_memory(device: str, wanted: int, free: int | None, *, shared: bool = True) -> None:
    """Refuse what would leave too little; ``free`` is None where unknown, ``shared`` whether others want of it too.

    Raises:
        ToolchainError: It would.
    """
    if free is not None and wanted > free - max(_SPARE, free // _FOR_OTHERS if shared else 0):
        raise too_little_memory(device, wanted, free)


def too_little_memory(device: str, wanted: int | None = None, free: int | None = None) -> ToolchainError:
    """Something doesn't fit; how much is wanted and free, where that is known."""
    needed = f": {_size(wanted)} more are needed" if wanted is not None else ""
    left = f"; {_size(free)} are free" if free is not None else ""
    return failed("SA251", f"too little memory on {device}{needed}{left}", help="run on fewer elements at a time")


def _size(count: int) -> str:
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
