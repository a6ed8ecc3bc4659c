"""Refuse launches and arrays that take more memory than a device has to spare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from slangad.compiler.errors.diagnostics import ToolchainError

_SPARE_BYTES: Final = 64 << 20
"""Memory to leave free, in bytes. A larger value refuses more."""
_SPARE_SHARE: Final = 8
"""The part of the free memory to leave free: one in this many. A larger value refuses less."""


def require_memory(device: str, size: int, free: int | None, *, shared: bool = True) -> None:
    """Refuse an allocation that leaves too little memory.

    Args:
        device: The name of the device.
        size: The bytes to allocate.
        free: The bytes that are free, or None if unknown.
        shared: True if other processes take from the same memory.

    Raises:
        ToolchainError: Too little memory is left.
    """
    if free is not None and size > free - max(_SPARE_BYTES, free // _SPARE_SHARE if shared else 0):
        raise too_little_memory(device, size, free)


def too_little_memory(device: str, size: int | None = None, free: int | None = None) -> ToolchainError:
    """Return the error for too little memory, with the needed and the free bytes if they are known."""
    needed = f": {_readable(size)} more are needed" if size is not None else ""
    left = f"; {_readable(free)} are free" if free is not None else ""
    return failed("SA251", f"too little memory on {device}{needed}{left}", help="run on fewer elements at a time")


def _readable(size: int) -> str:
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
