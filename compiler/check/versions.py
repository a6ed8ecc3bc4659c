"""List names and versions of the tools that a check uses, for reports."""

from __future__ import annotations

import platform

from slangad.compiler.runtime.device.cxx import find_cxx
from slangad.compiler.toolchain.locate import toolchain_record


def used(device: str, adapter: str) -> tuple[tuple[str, str], ...]:
    """Return Slang, the C++ compiler, Python, and the device if it is not the CPU, each with its version.

    Raises:
        ToolchainError: There is no Slang.
    """
    compiler = find_cxx()
    cxx = (("c++", compiler.described().partition(": ")[2] or compiler.command[0]),) if compiler else ()
    own = (("adapter", adapter),) if device != "cpu" and adapter else ()
    return (*toolchain_record(None).items(), *cxx, ("python", platform.python_version()), *own)
