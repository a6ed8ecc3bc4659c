"""What processes have had of the processor, by /proc: for tests that wait until one is at work. Linux only."""

from __future__ import annotations

import os
from pathlib import Path


def worked(process: int) -> float:
    """Seconds of processor time; none of one that is gone."""
    try:
        user, system = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    except OSError:
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def children_of(process: int) -> list[int]:
    """The processes that one has started, by whichever of its threads."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text(encoding="utf-8").split()]
