"""Choose the device for ``auto``: the first GPU of the table that exists as hardware and computes a kernel right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.runtime.device.table import DEVICES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.runtime.device.table import DeviceKind

PROBE_LIMIT: Final = 60.0
"""Seconds until a device counts as hanging."""

_SOFTWARE: Final = ("llvmpipe", "lavapipe", "swiftshader", "warp", "basic render")
"""Substrings of the names of software adapters."""


def best_device() -> str:
    """Return the name of the best device that works: a GPU, else the CPU."""
    candidates = (kind for kind in DEVICES.values() if sys.platform in kind.ranks)
    for kind in sorted(candidates, key=lambda kind: kind.ranks[sys.platform]):
        if _may_exist(kind):
            works, adapter = try_device(kind.name)
            if works and not is_software(adapter):
                return kind.name
    return "cpu"


def is_software(adapter: str) -> bool:
    """Return True if the name of an adapter is that of a driver without a GPU."""
    return any(word in adapter.lower() for word in _SOFTWARE)


def _may_exist(kind: DeviceKind) -> bool:
    """Return True if a device is worth a try. On Linux, a GPU has a file."""
    return sys.platform != "linux" or any(Path(file).exists() for file in kind.files)


def try_device(name: str, environment: Mapping[str, str] | None = None) -> tuple[bool, str]:
    """Run a kernel on a device in a process of its own, since a driver may crash.

    Args:
        name: The device.
        environment: Further variables of that process, such as those that select a driver.

    Returns:
        True if the result is right, and the adapter's name; else False and the reason.
    """
    command = [sys.executable, "-m", "slangad.compiler.runtime.device.probe", name]
    try:
        variables = {**os.environ, **(environment or {})}
        ended = subprocess.run(command, capture_output=True, timeout=PROBE_LIMIT, check=False, env=variables)  # noqa: S603  (our own module)
    except subprocess.TimeoutExpired:
        return False, f"it did not answer within {PROBE_LIMIT:.0f} s"
    if not ended.stdout:
        return False, f"it crashed (exit status {ended.returncode})"
    report = json.loads(ended.stdout)
    return bool(report["works"]), str(report["adapter"] or report["reason"])
