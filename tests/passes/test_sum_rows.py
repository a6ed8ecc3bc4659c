"""Sums of rows that are not products of a group have derivatives of their own; products of arrays become loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import slangad as sa
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.ir.nodes import Accumulation
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.ir.nodes import Module

FILE = """
import slangad as sa
from slangad import Array, Each, Mean, NoDiff, OutTensor, Param

@sa.kernel
def fit({params}) -> Mean[float]:
{body}
    return y[0]
"""
LAYER = "w: Param[Array[Array[float, {columns}], {rows}]], x: Each[Array[float, {columns}]]"
LOOPS = (
    "    y = Array[float, {rows}]()\n    for i in range({rows}):\n        total = 0.5\n"
    "        for j in range({columns}):\n            total += w[i][j] * x[j]\n        y[i] = total"
)


def module(tmp_path: Path, body: str, rows: int, columns: int, params: str = LAYER) -> Module:
    """The module after the passes, which check it."""
    file = tmp_path / "sums.py"
    sizes = {"rows": rows, "columns": columns}
    file.write_text(FILE.format(params=params.format(**sizes), body=body.format(**sizes)), encoding="utf-8")
    return run_passes(load(file))


@pytest.mark.parametrize(("rows", "columns"), [(1100, 3), (3, 1100), (300, 300)])
def test_sums__of_long_rows_or_many__have_derivatives_of_their_own(tmp_path: Path, rows: int, columns: int) -> None:
    found = {f.name for f in module(tmp_path, LOOPS, rows, columns).functions}
    assert {"fit_sums_term", "fit_sums_bwd", "fit_sums_fwd"} <= found


def test_sums__of_products_of_a_group__stay_products(tmp_path: Path) -> None:
    made = module(tmp_path, LOOPS, 100, 100)
    assert not any("sums" in f.name for f in made.functions)
    assert [b.accumulation.value for b in made.buffers if b.name == "w"] == ["matrix"]


@pytest.mark.parametrize("product", ["w @ x", "sa.mul(w, x)"])
def test_product__of_an_array_of_arrays__is_one_of_a_group(tmp_path: Path, product: str) -> None:
    made = module(tmp_path, f"    y = {product}", 16, 32)
    assert [b.accumulation.value for b in made.buffers if b.name == "w"] == ["matrix"]


def test_product__of_an_array_of_arrays__has_its_value_in_python_execution() -> None:
    Vector, Rows = sa.Array[float, 3], sa.Array[sa.Array[float, 3], 2]
    rows, x = Rows([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), Vector(1.0, 1.0, 2.0)
    assert [*sa.mul(rows, x)] == [9.0, 21.0]
    with pytest.raises(TypeError, match=r"3 columns, 2 rows"):
        sa.mul(rows, sa.Array[float, 2](1.0, 1.0))


@pytest.mark.parametrize(
    ("product", "words"),
    [
        ("x @ x", "Array[float, 30] is not an array of arrays of floats"),
        ("w @ x", "Array[Array[float, 32], 16] by Array[float, 30] does not fit: 32 columns, 30 rows"),
    ],
)
def test_product__that_does_not_fit__names_both_sizes(tmp_path: Path, product: str, words: str) -> None:
    params = "w: Param[Array[Array[float, 32], 16]], x: Each[Array[float, 30]]"
    with pytest.raises(CompileError) as caught:
        module(tmp_path, f"    y = {product}", 16, 32, params)
    (found,) = caught.value.diagnostics
    assert found.message == words


@pytest.mark.parametrize(
    ("rows", "columns", "extra", "why"),
    [
        (1100, 3, "", "its 1100 rows and 3 columns are more than 1024 together"),
        (300, 300, "", "the kernel's matrices have 90000 entries, more than 60000"),
        (10, 5, "", ""),
        (20, 5, ", out: OutTensor[float, 1]", "the kernel stores into a tensor"),
    ],
)
def test_reason__of_a_product_that_stays_loops__is_kept(
    tmp_path: Path, rows: int, columns: int, extra: str, why: str
) -> None:
    made = module(tmp_path, LOOPS, rows, columns, LAYER + extra)
    assert next((b.why for b in made.buffers if b.name == "w"), "") == why


def test_product__with_a_matrix_of_halfs__is_one_of_the_group(tmp_path: Path) -> None:
    params = "w: Param[Array[Array[sa.half, {columns}], {rows}]], x: Each[Array[float, {columns}]]"
    made = module(tmp_path, LOOPS.replace("w[i][j]", "float(w[i][j])"), 20, 5, params)
    assert [(b.accumulation, b.why) for b in made.buffers if b.name == "w"] == [(Accumulation.MATRIX, "")]


def test_product__of_halfs__stays_loops(tmp_path: Path) -> None:
    params = "w: Param[Array[Array[sa.half, {columns}], {rows}]], x: Each[Array[sa.half, {columns}]]"
    made = module(tmp_path, LOOPS.replace("w[i][j] * x[j]", "float(w[i][j] * x[j])"), 20, 5, params)
    assert [b.accumulation.is_matrix for b in made.buffers if b.name == "w"] == [False]
