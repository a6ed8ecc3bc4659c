"""Share code of all GPU devices: spread elements over groups, keep the bindings of launches and busy devices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from slangad.compiler.emit.model import COPIED_SCALARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.runtime.device.model import Device, KernelLaunch

_GROUPS: Final = 1056
"""Eight groups for each multiprocessor of an H200, where more or fewer are slower (benchmarks/RESULTS.md)."""
_SCATTERING_GROUPS: Final = dict.fromkeys(("cuda", "vulkan"), _GROUPS // 2)
"""Of kernels whose groups keep sums of tensors: these meet more additions where groups are fewer."""
_GROUPS_OF_TOTALS: Final = ((128, _GROUPS // 8), (32, _GROUPS // 4))
"""More sums than the first number: so many groups at most, since each writes a record of all sums."""
_COPIES: Final = (64, 1)
"""Copies that a tensor has at most where all together have as many scalars as the domain, or so many times as many."""
_COPIES_ALONE: Final = (128, 16)
"""The same for tables of which groups keep no sums: copies are all that hot elements have. 128 MiB at most."""
_MOST_COPIES: Final = _GROUPS // 2
"""Each group adds to one copy, and kernels that scatter have no more groups."""
_ADDITIONS: Final = 512
"""Additions to one float that keep its sum within some 1e-5, whatever is added."""

_AWAKE: Final = 2e-3
"""Seconds that a wait polls without a pause; then each pause is a fraction of the time waited so far."""
_GLANCES: Final = 50
_LONGEST_PAUSE: Final = 0.05

Bound = TypeVar("Bound")

_BUSY: Final[list[Device]] = []


def leave_busy(device: Device) -> None:
    """Keep a device that is closed during a submission: releasing it would wait for the submission."""
    _BUSY.append(device)


def is_left_busy() -> bool:
    """Return True if a device was kept busy, so that this process would wait for it at its end."""
    return bool(_BUSY)


def wait_until(is_done: Callable[[], bool]) -> None:
    """Wait such that signals are heard: a driver itself waits deaf."""
    begun = time.perf_counter()
    while not is_done():
        waited = time.perf_counter() - begun
        time.sleep(min(waited / _GLANCES, _LONGEST_PAUSE) if waited > _AWAKE else 0)


def spread(elements: int, group: int, totals: int, scatters_on: str = "") -> int:
    """Return one group per fixed number of elements, at most what keeps a large GPU busy; fewer if each sums much.

    ``scatters_on`` names the device where groups keep sums of tensors.
    """
    scattering = _SCATTERING_GROUPS.get(scatters_on, _GROUPS)
    most = next((groups for above, groups in _GROUPS_OF_TOTALS if totals > above), scattering)
    return max(1, min(most, -(-elements // group)))


def copies_of(elements: int, scalars: int, *, alone: bool = False) -> int:
    """Return the number of copies: more for small tensors, whose elements take many additions.

    ``alone`` says that groups keep no sums of the tensor.
    """
    scalars = max(1, scalars)
    copies, times = _COPIES_ALONE if alone else _COPIES
    fitting = max(COPIED_SCALARS // scalars, min(copies, times * elements // scalars))
    return max(1, min(fitting, _MOST_COPIES, -(-elements // _ADDITIONS)))


class KeptBindings(Generic[Bound]):
    """The bindings of launches, kept from one submission to the next: binding takes most of the time.

    It keeps buffers alive, so it is forgotten together with the launch.
    """

    def __init__(self) -> None:
        self._bound: WeakKeyDictionary[KernelLaunch, Bound] = WeakKeyDictionary()

    def of(self, launch: KernelLaunch, bind: Callable[[], Bound]) -> Bound:
        """Return the bindings of a launch; ``bind`` creates them if the launch is new."""
        bound = self._bound.get(launch)
        if bound is None:
            bound = self._bound[launch] = bind()
        return bound

    def clear(self) -> None:
        """Forget them all."""
        self._bound.clear()
