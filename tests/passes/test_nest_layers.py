"""Which layers of a network become one expression, and between which of them vectors stay tiles."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit.library import LINEAR, library_text
from slangad.compiler.frontends import load
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.layers import (
    LEAST_IN_FLOAT,
    MEMORY_ON_TILES,
    MOST_ON_TILES,
    MOST_RESIDENT,
    MOST_TOGETHER,
    layers_of,
    residents_of,
)
from slangad.compiler.ir.walk import evaluated, statements, stmt_exprs, walk_stmts
from slangad.compiler.passes import run_passes

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.ir.layers import Layer

FILE = """
import slangad as sa
from slangad import Array, Each, Param

First = sa.nn.Linear(16, {width}, precision="half")
Second = sa.nn.Linear({width}, {width}, precision="{precision}")
Third = sa.nn.Linear({width}, 3, precision="half")


@sa.differentiable
def by_place(x: Array[float, {width}]) -> Array[float, {width}]:
    y = Array[float, {width}]()
    for i in range({width}):
        y[i] = x[i] * i
    return y


@sa.differentiable
def one_of(a: Array[float, {width}], b: Array[float, {width}]) -> Array[float, {width}]:
    y = Array[float, {width}]()
    for i in range({width}):
        y[i] = max(a[i], 0.0)
    return y


