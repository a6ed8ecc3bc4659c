"""Plan launches of generated kernels between those of a pipeline, and compile only the kernels that are needed.

A step becomes a launch once its module is on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from slangad.compiler.emit.entry_points.steps import GROUP, emit_steps, entry_name
from slangad.compiler.emit.model import GROUPS_A_ROW
from slangad.compiler.runtime.arrays.signature import DTYPES
from slangad.compiler.runtime.device.model import BuildOptions, KernelLaunch, RepeatingDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slangad.compiler.runtime.device.model import Device, DeviceBuffer, DeviceProgram, Repeatable
    from slangad.compiler.toolchain.cache import Cache

_Wanted = tuple[str, str, str]

_LOADED: WeakKeyDictionary[Device, dict[frozenset[_Wanted], DeviceProgram]] = WeakKeyDictionary()
"""Modules already on devices. Pipelines reuse them, since compiling takes longer than a run."""
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def scalar_name(buffer: DeviceBuffer) -> str:
    """Return the Slang name of a buffer's scalar type."""
    return _NAMES[buffer.dtype.str.lstrip("<=|")]


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a generated kernel over ``count`` scalars."""

    entry: str
    count: int
    bindings: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class HostWork:
    """Work of the host between launches. The launches before it are done when it runs."""

    run: Callable[[], None]


@dataclass(slots=True)
class Steps:
    """The generated kernels that one pipeline needs."""

    wanted: dict[_Wanted, None] = field(default_factory=dict)
    program: DeviceProgram | None = None

    def step(self, kind: str, scalar: str, count: int, other: str = "", /, **bindings: object) -> Step:
        """Return a step of a kind."""
        self.wanted[kind, scalar, other] = None
        return Step(entry_name(kind, scalar, other), count, bindings)

    def zero(self, target: DeviceBuffer) -> Step:
        """Set a buffer to zero."""
        return self.step("zero", scalar_name(target), target.count, target=target)

    def add(self, source: DeviceBuffer, target: DeviceBuffer) -> Step:
        """Add a buffer to another, of another scalar type maybe."""
        return self._between("add", source, target)

    def copy(self, source: DeviceBuffer, target: DeviceBuffer) -> Step:
        """Copy a buffer to another, of another scalar type maybe."""
        return self._between("copy", source, target)

    def _between(self, kind: str, source: DeviceBuffer, target: DeviceBuffer) -> Step:
        return self.step(kind, scalar_name(source), source.count, scalar_name(target), source=source, target=target)

    def load(self, device: Device, cache: Cache | None) -> None:
        """Compile the requested kernels, once per device."""
        if not self.wanted:
            return
        loaded, wanted = _LOADED.setdefault(device, {}), frozenset(self.wanted)
        if wanted not in loaded:
            emitted = emit_steps(self.wanted)
            names = tuple(entry.name for entry in emitted.entry_points)
            loaded[wanted] = device.load(emitted, BuildOptions(cache=cache), names)
        self.program = loaded[wanted]

    def launches(self, planned: Iterable[KernelLaunch | Step | HostWork]) -> list[KernelLaunch | HostWork]:
        """Return the planned launches, ready to submit; steps over nothing are left out."""
        return [self._launch(one) if isinstance(one, Step) else one for one in planned if not _is_empty(one)]

    def _launch(self, step: Step) -> KernelLaunch:
        assert self.program is not None  # noqa: S101  (loaded)
        bindings = {"count": step.count, **step.bindings}
        return KernelLaunch(self.program, step.entry, _folded(step.count), bindings)


@dataclass(slots=True)
class RepeatedSteps:
    """Launches and work of the host that run many times; without work of the host, the device may keep them.

    Attributes:
        place: The torch device with whose stream they are in order, if it shares the device's memory.
    """

    device: Device
    planned: Sequence[KernelLaunch | HostWork]
    place: object = None
    kept: Repeatable | None = None

    def submit(self, times: int) -> None:
        """Run all so many times."""
        if self.kept is None and isinstance(self.device, RepeatingDevice):
            launches = [one for one in self.planned if isinstance(one, KernelLaunch)]
            if launches and len(launches) == len(self.planned):
                self.kept = self.device.repeatable(launches, self.place)
        if self.kept is not None:
            self.kept.submit(times)
        else:
            submit(self.device, [*self.planned] * times)

    def close(self) -> None:
        """Release what the device keeps."""
        if self.kept is not None:
            self.kept.close()


def submit(device: Device, planned: Iterable[KernelLaunch | HostWork]) -> None:
    """Submit launches to a device, and do the work of the host between them."""
    for is_work, group in groupby(planned, lambda one: isinstance(one, HostWork)):
        if not is_work:
            device.submit([one for one in group if not isinstance(one, HostWork)])
            continue
        device.wait()
        for one in group:
            assert isinstance(one, HostWork)  # noqa: S101  (grouped)
            one.run()


def _is_empty(one: KernelLaunch | Step | HostWork) -> bool:
    return isinstance(one, Step) and one.count == 0


def _folded(count: int) -> tuple[int, int, int]:
    """Return the thread counts as rows, each with as many groups as every API allows."""
    row = GROUPS_A_ROW * GROUP
    return (count, 1, 1) if count <= row else (row, -(-count // row), 1)
