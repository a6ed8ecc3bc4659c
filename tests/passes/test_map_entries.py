"""Which loops that set entries of an array become functions of their own, before a product of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
import math

import slangad as sa
from slangad import Array, Each, Param, float2

Layer = sa.nn.Linear(16, 9)


@sa.kernel
def fit(net: Param[Layer], x: Each[float2], z: Each[Array[float, 16]]) -> Each[Array[float, 9]]:
    y = Array[float, 16]()
{loop}
    return net(y)
"""
MAPPED = {
    "entries": ["for i in range(16):", "    y[i] = math.sin(x.x + z[i])"],
    "rows by numbers": ["for i in range(8):", "    y[i * 2] = x.x * i", "    y[2 * i + 1] = math.cos(x.y)"],
    "rows by a loop": ["for i in range(4):", "    for k in range(4):", "        y[i * 4 + k] = x.y * k + i"],
    "a number by a loop": [
        "for i in range(16):", "    total = 0.0", "    for k in range(3):", "        total += x.x * k",
        "    y[i] = total",
    ],
}  # fmt: skip
LEFT = {
    "half of a row": ["for i in range(8):", "    y[i * 2] = x.x * i"],
    "a row where it is needed": [
        "for i in range(8):", "    y[i * 2] = x.x", "    if x.y > 0.0:", "        y[i * 2 + 1] = x.y"
    ],
    "an entry of the next row": [
        "for i in range(8):", "    y[i * 2] = x.x", "    y[i * 2 + 1] = x.y", "    if i < 7:",
        "        y[i * 2 + 2] = 1.0",
    ],
    "every second entry of as many": ["for i in range(16):", "    if i < 8:", "        y[i * 2] = x.x * i"],
    "rows that read the array": [
        "for i in range(8):", "    y[i * 2] = x.x", "    y[i * 2 + 1] = y[0] + x.y"
    ],
    "rows of another width": ["for i in range(4):", "    for k in range(2):", "        y[i * 4 + k] = x.x * k"],
}  # fmt: skip

WITHOUT_DERIVATIVE = """
import slangad as sa
from slangad import Array, Each, Param

Layer = sa.nn.Linear(16, 9)


@sa.function
def sign(x: float) -> float:
    return 1.0 if x > 0.0 else -1.0


@sa.function
def signs(z: Array[float, 16]) -> Array[float, 16]:
    y = Array[float, 16]()
    for i in range(16):
        y[i] = sign(z[i])
    return y


@sa.kernel
def fit(net: Param[Layer], z: Each[Array[float, 16]]) -> Each[Array[float, 9]]:
    return net(sa.no_diff(signs(z)))
"""


def names(tmp_path: Path, lines: list[str]) -> set[str]:
    """The functions of the module after the passes, which check it."""
    file = tmp_path / "loop.py"
    file.write_text(FILE.format(loop="\n".join(f"    {line}" for line in lines)), encoding="utf-8")
    return {function.name for function in run_passes(load(file)).functions}


@pytest.mark.parametrize("lines", MAPPED.values(), ids=MAPPED)
def test_loop__that_sets_all_entries_in_order__has_derivatives_of_its_own(tmp_path: Path, lines: list[str]) -> None:
    assert "fit_y_entry" in names(tmp_path, lines)


@pytest.mark.parametrize("lines", LEFT.values(), ids=LEFT)
def test_loop__that_sets_others__stays(tmp_path: Path, lines: list[str]) -> None:
    assert not any(name.startswith("fit_y") for name in names(tmp_path, lines))


def test_loop__of_a_function_without_derivative__stays(tmp_path: Path) -> None:
    file = tmp_path / "loop.py"
    file.write_text(WITHOUT_DERIVATIVE, encoding="utf-8")
    assert not any(function.name.startswith("signs_y") for function in run_passes(load(file)).functions)
