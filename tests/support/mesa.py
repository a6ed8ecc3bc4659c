"""Settings of Mesa's compiler for the CPU, which is Vulkan and WebGPU on machines without a GPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

QUICK_TO_COMPILE = {"GALLIVM_PERF": "nopt", "LP_NATIVE_VECTOR_WIDTH": "128", "MESA_DISK_CACHE_MULTI_FILE": "1"}
"""Without its optimiser, and with four lanes a wave where the machine's width would give eight or sixteen. Its time
grows with the square of what a kernel reads and adds, and with the lanes."""


def quick_to_run(cache: Path) -> dict[str, str]:
    """Return the environment of a process whose launches take longer than its compiles: Mesa's usual settings.

    A cache has code of one width only: with that of another, kernels with textures end the process.
    """
    usual = {name: value for name, value in os.environ.items() if name not in QUICK_TO_COMPILE}
    return {**usual, "MESA_SHADER_CACHE_DIR": str(cache)}
