"""Which reads of a row become one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.frontends import load
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.walk import body_exprs, statements
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

FILE = """import slangad as sa
from slangad import Each, InOutTensor, NoDiff, Tensor

@sa.kernel
def f(i: Each[int], j: Each[int], x: Each[float], w: {type}) -> Each[float]:
    y = 0.0
{body}
    return y
"""
PAIRED = {
    "one statement": (["y = w[i, j] + w[i, j + 1]"], 1),
    "two statements": (["a = w[i, j]", "k = min(j + 1, 9)", "y = k * a * w[i, j + 1]"], 1),
    "an index that changes afterwards": (["k = j", "y = w[i, k] * w[i, k + 1]", "k = 0", "y += w[i, k]"], 1),
    "two rows": (["y = w[i, j] + w[i, j + 1] + w[i + 1, j] * w[i + 1, j + 1]"], 2),
    "three of a row": (["y = w[i, j] + w[i, j + 1] * w[i, j + 2]"], 1),
    "in a branch": (["if x > 0.0:", "    y = w[i, j] + w[i, j + 1]"], 1),
    "in a loop": (["for k in range(4):", "    y += w[k, j] * w[k, j + 1]"], 1),
}
ALONE = {
    "one element twice": ["y = w[i, j] * w[i, j]"],
    "a column": ["y = w[i, j] + w[i + 1, j]"],
    "an index of the second that changes": ["k = j", "a = w[i, j]", "k = k + 1", "y = a + w[i, k]"],
    "an index of the first that changes": [
        "k = j", "a = w[i, k]", "k = k + 3", "b = w[i, k]", "k = 0", "y = a * b * w[i, j]",
    ],
    "a read that may not run": ["y = w[i, j] if x > 0.0 else w[i, j + 1]"],
    "a read after a return": ["y = w[i, j]", "if x > 0.0:", "    return y", "y += w[i, j + 1]"],
    "no gradient": ["y = w[i, j] + sa.no_diff(w[i, j + 1])"],
}  # fmt: skip


def pairs(tmp_path: Path, body: list[str], type_: str = "Tensor[float, 2]") -> int:
    """The calls of functions that read a pair."""
    path = tmp_path / "f.py"
    path.write_text(FILE.format(type=type_, body="\n".join(f"    {line}" for line in body)))
    module = run_passes(load(path))
    made = {f.key for f in module.functions if f.role is ir.Role.PAIR}
    calls = (e for f in module.functions for e in body_exprs(statements(f)) if isinstance(e, ir.Call))
    return sum(call.function in made for call in calls)


@pytest.mark.parametrize(("body", "count"), PAIRED.values(), ids=PAIRED)
def test_pair_reads__of_one_row__are_calls(tmp_path: Path, body: list[str], count: int) -> None:
    assert pairs(tmp_path, body) == count


@pytest.mark.parametrize("body", ALONE.values(), ids=ALONE)
def test_pair_reads__others__are_left(tmp_path: Path, body: list[str]) -> None:
    assert pairs(tmp_path, body) == 0


def test_pair_reads__of_other_tensors__are_left(tmp_path: Path) -> None:
    body = ["y = float(w[i, j]) + float(w[i, j + 1])"]
    assert [pairs(tmp_path, body, t) for t in ("Tensor[sa.half, 2]", "NoDiff[Tensor[float, 2]]")] == [0, 0]