@sa.kernel
def fit(
    x: Each[Array[float, 16]], first: Param[First], second: Param[Second], third: Param[Third]
) -> Each[Array[float, 3]]:
{body}
"""
CHAIN = ("h = sa.nn.relu(first(x))", "g = sa.nn.tanh(second(h))", "return third(g)")


def module_of(tmp_path: Path, body: tuple[str, ...], width: int = 32, precision: str = "half") -> ir.Module:
    """The module after the passes, which check it."""
    file = tmp_path / "layers.py"
    text = FILE.format(width=width, precision=precision, body="\n".join(f"    {line}" for line in body))
    file.write_text(text, encoding="utf-8")
    return run_passes(load(file))


def layers(tmp_path: Path, body: tuple[str, ...], width: int = 32, precision: str = "half") -> dict[str, Layer]:
    """The layers of the kernel, by parameter."""
    return {key.split(".")[1]: layer for key, layer in layers_of(module_of(tmp_path, body, width, precision)).items()}


def tiles(found: dict[str, Layer]) -> dict[str, tuple[bool, bool]]:
    """Whether each matrix takes vectors as tiles, and gives products as tiles."""
    return {name: (layer.takes_tiles, layer.gives_tiles) for name, layer in found.items()}


ALONE = (False, False)


def test_layers__one_after_another__hold_tiles_between_them(tmp_path: Path) -> None:
    found = layers(tmp_path, CHAIN)
    assert tiles(found) == {"first": (False, True), "second": (True, True), "third": (True, False)}
    assert not found["first"].before
    assert "relu" in found["second"].before
    assert "tanh" in found["third"].before


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            ("h = first(x)", "g = second(sa.nn.relu(h))", "y = third(g)", "y[0] += h[0]", "return y"),
            {"first": ALONE, "second": (False, True), "third": (True, False)}, id="a vector that something else reads",
        ),
        pytest.param(
            ("h = by_place(first(x))", "g = sa.nn.tanh(second(h))", "return third(g)"),
            {"first": ALONE, "second": (False, True), "third": (True, False)}, id="a function of the place",
        ),
        pytest.param(
            ("h = sa.nn.relu(first(x))", "g = second(sa.nn.relu(second(h)))", "return third(g)"),
            {"first": (False, True), "second": (True, True), "third": (True, False)}, id="one matrix twice",
        ),
        pytest.param(
            ("h = sa.nn.relu(first(x))", "g = second(sa.nn.tanh(second(h)))", "return third(g)"),
            {"first": ALONE, "second": ALONE, "third": ALONE}, id="one matrix behind two functions",
        ),
    ],
)  # fmt: skip
def test_layers__that_are_not_all_alike__give_vectors_back(
    tmp_path: Path, body: tuple[str, ...], expected: dict[str, tuple[bool, bool]]
) -> None:
    assert tiles(layers(tmp_path, body)) == expected


@pytest.mark.parametrize(
    "last",
    [
        "y[0] = sa.nn.tanh(h)[3] if x[0] > 0.0 else x[1]",
        "y[0] += 1.0 if x[0] > 0.0 and sa.nn.tanh(h)[3] > 0.5 else 0.0",
    ],
)
def test_products__before_a_choice__stay_before_it(tmp_path: Path, last: str) -> None:
    module = module_of(tmp_path, ("y = third(first(x))", "h = second(first(x))", last, "return y"))
    uncertain = (
        part
        for function in module.functions
        for stmt in walk_stmts(statements(function))
        for expr in stmt_exprs(stmt)
        for part, certain in evaluated(expr)
        if not certain
    )
    assert not [part for part in uncertain if isinstance(part, ir.Linear)]


def test_product__that_nothing_reads__is_there_still(tmp_path: Path) -> None:
    found = layers(tmp_path, ("return third(one_of(first(x), second(first(x))))",))
    assert set(found) == {"first", "second", "third"}


def test_layers__of_a_width_that_is_no_multiple_of_16__give_vectors_back(tmp_path: Path) -> None:
    assert set(tiles(layers(tmp_path, CHAIN, width=24)).values()) == {ALONE}


def test_layers__around_one_on_other_units__give_vectors_back(tmp_path: Path) -> None:
    found = layers(tmp_path, CHAIN, precision="float")  # up to 32 units, Vulkan has tiles for half alone
    assert set(tiles(found).values()) == {ALONE}
    assert all(found[name].before for name in ("second", "third"))


def test_layers__around_one_in_float_on_the_same_units__hold_tiles(tmp_path: Path) -> None:
    found = layers(tmp_path, CHAIN, width=64, precision="float")
    assert tiles(found) == {"first": (False, True), "second": (True, True), "third": (True, False)}


@pytest.mark.parametrize(("units", "linked"), [(64, True), (128, True), (160, False), (688, False)])
def test_layers__after_one_that_other_units_multiply_by__take_vectors(tmp_path: Path, units: int, linked: bool) -> None:
    file = tmp_path / "wide.py"
    file.write_text(WIDE.format(units=units), encoding="utf-8")
    found = {key.rpartition(".")[0][-2:]: layer for key, layer in layers_of(run_passes(load(file))).items()}
    assert found["l1"].gives_tiles == found["l2"].takes_tiles == linked
    assert found["l2"].gives_tiles == found["l3"].takes_tiles


def test_limits__of_units__are_those_of_the_library() -> None:
    text = library_text(LINEAR)
    function = text[text.index("bool on_units<") :]
    assert f"R + C <= {MOST_TOGETHER};" in function
    assert f"R <= {MOST_ON_TILES} && C <= {MOST_ON_TILES} && " in function
    assert f"R > {LEAST_IN_FLOAT - 1} || C > {LEAST_IN_FLOAT - 1}" in function
    assert f"#if defined(SLANGAD_TILES)\nstatic const int STAGE = {MEMORY_ON_TILES};" in text
    assert f"static const int VECTORS = STAGE - {MOST_RESIDENT};" in text


@pytest.mark.parametrize(
    ("units", "precision", "group", "blocks"),
    [
        (32, "half", 256, {"l1.w": 96, "l2.w": 160, "l3.w": 80}),
        (64, "half", 256, {"l2.w": 576}),
        (48, "float", 256, {"l1.w": 288, "l3.w": 224}),  # the one between has 672
        (32, "float", 256, {}),  # on ordinary units, which take all memory
        (32, "half", 512, {}),
    ],
)
def test_matrices__that_fit__stay_in_memory_of_the_group(
    tmp_path: Path, units: int, precision: str, group: int, blocks: dict[str, int]
) -> None:
    file = tmp_path / "three.py"
    file.write_text(THREE.format(units=units, precision=precision), encoding="utf-8")
    matrices = [b for b in run_passes(load(file)).buffers if b.key.endswith(".w")]
    found = residents_of(matrices, group)
    ends = sorted({*found.places.values(), MEMORY_ON_TILES})
    sizes = {place: end - place for place, end in pairwise(ends)}
    assert {key.partition("net.")[2]: sizes[place] for key, place in found.places.items()} == blocks
    assert found.room == ends[0]


THREE = """
import slangad as sa
from slangad import Array, Each, Param

Net = sa.nn.MLP([16, {units}, {units}, 3], "tanh", precision="{precision}")


@sa.kernel
def fit(x: Each[Array[float, 16]], net: Param[Net]) -> Each[Array[float, 3]]:
    return net(x)
"""


WIDE = """
import slangad as sa
from slangad import Array, Each, Param

Net = sa.nn.MLP([16, 48, {units}, 16], "tanh")


@sa.kernel
def fit(x: Each[Array[float, 16]], net: Param[Net]) -> Each[Array[float, 16]]:
    return net(x)
"""
