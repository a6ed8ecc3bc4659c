"""Which combinations of parameters run: of tests in several sizes every second one. ``SLANGAD_ALL=1`` runs all.

Vulkan and WebGPU in software share the text that slangad emits, the driver, and its compiler of machine code. That
takes most of the time of large kernels. What they don't share is what Slang makes of the text. So a test of devices
that has other parameters, such as sizes, runs with each of them on one of the two, in turn; and what is written out as
on GPUs the other way round:

| size | vulkan | webgpu | vulkan as on GPUs | webgpu as on GPUs |
|---|---|---|---|---|
| 1st | runs | | | runs |
| 2nd | | runs | runs | |
| 3rd | runs | | | runs |

So every size runs in every way that there is, and both devices run every test. A test without other parameters runs on
both; marked ``one_driver``, in one way on each. Tests whose rows name the device, and those marked ``both_drivers``,
run with all parameters on both; some divide their work by ``share``. Of a size, the devices that the table leaves out
do not run. Other devices run everything. These two do so as well unless VK_DRIVER_FILES names the driver in software,
as .ci/run does: elsewhere they may be GPUs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from zlib import crc32

from support.devices import AS_ON_GPUS, SOFTWARE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest


EVERYTHING = os.environ.get("SLANGAD_ALL") == "1" or "lvp_icd" not in os.environ.get("VK_DRIVER_FILES", "")


def is_covered(item: pytest.Item) -> bool:
    """Return True if a test of devices runs with its parameters."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    where = next((name for name in ("kernels", "gpu", "device") if name in parameters), "")
    device = str(parameters.get(where, ""))
    name = device.removesuffix(AS_ON_GPUS)
    if EVERYTHING or name not in SOFTWARE or item.get_closest_marker("both_drivers"):
        return True
    others = [names for names in _parametrized(item) if where not in names]
    if not others and not item.get_closest_marker("one_driver"):
        return True
    rows = sum(item.callspec.indices[names[0]] for names in others)
    return (crc32(item.originalname.encode()) + rows + SOFTWARE.index(name) + (name != device)) % 2 == 0


def share(device: str) -> tuple[int, int]:
    """Return which share of its work a test does on a device, and the number of shares: one of two in software."""
    return (0, 1) if EVERYTHING or device not in SOFTWARE else (SOFTWARE.index(device), len(SOFTWARE))


def _parametrized(item: pytest.Item) -> Iterable[tuple[str, ...]]:
    """Yield the names of each ``parametrize`` of a test."""
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        yield tuple(names.replace(" ", "").split(",")) if isinstance(names, str) else tuple(names)
