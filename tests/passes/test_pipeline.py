"""The passes together: their order, dumps, what they refuse, and that their defects do not go unseen."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.errors.codes.passes import CODES
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends import load
from slangad.compiler.ir import types
from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.verify.module import InvalidModule
from slangad.compiler.passes import run_passes
from slangad.compiler.passes.order import PASS_NAMES

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Module

DESCRIBED = Path(__file__).parents[1] / "emit" / "described"


def test_run_passes__dump__sees_every_pass_in_order() -> None:
    seen: list[str] = []
    run_passes(parse('module m from "m.py"'), lambda name, module: seen.append(name))
    assert tuple(seen) == PASS_NAMES
    assert PASS_NAMES[:3] == ("array_products", "user_gradients", "forward_mode")
    assert PASS_NAMES[-1] == "declare"


@pytest.mark.parametrize("file", sorted(DESCRIBED.glob("*.py")), ids=lambda f: f.stem)
def test_run_passes__every_intermediate_module__reads_back(file: Path) -> None:
    read: list[Module] = []

    def check(name: str, module: Module) -> None:
        if module not in read[-1:]:  # most passes change nothing of a module
            assert parse(show(module)) == module, name
            read.append(module)

    run_passes(load(file), check)
    assert len(read) > 1


def test_run_passes__broken_module__is_a_defect_that_names_the_pass() -> None:
    module = parse('module m from "m.py" function f f(x: float) -> int { return x }')
    with pytest.raises(InvalidModule, match=r"after the front end: \[SA901\].*returns float, not int"):
        run_passes(module)


def test_activity__gradient_into_a_plain_function__is_refused_with_help() -> None:
    module = parse("""module m from "m.py"
function table lookup(x: float) -> float not_differentiable { return x }
function f f(x: float) -> float locals y: float { set y = (x * 2.0) return call table(y) }""")
    with pytest.raises(CompileError) as caught:
        run_passes(module)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SA301"
    assert "'lookup' is not differentiated" in diagnostic.message
    assert "sa.no_diff" in diagnostic.help
    assert diagnostic.code in CODES


@pytest.mark.parametrize(
    "body",
    [
        "return call table(k)",
        "return no_diff(call table(x))",
        "return call table(cast float(cast int(x)))",
        "if (call bucket(x) > 1) { return x } return 1.0",
    ],
)
def test_activity__call_without_gradient__is_fine(body: str) -> None:
    module = parse(f"""module m from "m.py"
function table table(x: float) -> float not_differentiable {{ return x }}
function bucket bucket(x: float) -> int not_differentiable {{ return cast int(x) }}
function f f(x: float, no_diff k: float) -> float {{ {body.replace("bucket(x)", "bucket(x)::int")} }}""")
    run_passes(module)


def test_run_passes__a_param_of_thousands_of_millions_of_scalars__is_no_work(tmp_path: Path) -> None:
    file = tmp_path / "large.py"
    file.write_text(
        """
import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, float2

Grid = sa.nn.HashGrid(levels=32, features=4, table=1 << 24, base=16, growth=1.3)
Net = sa.nn.MLP([128, 64, 3])


@sa.struct
class Field:
    grid: Grid
    net: Net
    more: Array[Array[float2, 1 << 24], 64]


@sa.kernel
def fit(at: NoDiff[Each[float2]], k: NoDiff[Each[int]], field: Param[Field]) -> Mean[float]:
    total = 0.0
    for c in field.net(field.grid(at)):
        total += c * c
    return total * sa.dot(field.more[k % 64][k], at)
""",
        encoding="utf-8",
    )
    module = run_passes(load(file))
    sizes = {buffer.key: math.prod(buffer.extents) for buffer in module.buffers}
    assert (sizes["fit.field.grid.table"], sizes["fit.field.more"]) == (32 << 24, 64 << 24)


@pytest.mark.parametrize(
    "type_",
    [
        types.FLOAT,
        types.Array(types.Vector(types.FLOAT, 3), 5),
        types.Struct("S", "S", (types.Field("m", types.Matrix(types.DOUBLE, 2, 3)), types.Field("n", types.INT))),
        types.Tuple((types.INT, types.Array(types.Tuple((types.BOOL, types.FLOAT)), 4))),
        types.Tensor(types.FLOAT, 2),
    ],
    ids=str,
)
def test_scalars_of_a_type__are_counted__as_its_leaves(type_: types.Type) -> None:
    assert types.count_scalars(type_) == Counter(leaf.type for leaf in types.leaves(type_))
