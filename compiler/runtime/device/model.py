"""Define the interface of all devices: ``Device``, ``DeviceBuffer``, ``DeviceProgram``, and the data of a launch.

``run``, ``train`` and the calls from Python use devices through these protocols, whichever device it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.ir.types import Texture
    from slangad.compiler.toolchain.cache import Cache


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Everything besides its text that a module is compiled with: folders of imports, macros, the cache."""

    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    cache: Cache | None = None


class DeviceBuffer(Protocol):
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
        """Return a copy of what it holds, of one axis; waits for what was submitted before."""

    def take(self) -> npt.NDArray[Any]:
        """The same, or the memory itself, for a buffer that is not used any more."""

    def fill(self, number: float) -> None:
        """Set everything to one number."""

    def close(self) -> None:
        """Give the memory back."""


@dataclass(frozen=True, slots=True)
class Sliced:
    """A buffer of as many equal slices as ``Device.copies`` said, on a host device: each worker sees one of its own."""

    buffer: DeviceBuffer
    slices: int


@dataclass(frozen=True, eq=False)
class KernelLaunch:
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
    bindings: Mapping[str, DeviceBuffer | Sliced | object]
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
        """Return True if it has neither groups nor atomics: what is shared is kept apart for each worker, in double."""

    def parts(self, elements: int, group: int, totals: int, *, scatters: bool) -> int:
        """Into how many partial sums, by groups of this size, work on elements is split.

        ``scatters`` says that groups keep sums of tensors while they work.
        """

    def copies(self, elements: int, scalars: int) -> int:
        """Return how many copies of a tensor's totals threads are spread over, so that sums stay exact."""

    def load(self, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]) -> DeviceProgram:
        """Compile a module's entry points for this device.

        Raises:
            CompileError: Slang rejects it.
            ToolchainError: A compiler is missing or failed, or the driver does not take the code.
        """

    def buffer(self, dtype: np.dtype[Any], count: int) -> DeviceBuffer:
        """Take memory.

        Raises:
            ToolchainError: There isn't that much.
        """

    def texture(self, texels: npt.NDArray[Any], sampler: Texture) -> DeviceBuffer | object:
        """Return a texture of rows of texels: float32, with an axis of 2 or 4 channels or none.

        Raises:
            ToolchainError: There isn't that much memory.
        """

    def sampler(self, texture: Texture) -> object:
        """What a texture is sampled with, as it is bound."""

    def submit(self, launches: Sequence[KernelLaunch], cleared: Sequence[DeviceBuffer] = ()) -> None:
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
