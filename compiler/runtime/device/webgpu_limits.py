"""Refuse shaders and sizes that exceed a limit of WebGPU, with an error that names the limit.

Without this check the driver refuses them in its own words, or ends the process.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.errors.diagnostics import ToolchainError
    from slangad.compiler.runtime.device.wgsl import Shader

    Limits = Mapping[str, int]

_ELSEWHERE: Final = "use another device"
_HALF: Final = "shader-f16"
_WIDE: Final = "vec8<"
"""Slang's text for a row of halfs in a uniform. WGSL has no such type."""


def no_double(what: str) -> ToolchainError:
    """Return the error for code that computes in double."""
    return limit_error(what, "needs double, which it does not have")


def check_types(emitted: EmittedModule, entries: Collection[str]) -> None:
    """Refuse entry points whose parameters are doubles.

    Raises:
        ToolchainError: There is one.
    """
    for entry in emitted.entry_points:
        doubles = [p.parameter for p in entry.parameters if p.scalar.name == "double" and entry.symbol in entries]
        if doubles:
            raise no_double(entry.kernel)


def check_shader(shader: Shader, limits: Limits, features: Collection[str]) -> None:
    """Refuse a shader that needs half precision, more buffers or larger groups than the device has.

    Raises:
        ToolchainError: It does.
    """
    if shader.has_half and _HALF not in features:
        raise limit_error(shader.entry, "computes in half precision, which this device lacks")
    if _WIDE in shader.code:
        raise limit_error(shader.entry, "has a uniform of half matrices or arrays, which Slang can't write in WGSL")
    for needed, limit, what in (
        (shader.storage_buffers, "max-storage-buffers-per-shader-stage", "buffers at once"),
        (math.prod(shader.group), "max-compute-invocations-per-workgroup", "threads in a group"),
        *_extents(shader),
    ):
        if needed > limits[limit]:
            raise limit_error(shader.entry, f"needs {needed} {what}, and this device has {limits[limit]}")


def _extents(shader: Shader) -> Iterator[tuple[int, str, str]]:
    for size, axis in zip(shader.group, "xyz", strict=True):
        yield size, f"max-compute-workgroup-size-{axis}", f"threads along {axis} of a group"


def check_groups(entry: str, groups: Sequence[int], limits: Limits) -> None:
    """Refuse more groups along an axis than there can be.

    Raises:
        ToolchainError: There are more.
    """
    most = limits["max-compute-workgroups-per-dimension"]
    if max(groups) > most:
        raise limit_error(entry, f"needs {max(groups)} groups along an axis, and this device has {most}")


def check_memory(size: int, limits: Limits) -> None:
    """Refuse a buffer that is too large to be bound.

    Raises:
        ToolchainError: It is.
    """
    most = min(limits["max-buffer-size"], limits["max-storage-buffer-binding-size"])
    if size > most:
        message = f"too little memory on webgpu: a buffer of {_mib(size)} is needed, and one has {_mib(most)} at most"
        raise failed("SA251", message, help="run on fewer elements at a time")


def check_texture(height: int, width: int, limits: Limits) -> None:
    """Refuse a texture that is too large.

    Raises:
        ToolchainError: It is.
    """
    most = limits["max-texture-dimension-2d"]
    if max(height, width) > most:
        raise limit_error(
            "a texture", f"has {height} by {width} texels, and those of this device have {most} along an axis"
        )


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"


def limit_error(what: str, why: str) -> ToolchainError:
    """Return the error for an exceeded limit of the device."""
    return failed("SA253", f"WebGPU can't do this: {what} {why}", help=_ELSEWHERE)
