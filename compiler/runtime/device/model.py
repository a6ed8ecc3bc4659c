"""Define the interface of all devices: ``Device``, ``DeviceBuffer``, ``DeviceProgram``, and the data of a launch.

``run``, ``train`` and the calls from Python use devices through these protocols, whichever device it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

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
    """The options of compiling a module: folders of imports, macros, the cache."""

    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    cache: Cache | None = None


class DeviceBuffer(Protocol):
    """Scalars on a device, one after the other. Its contents are undefined until an upload, ``fill`` or a launch."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the dtype of the scalars."""

    @property
    def count(self) -> int:
        """Return the number of scalars."""

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy an array with the same number of scalars of this dtype to the device."""

    def download(self) -> npt.NDArray[Any]:
        """Return the contents along one axis; waits for earlier submissions."""

    def take(self) -> npt.NDArray[Any]:
        """Return the contents, or the memory itself, of a buffer that is not used any more."""

    def fill(self, number: float) -> None:
        """Set everything to one number."""

    def close(self) -> None:
        """Release the memory."""


@dataclass(frozen=True, slots=True)
class Sliced:
    """A buffer of ``Device.copies`` equal slices on a host device: each worker sees one slice."""

    buffer: DeviceBuffer
    slices: int


@dataclass(frozen=True, eq=False)
class KernelLaunch:
    """One dispatch. Launches compare by identity; data that devices keep for one is dropped with it.

    Attributes:
        program: The result of ``Device.load``.
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


class Repeatable(Protocol):
    """Launches that are submitted many times."""

    def submit(self, times: int) -> None:
        """Run the launches so many times, in order with other submissions. May return before they are done.

        Raises:
            ToolchainError: A kernel crashed, or the driver failed.
        """

    def close(self) -> None:
        """Release what the device keeps for them."""


@runtime_checkable
class RepeatingDevice(Protocol):
    """A device that starts launches faster if they are always the same."""

    def repeatable(self, launches: Sequence[KernelLaunch], place: object = None) -> Repeatable | None:
        """Return launches that are submitted many times; None if the device has nothing to keep for them.

        Args:
            launches: The launches.
            place: The torch device with whose current stream they are in order; None: in order with submissions.
        """


class DeviceProgram(Protocol):
    """An emitted module on a device."""

    @property
    def emitted(self) -> EmittedModule:
        """Return the module that was loaded."""


class Device(Protocol):
    """An open device. Close it, or use it in a ``with``. Only the thread that holds ``lock`` may use it."""

    @property
    def name(self) -> str:
        """Return its name in ``DEVICES``."""

    @property
    def adapter(self) -> str:
        """Return the machine's name for it."""

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Return the lock that threads hold from the first upload to the last download; it is reentrant."""

    @property
    def host(self) -> bool:
        """Return True if it has neither groups nor atomics: each worker has its own sums, in double."""

    @property
    def has_last_group(self) -> bool:
        """Return True if the last group of a kernel adds up its few totals (``LAST_GROUP``)."""

    def parts(self, elements: int, group: int, totals: int, *, scatters: bool) -> int:
        """Return the number of partial sums, by groups of this size, that work on elements is split into.

        ``scatters`` says that groups keep sums of tensors while they work.
        """

    def copies(self, elements: int, scalars: int, *, alone: bool = False) -> int:
        """Return how many copies of a tensor's totals threads are spread over, so that sums stay exact.

        ``alone`` says that groups keep no sums of it.
        """

    def load(self, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]) -> DeviceProgram:
        """Compile a module's entry points for this device.

        Raises:
            CompileError: Slang rejects it.
            ToolchainError: A compiler is missing or failed, or the driver does not take the code.
        """

    def buffer(self, dtype: np.dtype[Any], count: int) -> DeviceBuffer:
        """Allocate memory.

        Raises:
            ToolchainError: There isn't that much.
        """

    def texture(self, texels: npt.NDArray[Any], sampler: Texture) -> DeviceBuffer | object:
        """Return a texture of rows of texels: float32, with an axis of 2 or 4 channels or none.

        Raises:
            ToolchainError: There isn't that much memory.
        """

    def sampler(self, texture: Texture) -> object:
        """Return the sampler of a texture, as it is bound."""

    def submit(self, launches: Sequence[KernelLaunch], cleared: Sequence[DeviceBuffer] = ()) -> None:
        """Run launches one after the other; each sees what those before it wrote. May return before they are done.

        Args:
            launches: The launches to run.
            cleared: Buffers that are set to zero first.

        Raises:
            ToolchainError: A kernel crashed, or the driver failed.
        """

    def wait(self) -> None:
        """Wait until everything submitted is done."""

    def close(self) -> None:
        """Release all resources."""

    def __enter__(self) -> Device: ...

    def __exit__(self, *_: object) -> None: ...
