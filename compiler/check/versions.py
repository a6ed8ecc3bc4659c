"""List names and versions of the tools that a check uses, for reports."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Final

from slangad.compiler.runtime.device.cxx import find_cxx
from slangad.compiler.toolchain.locate import find_slangc, toolchain_record

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.check.options import CheckOptions

_PATIENCE: Final = 10.0
"""Seconds that a slangc may take to print its version."""


def used(options: CheckOptions) -> tuple[tuple[str, str], ...]:
    """Return Slang, the C++ compiler, Python, and the device if it is not the CPU, each with its version.

    Raises:
        ToolchainError: There is no Slang.
    """
    device, adapter = options.device, options.adapter
    compiler = find_cxx()
    cxx = (("c++", compiler.described().partition(": ")[2] or compiler.command[0]),) if compiler else ()
    adapter_words = (("adapter", adapter),) if device != "cpu" and adapter else ()
    external = (("slangc", _version_of(options.slangc)),) if options.slangc else ()
    return (*toolchain_record(None).items(), *external, *cxx, ("python", platform.python_version()), *adapter_words)


@cache
def _version_of(slangc: Path) -> str:
    """Return the version that an executable prints; its name if it prints none."""
    try:
        ended = subprocess.run(  # noqa: S603  (the user named it)
            [find_slangc(slangc), "-v"], capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return slangc.name
    return (ended.stdout or ended.stderr).strip().splitlines()[0] if ended.returncode == 0 else slangc.name
