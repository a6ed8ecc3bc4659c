"""Which combinations of parameters run: of tests marked ``one_driver`` every second one. ``SLANGAD_ALL=1`` runs all.

Vulkan and WebGPU in software share the text that slangad emits, the driver, and its compiler of machine code. That
takes most of the time of large kernels. What they don't share is what Slang makes of the text. So the kernels of one
form in several sizes run on one of the two each, in turn; and what is written out as on GPUs the other way round:

| size | vulkan | webgpu | vulkan as on GPUs | webgpu as on GPUs |
|---|---|---|---|---|
| 1st | runs | | | runs |
| 2nd | | runs | runs | |
| 3rd | runs | | | runs |

So every size runs in every way that there is, and both devices run every test. A test without sizes runs in one way on
each. Of a size, the devices that the table leaves out do not run. Other devices run everything. These two do so as well
unless VK_DRIVER_FILES names the driver in software, as .ci/run does: elsewhere they may be GPUs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from zlib import crc32

from support.devices import AS_ON_GPUS, SOFTWARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pytest


EVERYTHING = os.environ.get("SLANGAD_ALL") == "1" or "lvp_icd" not in os.environ.get("VK_DRIVER_FILES", "")


def is_covered(item: pytest.Item) -> bool:
    """Return True if a test of the fixture ``kernels`` runs with its parameters."""
    if EVERYTHING or not item.get_closest_marker("one_driver"):
        return True
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    device = parameters.get("kernels", "")
    name = device.removesuffix(AS_ON_GPUS)
    if name not in SOFTWARE:
        return True
    rows = sum(_row(mark.args, parameters) for mark in item.iter_markers("parametrize"))
    return (crc32(item.originalname.encode()) + rows + SOFTWARE.index(name) + (name != device)) % 2 == 0


def _row(arguments: tuple[str | tuple[str, ...], Iterable[object]], parameters: Mapping[str, object]) -> int:
    """Return the number of the row of a ``parametrize`` that a test has."""
    names, rows = arguments
    if isinstance(names, str):
        return list(rows).index(parameters[names])
    return list(rows).index(tuple(parameters[name] for name in names))
