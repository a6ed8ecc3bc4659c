"""Plan launches of generated kernels between those of a pipeline, and compile only the kernels that are needed.

A step becomes a launch once its module is on the device.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from slangad.compiler.emit.entry_points.steps import (
    GROUP,
    SHARED,
    buffers_of,
    emit_steps,
    entry_name,
    together_name,
)
from slangad.compiler.emit.model import GROUPS_A_ROW
from slangad.compiler.runtime.arrays.signature import DTYPES
from slangad.compiler.runtime.device.model import BuildOptions, KernelLaunch, RepeatingDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slangad.compiler.runtime.device.model import Device, DeviceBuffer, DeviceProgram, Repeatable
    from slangad.compiler.toolchain.cache import Cache

_Wanted = tuple[str, str, str]

_TOGETHER: Final = ("zero", "sgd", "adam")
"""Kinds that one launch does for several sets of buffers: a launch takes 1 to 10 µs, whatever it does."""
_MOST_SETS: Final = 8
_MOST_ON_HOST: Final = 4096
"""Scalars of steps that a launch on the CPU does together: the loop over larger ones is vector code by itself."""
_MOST_BUFFERS: Final = 30
"""Buffers of one launch; Metal has 31."""
_ALONE: Final = ("webgpu",)
"""Devices where each step is a launch: WebGPU promises eight buffers, and refuses one that is bound twice."""

_LOADED: WeakKeyDictionary[Device, dict[frozenset[object], DeviceProgram]] = WeakKeyDictionary()
"""Modules already on devices. Pipelines reuse them, since compiling takes longer than a run."""
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def scalar_name(buffer: DeviceBuffer) -> str:
    """Return the Slang name of a buffer's scalar type."""
    return _NAMES[buffer.dtype.str.lstrip("<=|")]


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a generated kernel over ``count`` scalars."""

    key: _Wanted
    count: int
    bindings: Mapping[str, object]

    @property
    def entry(self) -> str:
        """Return its entry point."""
        return entry_name(*self.key)


@dataclass(frozen=True, slots=True)
class TogetherSteps:
    """Steps of one kind that one launch does."""

    steps: Sequence[Step]


@dataclass(frozen=True, eq=False)
class HostWork:
    """Work of the host between launches. The launches before it are done when it runs."""

    run: Callable[[], None]


Planned = KernelLaunch | Step | HostWork


@dataclass(slots=True)
class Steps:
    """The generated kernels that one pipeline needs.

    Attributes:
        wanted: Kinds with their scalar types, and the steps of each that have a launch of their own.
        sets: The kinds that launches do for several sets of buffers, and the number of sets.
    """

    wanted: Counter[_Wanted] = field(default_factory=Counter)
    sets: dict[_Wanted, int] = field(default_factory=dict)
    program: DeviceProgram | None = None

    def step(self, kind: str, scalar: str, count: int, other: str = "", /, **bindings: object) -> Step:
        """Return a step of a kind."""
        self.wanted[kind, scalar, other] += 1
        return Step((kind, scalar, other), count, bindings)

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
        keys = [key for key, count in self.wanted.items() if count]
        if not keys and not self.sets:
            return
        loaded, wanted = _LOADED.setdefault(device, {}), frozenset((*keys, *self.sets.items()))
        if wanted not in loaded:
            emitted = emit_steps(keys, self.sets)
            names = tuple(entry.name for entry in emitted.entry_points)
            loaded[wanted] = device.load(emitted, BuildOptions(cache=cache), names)
        self.program = loaded[wanted]

    def together(self, planned: Iterable[Planned], device: Device) -> list[Planned | TogetherSteps]:
        """Return what is planned, with one launch for steps of one kind that follow each other; before ``load``."""
        found: list[Planned | TogetherSteps] = []
        if device.name in _ALONE:
            return [*planned]
        for key, group in groupby(planned, lambda one: _key_of(one, _MOST_ON_HOST if device.host else None)):
            members = [*group]
            steps = [one for one in members if isinstance(one, Step) and one.count]
            if key is None or len(steps) < 2 or not _share(steps):
                found += members
                continue
            kind, scalar, _ = key
            shared, own = buffers_of(kind, scalar)
            sets = min(_MOST_SETS, (_MOST_BUFFERS - shared) // own)
            self.wanted[key] -= len(members)
            self.sets[key] = sets
            found += [TogetherSteps(steps[first : first + sets]) for first in range(0, len(steps), sets)]
        return found

    def launches(self, planned: Iterable[Planned | TogetherSteps]) -> list[KernelLaunch | HostWork]:
        """Return the planned launches, ready to submit; steps over nothing are left out."""
        return [self._ready(one) for one in planned if not _is_empty(one)]

    def _ready(self, one: Planned | TogetherSteps) -> KernelLaunch | HostWork:
        if isinstance(one, Step):
            return self._launch(one.entry, one.count, {"count": one.count, **one.bindings})
        return self._launch_of(one.steps) if isinstance(one, TogetherSteps) else one

    def _launch(self, entry: str, count: int, bindings: Mapping[str, object]) -> KernelLaunch:
        assert self.program is not None  # noqa: S101  (loaded)
        return KernelLaunch(self.program, entry, _folded(count), bindings)

    def _launch_of(self, steps: Sequence[Step]) -> KernelLaunch:
        """Return the launch of several steps. Sets of buffers that are too many are those of the first step, unused."""
        key = steps[0].key
        bindings = {name: value for name, value in steps[0].bindings.items() if name in SHARED}
        for n in range(self.sets[key]):
            step = steps[n] if n < len(steps) else steps[0]
            bindings[f"count{n}"] = step.count if n < len(steps) else 0
            bindings |= {f"{name}{n}": value for name, value in step.bindings.items() if name not in SHARED}
        return self._launch(together_name(*key), max(step.count for step in steps), bindings)


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


def _key_of(one: Planned, most: int | None) -> _Wanted | None:
    """Return the kind of a step of at most so many scalars that others may join; None for anything else."""
    if not isinstance(one, Step) or (most is not None and one.count > most):
        return None
    return one.key if one.key[0] in _TOGETHER else None


def _share(steps: Sequence[Step]) -> bool:
    """Return True if steps have the same buffers where a launch for all of them has one."""
    first = steps[0].bindings
    return all(step.bindings[name] is first[name] for step in steps for name in SHARED if name in first)


def _is_empty(one: Planned | TogetherSteps) -> bool:
    return isinstance(one, Step) and one.count == 0


def _folded(count: int) -> tuple[int, int, int]:
    """Return the thread counts as rows, each with as many groups as every API allows."""
    row = GROUPS_A_ROW * GROUP
    return (count, 1, 1) if count <= row else (row, -(-count // row), 1)
