"""Which device ``auto`` is: the drivers of this machine go in, a name comes out.

A GPU is taken only if it exists as hardware and runs a kernel right, in a process of its own since a driver may crash.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

PROBE_LIMIT: Final = 60.0
"""Seconds a device may take before it counts as hanging."""

_SOFTWARE: Final = ("llvmpipe", "lavapipe", "swiftshader", "warp", "basic render")
_PREFERENCES: Final = {
    "linux": ("cuda", "vulkan", "webgpu"),
    "win32": ("cuda", "d3d12", "vulkan", "webgpu"),
    "darwin": ("metal", "webgpu"),
}
"""WebGPU last: what it runs on is faster without it, but its drivers may be the ones that work."""
_ANY: Final = ("/dev/dri", "/dev/nvidiactl", "/dev/dxg")
_HARDWARE: Final = {"cuda": ("/dev/nvidiactl", "/dev/dxg"), "vulkan": _ANY, "webgpu": _ANY}


def best_device() -> str:
    """The best device that works: a GPU, else the CPU."""
    for name in _PREFERENCES.get(sys.platform, ()):
        if _may_exist(name):
            works, adapter = try_device(name)
            if works and not is_software(adapter):
                return name
    return "cpu"


def is_software(adapter: str) -> bool:
    """Whether a GPU's driver does without one, going by what it is called."""
    return any(word in adapter.lower() for word in _SOFTWARE)


def _may_exist(name: str) -> bool:
    """Whether it is worth a try: on Linux a GPU has a file of its own."""
    return sys.platform != "linux" or any(Path(place).exists() for place in _HARDWARE[name])


def try_device(name: str) -> tuple[bool, str]:
    """Run a kernel on a device; whether it was right, and what the device is called or why it was not.

    Whatever happens there, it happens to another process.
    """
    command = [sys.executable, "-m", "slangad.compiler.runtime.device.probe", name]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=PROBE_LIMIT, check=False)  # noqa: S603  (our own module)
    except subprocess.TimeoutExpired:
        return False, f"it did not answer within {PROBE_LIMIT:.0f} s"
    if not ended.stdout:
        return False, f"it crashed (exit status {ended.returncode})"
    report = json.loads(ended.stdout)
    return bool(report["works"]), str(report["adapter"] or report["reason"])
