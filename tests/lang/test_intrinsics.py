"""The intrinsics table: every row has rules, a meaning, derivatives, kinks and domains that agree with one another."""

from __future__ import annotations

import ast
import builtins
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.table import BOOL3, FLOAT2, FLOAT3, MATRIX, SQUARE, arguments, types_of

import slangad as sa
from slangad.compiler.ir import types as ir
from slangad.compiler.lang import public
from slangad.compiler.lang.intrinsics import INTRINSICS, IntrinsicRow, TypeRuleError, python_equivalents
from slangad.compiler.lang.types import intrinsic_functions
from slangad.compiler.lang.types.intrinsic_functions import FUNCTIONS, IntrinsicFunction
from slangad.compiler.lang.types.operators import call_intrinsic
from slangad.compiler.lang.types.tracing import Dual, Node, apply, new_level, pull
from slangad.compiler.lang.types.values import try_type_of, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.lang.intrinsics.model import Kinks

INT3 = ir.Vector(ir.INT, 3)
ROWS = [pytest.param(row, id=row.name) for row in INTRINSICS.values()]
SMOOTH = [pytest.param(r, id=r.name) for r in INTRINSICS.values() if r.differentiable and not r.cast_of]


@pytest.mark.parametrize("row", ROWS)
def test_rule__of_a_row__accepts_its_types_and_checks_their_number(row: IntrinsicRow) -> None:
    signature = row.rule(types_of(row))
    assert signature.params == types_of(row)
    assert isinstance(signature.result, (ir.Scalar, ir.Vector, ir.Matrix))
    with pytest.raises(TypeRuleError) as caught:
        row.rule(types_of(row)[:-1])
    assert caught.value.argument is None


@pytest.mark.parametrize("row", ROWS)
def test_rule__of_a_row__refuses_structs_and_void(row: IntrinsicRow) -> None:
    for bad in (ir.VOID, ir.Struct("s", "S", ())):
        with pytest.raises(TypeRuleError) as caught:
            row.rule((bad,) * len(row.params))
        assert caught.value.argument is not None


@pytest.mark.parametrize("row", ROWS)
def test_meaning__at_float32__is_that_at_float64(row: IntrinsicRow) -> None:
    for seed in range(20):
        wide = arguments(row, seed)
        narrow = [v.astype(np.float32) if v.dtype == np.float64 else v for v in wide]
        if row.name in ("asfloat", "asint", "asuint"):
            narrow = [n.astype(np.float32) if n.dtype.kind == "f" else n for n in narrow]
            assert np.asarray(row.meaning(np, *narrow)).tobytes() == np.asarray(narrow[0]).tobytes()
            continue
        result = np.asarray(row.meaning(np, *narrow))
        expected = np.asarray(row.meaning(np, *[v.astype(np.float64) if v.dtype == np.float32 else v for v in narrow]))
        assert result.astype(float) == pytest.approx(expected.astype(float), rel=2e-6, abs=2e-6)
        assert np.all(np.isfinite(result.astype(float)))


@pytest.mark.parametrize("row", ROWS)
def test_meaning__called_by_users__gives_the_rule_s_type(row: IntrinsicRow) -> None:
    narrow = [v.astype(np.float32) if v.dtype == np.float64 else v for v in arguments(row, 0)]
    values = [wrapped(v, t) for v, t in zip(narrow, types_of(row), strict=True)]
    result = call_intrinsic(row.name, values)
    assert try_type_of(result) == row.rule(types_of(row)).result
    if not row.cast_of:
        assert try_type_of(FUNCTIONS[row.name](*values)) == try_type_of(result)


def differences(row: IntrinsicRow, values: list[np.ndarray], which: int, direction: np.ndarray) -> np.ndarray:
    h = 1e-6
    ends = []
    for sign in (1.0, -1.0):
        moved = list(values)
        moved[which] = values[which] + sign * h * direction
        ends.append(np.asarray(row.meaning(np, *moved)))
    return (ends[0] - ends[1]) / (2 * h)


def movable(row: IntrinsicRow, values: list[np.ndarray]) -> Iterator[int]:
    return (i for i, v in enumerate(values) if v.dtype.kind == "f" and row.name != "asfloat")


