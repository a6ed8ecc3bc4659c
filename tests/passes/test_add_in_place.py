"""Loops in loops add to the gradients of arrays where they lie."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slangad.compiler.emit import emit_module
from slangad.compiler.frontends import load
from slangad.compiler.ir import nodes as ir
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """import slangad as sa
from slangad import Array, Each

@sa.kernel
def f(x: Each[Array[Array[float, 16], 8]], y: Each[Array[float, 16]]) -> Each[float]:
"""
PAIRS = """    total = 0.0
    for i in range(8):
        for j in range(8):
            d = 0.0
            for k in range(16):
                d += x[i][k] * x[j][k]
            total += sa.sin(d)
    return total
"""


def adding(tmp_path: Path, body: str) -> tuple[dict[str, tuple[str, ...]], str]:
    """The arrays that functions add to, by the functions' names, and the text."""
    path = tmp_path / "f.py"
    path.write_text(HEAD + body)
    module = run_passes(load(path))
    found = {f.name: tuple(p.name for p in f.params if p.direction == "inout") for f in module.functions}
    assert not [f.name for f in module.functions if found[f.name] and f.role is not ir.Role.PLAIN]
    return {name: arrays for name, arrays in found.items() if arrays}, emit_module(module).text


def backward_of(text: str, name: str) -> str:
    return re.search(rf"^void {name}\(.*?^}}", text, re.DOTALL | re.MULTILINE)[0]  # type: ignore[index]


def test_add_in_place__nests__add_to_the_outermost_arrays(tmp_path: Path) -> None:
    found, text = adding(tmp_path, PAIRS)
    assert set(found) == {"f_loop_add", "f_step_add"}
    outermost = backward_of(text, "f_loop_bwd_3")
    assert "d_x, d_x_i)" in outermost
    assert len(re.findall(r"\+=", outermost)) == 1, "the row of the outer loop, which is a part of d_x"
    assert "FStepGradient_3" not in text


def test_add_in_place__loops_that_call_none__stay_as_they_are(tmp_path: Path) -> None:
    found, text = adding(
        tmp_path, "    d = 0.0\n    for k in range(16):\n        d += y[k] * x[k // 2][k]\n    return d\n"
    )
    assert found == {}
    assert "_add(" not in text


def test_add_in_place__arrays_that_an_iteration_changes__are_returned(tmp_path: Path) -> None:
    body = """    z = sa.copy(y)
    for i in range(8):
        for k in range(16):
            z[k] += sa.sin(z[k] * x[i][k])
    return z[3]
"""
    found, _ = adding(tmp_path, body)
    assert found
    assert not [name for arrays in found.values() for name in arrays if name.startswith("d_z")]


def test_add_in_place__what_slang_has_to_differentiate__stays_with_it(tmp_path: Path) -> None:
    body = PAIRS.replace("            total += sa.sin(d)\n", "            total += sa.sin(d) * y[(i * j) % 16]\n")
    unknown = body.replace(
        "            total +=",
        "            z = sa.copy(y)\n            z[(i + j) % 16] = d\n            total += z[j] *",
    )
    assert adding(tmp_path, body)[0]
    _, text = adding(tmp_path, unknown)
    assert "bwd_diff(f_step_2)" in text
