"""Every way in which gradients come together, times every pattern in which threads hit the elements: within 1e-5.

The script that measures it on a GPU runs here with fewer threads and smaller tensors.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.covering import share
from support.devices import DEVICES, device_of
from support.mesa import quick_to_run

pytestmark = [pytest.mark.toolchain, pytest.mark.both_drivers]

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "accumulation.py"


SMALL = ("--most", "70001", "--largest", "3000", "--kind", "equal")
MIXED = ("--most", "1048576", "--only", "to 2 x 131072", "--kind", "equal")
"""Threads that stop looking for room in the group's memory, although one element is hot."""
TABLE = ("--least", "1048576", "--most", "1048576", "--only", "table.*, (one|two|nine|a power)", "--kind", "equal")
"""Additions that all go to copies, and look rarely at what they lose: by a row, a column, tiles, and half of a row.

Only where some elements are hot: what is lost grows with the additions to one element. Where waves that run beside each
other look together, these patterns lose up to twelve times as much, and all others what they lost before."""


@pytest.mark.parametrize(("cases", "least"), [(SMALL, 848), (MIXED, 15), (TABLE, 42)], ids=["small", "mixed", "table"])
@pytest.mark.parametrize("device", DEVICES)
def test_accumulation__every_way_and_pattern__is_the_sum_of_float64(
    cxx: object, device: str, cases: tuple[str, ...], least: int, tmp_path: Path
) -> None:
    device_of(device)
    number, shares = share(device)
    command = [sys.executable, str(SCRIPT), "--device", device, *cases]
    command += ["--share", str(number), "--shares", str(shares)]
    environment = quick_to_run(tmp_path) if cases is TABLE else None
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    done, of, asked = ended.stdout.split(" launches")[0].split()[-3:]
    assert of == "of"
    assert int(asked) >= least
    assert int(done) >= 0.4 * int(asked) if shares > 1 else done == asked