@pytest.mark.parametrize("row", SMOOTH)
def test_derivative__forward__matches_differences(row: IntrinsicRow) -> None:
    for seed in range(5):
        values = arguments(row, seed)
        for which in movable(row, values):
            direction = np.random.default_rng(seed).normal(size=values[which].shape)
            with new_level(reverse=False) as level:
                moved = list(values)
                moved[which] = Dual(level, values[which], direction)
                result = apply(row, *moved)
            tangent = result.tangent if isinstance(result, Dual) else np.zeros(np.shape(result))
            expected = differences(row, values, which, direction)
            assert np.asarray(tangent) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("row", SMOOTH)
def test_derivative__reverse__is_the_transpose_of_forward(row: IntrinsicRow) -> None:
    values = arguments(row, 7)
    rng = np.random.default_rng(7)
    directions = {i: rng.normal(size=values[i].shape) for i in movable(row, values)}
    with new_level(reverse=False) as level:
        moved = [Dual(level, v, directions[i]) if i in directions else v for i, v in enumerate(values)]
        forward = apply(row, *moved)
    seed = rng.normal(size=np.shape(row.meaning(np, *values)))
    with new_level(reverse=True) as level:
        starts = {i: Node(level, v, (), lambda _: ()) for i, v in enumerate(values) if i in directions}
        done = pull([(apply(row, *(starts.get(i, v) for i, v in enumerate(values))), seed)], level)
    across = sum(np.sum(done.get(n.order, 0.0) * directions[i]) for i, n in starts.items())
    along = np.sum(forward.tangent * seed) if isinstance(forward, Dual) else 0.0
    assert across == pytest.approx(along, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("row", [p for p in SMOOTH if p.values[0].kinks])
def test_kinks__where_the_table_says__a_one_sided_derivative_or_the_value_jumps(row: IntrinsicRow) -> None:
    """Values on both sides of a kink: where the distance is zero, something really changes."""
    for kink in row.kinks:
        values = _at_kink(row, kink)
        h = 1e-7
        jumps = []
        for which in movable(row, values):
            ends = [list(values), list(values), list(values)]
            ends[0][which] = values[which] - h
            ends[2][which] = values[which] + h
            low, middle, high = (np.asarray(row.meaning(np, *e)) for e in ends)
            jump, bend = np.max(np.abs(high - low)), np.max(np.abs(high - 2 * middle + low))
            jumps.append(jump > 0.5 if kink.kind == "jump" else bend > h / 4)
        assert any(jumps), kink.text


def _at_kink(row: IntrinsicRow, kink: Kinks) -> list[np.ndarray]:
    given = {
        "min": (0.5, 0.5), "max": (0.5, 0.5), "saturate": (0.0,), "abs": (0.0,), "sign": (0.0,), "step": (1.0, 1.0),
        "fmod": (4.0, 2.0), "mod": (4.0, 2.0), "floor_div": (4.0, 2.0), "atan2": (0.0, -1.0), "round": (1.5,),
        "relu": (0.0,), "hypot": (0.0, 0.0),
        "clamp": {"x == low": (0.2, 0.2, 1.0), "x == high": (1.0, 0.2, 1.0)}.get(kink.text, (0.2, 0.5, 0.5)),
    }  # fmt: skip
    values = [np.float64(v) for v in given.get(row.name, (2.0,))]
    assert np.all(np.asarray(kink.distance(np, *values)) == 0)
    return values


def test_rules__literals_ints_and_halves__meet_as_the_language_says() -> None:
    rule = INTRINSICS["max"].rule
    assert rule([ir.WEAK_INT, ir.FLOAT]).result == ir.FLOAT
    assert rule([ir.WEAK_INT, ir.WEAK_INT]).result == ir.INT
    assert rule([ir.INT, ir.FLOAT, FLOAT3]).result == FLOAT3
    assert rule([ir.UINT, ir.WEAK_INT]).result == ir.UINT
    assert INTRINSICS["sin"].rule([ir.WEAK_INT]).result == ir.FLOAT
    assert INTRINSICS["sin"].rule([INT3]).result == FLOAT3
    assert INTRINSICS["lerp"].rule([ir.HALF, ir.WEAK_FLOAT, ir.WEAK_FLOAT]).result == ir.HALF
    assert INTRINSICS["select"].rule([BOOL3, ir.WEAK_FLOAT, FLOAT3]).params == (BOOL3, FLOAT3, FLOAT3)
    assert INTRINSICS["mul"].rule([FLOAT2, MATRIX]).result == FLOAT3
    assert INTRINSICS["mul"].rule([MATRIX, FLOAT3]).result == FLOAT2
    assert INTRINSICS["mul"].rule([MATRIX, SQUARE]).result == MATRIX
    assert INTRINSICS["isnan"].rule([FLOAT3]).result == BOOL3
    assert INTRINSICS["round_to_int"].rule([FLOAT3]).result == INT3


@pytest.mark.parametrize(
    ("name", "types", "argument", "message"),
    [
        ("max", (ir.FLOAT, ir.HALF), 1, "half does not mix with float"),
        ("max", (ir.INT, ir.UINT), 1, "convert one of them"),
        ("max", (FLOAT3, FLOAT2), 1, "same number of components"),
        ("sin", (ir.UINT,), 0, "float"),
        ("sin", (MATRIX,), 0, "apply it to the rows"),
        ("sin", (ir.BOOL,), 0, "not a number"),
        ("cross", (FLOAT2, FLOAT2), 0, "vector of 3"),
        ("dot", (FLOAT3, ir.FLOAT), 1, "not a vector"),
        ("mul", (FLOAT3, FLOAT3), 1, "sa.dot"),
        ("mul", (MATRIX, FLOAT2), 1, "3 columns, 2 rows"),
        ("mul", (MATRIX, ir.FLOAT), 1, "to scale"),
        ("determinant", (MATRIX,), 0, "not square"),
        ("select", (ir.FLOAT, ir.FLOAT, ir.FLOAT), 0, "the condition is float"),
        ("any", (ir.BOOL,), 0, "not a bool vector"),
        ("refract", (FLOAT3, FLOAT3, FLOAT3), 2, "not a float"),
        ("clamp", (ir.FLOAT,), None, "takes 3 arguments, not 1"),
        ("max", (ir.FLOAT,), None, "at least 2"),
    ],
)
def test_rules__wrong_types__name_the_argument(
    name: str, types: tuple[ir.Type, ...], argument: int | None, message: str
) -> None:
    with pytest.raises(TypeRuleError, match=message) as caught:
        INTRINSICS[name].rule(types)
    assert caught.value.argument == argument


def test_python_equivalents__name_rows_by_identity() -> None:
    assert python_equivalents[builtins.max] == "max"
    assert python_equivalents[math.sin] == "sin"
    assert python_equivalents[builtins.round] == "round_to_int"
    assert set(python_equivalents.values()) <= set(INTRINSICS)
    assert all(INTRINSICS[row.cast_of].name == row.cast_of for row in INTRINSICS.values() if row.cast_of)


def test_typed_stubs_and_public_words__are_the_rows_of_the_table() -> None:
    tree = ast.parse(Path(intrinsic_functions.__file__).read_text(encoding="utf-8"))
    branches = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    stubs = [stub for branch in branches for stub in branch.body if isinstance(stub, ast.FunctionDef)]
    assert sorted(stub.name for stub in stubs) == sorted(FUNCTIONS)
    for stub in stubs:
        assert tuple(a.arg for a in stub.args.args) == INTRINSICS[stub.name].params
        assert (stub.args.vararg is not None) == INTRINSICS[stub.name].variadic
    assert sorted(intrinsic_functions.__all__) == sorted(FUNCTIONS)
    words = [name for name in public.__all__ if isinstance(getattr(public, name), IntrinsicFunction)]
    assert sorted(words) == sorted(FUNCTIONS)


def test_required_intrinsics__are_all_there() -> None:
    wanted = (
        "min max clamp saturate abs sign floor ceil round trunc frac fmod step smoothstep lerp sqrt rsqrt exp exp2 log "
        "log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh dot cross length distance normalize reflect "
        "refract transpose mul determinant select any all relu sigmoid softplus erf hypot log1p expm1 mix"
    )
    assert set(wanted.split()) <= set(INTRINSICS)
    assert all(callable(getattr(sa, name)) for name in wanted.split())
