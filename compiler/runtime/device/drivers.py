"""Find every device of this machine, and every Vulkan driver: each is tried in a process of its own."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.runtime.device.choice import try_device
from slangad.compiler.runtime.device.table import DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DRIVER: Final = "VK_DRIVER_FILES"
"""The variable of the Vulkan loader that names the drivers to use."""
_NAMES: Final = (_DRIVER, "VK_ICD_FILENAMES")
_FOLDERS: Final = ("/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d")


@dataclass(frozen=True, slots=True)
class DeviceHere:
    """A device with one of its drivers.

    Attributes:
        name: Its name for ``--device``.
        adapter: Its own name, if it works.
        reason: Why it does not work; empty if it does.
        driver: The name of the driver's file, if the machine has several drivers for the device.
        environment: The variables that select the driver.
    """

    name: str
    adapter: str = ""
    reason: str = ""
    driver: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name with the driver, if that is needed to tell devices apart."""
        return f"{self.name} ({self.driver})" if self.driver else self.name

    @contextmanager
    def selected(self) -> Iterator[None]:
        """Select the driver for the processes that start within the context."""
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def devices_here() -> tuple[DeviceHere, ...]:
    """Return all devices, those that do not work included. A machine with one Vulkan driver has it once."""
    candidates = [one for name in DEVICES for one in _with_drivers(name)]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        tried = list(threads.map(_tried, candidates))
    working = [one for one in tried if one.name == "vulkan" and not one.reason]
    only = len(working) == 1
    return tuple(
        replace(one, driver="") if only and one in working else one
        for one in tried
        if not (working and one.name == "vulkan" and one.reason)
    )


def _with_drivers(name: str) -> Iterator[DeviceHere]:
    files = [file for folder in _FOLDERS for file in sorted(Path(folder).glob("*.json"))]
    if name != "vulkan" or sys.platform != "linux" or any(os.environ.get(key) for key in _NAMES) or not files:
        yield DeviceHere(name)
        return
    for file in files:
        yield DeviceHere(name, driver=file.stem, environment={_DRIVER: str(file)})


def _tried(device: DeviceHere) -> DeviceHere:
    works, detail = try_device(device.name, device.environment)
    return replace(device, adapter=detail) if works else replace(device, reason=detail)
