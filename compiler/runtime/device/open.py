"""Open a device by name."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

from slangad.compiler.runtime.device.choice import best_device
from slangad.compiler.runtime.device.table import AUTO, DEVICES
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from slangad.compiler.errors.diagnostics import ToolchainError
    from slangad.compiler.runtime.device.model import Device

_OPENED: Final[set[str]] = set()
"""The GPUs that this process has opened."""
_INHERITED: Final[set[str]] = set()
"""In a fork: the GPUs that its parent had opened. The drivers' threads do not exist here: calls hang or crash."""


def open_device(name: str = AUTO, *, limit: float | None = None) -> Device:
    """Open a device by name.

    Args:
        name: One of ``DEVICES``, or ``auto`` for a GPU that works, else the CPU.
        limit: Seconds that a submission may take on the CPU before it counts as hanging.

    Raises:
        ToolchainError: The device does not exist or does not work.
    """
    if name == AUTO:
        name = best_device()
    if name not in DEVICES:
        raise unknown_device(name)
    if name != "cpu" and _INHERITED:
        raise _forked(name)
    module, _, function = DEVICES[name].opener.partition(":")
    device: Device = getattr(import_module(module), function)(name, limit)
    if name != "cpu":
        _OPENED.add(name)
    return device


def unknown_device(name: str) -> ToolchainError:
    """Return the error for a name that no device has."""
    return failed("SA250", f"there is no device {name!r}", help=f"there are {', '.join(DEVICES)} and {AUTO}")


def _forked(name: str) -> ToolchainError:
    """Return the error for a GPU in a fork of a process that had opened one."""
    opened = ", ".join(sorted(_INHERITED))
    message = f"the device {name} can't be used here: this process is a fork of one that had opened {opened}"
    help_ = "start processes with multiprocessing's method 'spawn', or run kernels on GPUs in the child only"
    return failed("SA249", message, help_)


def _inherit() -> None:
    _INHERITED.update(_OPENED)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_inherit)
