"""Define every device once: its API, the target it compiles to, the function that opens it, and its requirements.

The command line, completion, ``slangad doctor``, ``[tool.slangad.check]`` and the choice of ``auto`` follow this table.
To add a device: add a row here, an opener, and a row in docs/running.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTO: Final = "auto"
"""The name that selects the best working GPU, else the CPU."""


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """One kind of device.

    Attributes:
        name: The name after ``--device``.
        title: Half a line for listings.
        target: The target that its kernels are compiled to, a key of ``TARGETS``.
        opener: The function that opens it, as ``module:function``. It takes the name and the time limit in seconds.
        remedy: Things that the user must install or have.
        tested: False if slangad was never tried on it.
        silent: True if it computes wrong values, without an error, of functions that its target lacks.
        ranks: Where ``auto`` tries it, by ``sys.platform``: smaller numbers come first.
        files: On Linux, paths of which at least one exists where its hardware does.
    """

    name: str
    title: str
    target: str
    opener: str
    remedy: str
    tested: bool = True
    silent: bool = False
    ranks: Mapping[str, int] = field(default_factory=dict)
    files: tuple[str, ...] = ()


_HERE: Final = "slangad.compiler.runtime.device."
_SLANGPY: Final = f"{_HERE}slangpy_device:open_gpu"
_ANY_GPU: Final = ("/dev/dri", "/dev/nvidiactl", "/dev/dxg")

_ROWS: Final = (
    DeviceKind(
        "cpu",
        "this machine's processor",
        target="cpp",
        opener=f"{_HERE}cpu_device:open_cpu",
        remedy="install g++ or clang++, or `pip install ziglang`",
    ),
    DeviceKind(
        "cuda",
        "NVIDIA GPUs",
        target="cuda",
        opener=_SLANGPY,
        remedy="needs an NVIDIA GPU and its driver",
        ranks={"linux": 0, "win32": 0},
        files=("/dev/nvidiactl", "/dev/dxg"),
    ),
    DeviceKind(
        "vulkan",
        "GPUs with a Vulkan driver",
        target="spirv",
        opener=_SLANGPY,
        remedy="install a Vulkan driver; Mesa 25 or later (mesa-vulkan-drivers) has one that needs no GPU",
        silent=True,
        ranks={"linux": 1, "win32": 2},
        files=_ANY_GPU,
    ),
    DeviceKind(
        "d3d12",
        "GPUs with Direct3D 12",
        target="dxil",
        opener=_SLANGPY,
        remedy="needs Windows and a GPU with Direct3D 12",
        tested=False,
        silent=True,
        ranks={"win32": 1},
    ),
    DeviceKind(
        "metal",
        "Apple's GPUs",
        target="metal",
        opener=_SLANGPY,
        remedy="needs macOS",
        tested=False,
        ranks={"darwin": 0},
    ),
    DeviceKind(
        "webgpu",
        "GPUs through wgpu",
        target="wgsl",
        opener=f"{_HERE}webgpu_device:open_webgpu",
        remedy="`pip install wgpu`; needs a Vulkan, Metal or Direct3D 12 driver",
        # Last: other devices are faster on the same hardware, but the drivers of wgpu may be the ones that work.
        ranks={"linux": 9, "win32": 9, "darwin": 9},
        files=_ANY_GPU,
    ),
)

DEVICES: Final = {row.name: row for row in _ROWS}
"""Every device by name."""

DEVICE_NAMES: Final = (AUTO, *DEVICES)
"""Every name that ``--device`` takes."""
