"""Entry points: what a runtime is told about them, which ones there are, and the same bytes each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.cpu import build

from slangad.compiler.emit import EmittedModule, EntryPoint, Mode, emit_module
from slangad.compiler.frontends import load
from slangad.compiler.ir.text_form.printer import parse
from slangad.compiler.passes import run_passes

DESCRIBED = Path(__file__).parent / "described"
LIGHTING = """module m from "m.py"
struct Light Light { color: float3 no_diff kind: float on: bool weights: Array[float2, 4] }
function f f(l: Light, x: half, no_diff s: Light, n: int) -> float { return (l.color.x * cast float(x)) }
kernel lit f dims 2 group (4, 16) {
param l: each Light
param x: each half
param no_diff s: uniform Light
param n: each int
result "result": each float
}
"""


def emit(text: str) -> EmittedModule:
    return emit_module(run_passes(parse(text)))


def rows(entry: EntryPoint) -> list[tuple[object, ...]]:
    return [(p.name, p.role.value, p.path, p.scalar.name, p.shape, p.access) for p in entry.parameters]


def test_entry_points__forward__bind_every_leaf() -> None:
    entry = emit(LIGHTING).entry_points[0]
    assert (entry.name, entry.kernel, entry.mode, entry.group_size) == ("lit_forward", "lit", Mode.FORWARD, (16, 4, 1))
    assert rows(entry) == [
        ("domain", "domain", (), "uint", (2,), "value"),
        ("l_color", "input", ("color",), "float", (3,), "read"),
        ("l_kind", "input", ("kind",), "float", (), "read"),
        ("l_on", "input", ("on",), "uint", (), "read"),
        ("l_weights", "input", ("weights",), "float", (4, 2), "read"),
        ("x", "input", (), "half", (), "read"),
        ("s_color", "uniform", ("color",), "float", (3,), "value"),
        ("s_kind", "uniform", ("kind",), "float", (), "value"),
        ("s_on", "uniform", ("on",), "uint", (), "value"),
        ("s_weights", "uniform", ("weights",), "float", (4, 2), "value"),
        ("n", "input", (), "int", (), "read"),
        ("result", "result", (), "float", (), "write"),
    ]


def test_entry_points__backward_and_jvp__have_buffers_for_what_carries_gradient() -> None:
    _, backward, jvp = emit(LIGHTING).entry_points
    assert [r[0] for r in rows(backward) if r[5] == "write"] == ["l_color_grad", "l_weights_grad", "x_grad"]
    assert [r[0] for r in rows(backward) if r[1] == "cotangent"] == ["result_cotangent"]
    assert [r[0] for r in rows(jvp) if r[1] == "tangent"] == ["l_color_tangent", "l_weights_tangent", "x_tangent"]
    assert [r[0] for r in rows(jvp) if r[5] == "write"] == ["result", "result_tangent"]


@pytest.mark.parametrize(
    ("params", "result"),
    [
        ("param no_diff x: each float", "x"),
        ("param no_diff x: uniform float", "x"),
        ("param x: each float", "cast int(x)"),
    ],
)
def test_entry_points__without_any_gradient__are_forward_only(params: str, result: str) -> None:
    type_ = "int" if "int" in result else "float"
    module = f"""module m from "m.py"
function f f(x: float) -> {type_} {{ return {result} }}
kernel k f dims 1 group (32) {{ {params} result "result": each {type_} }}"""
    assert [e.mode for e in emit(module).entry_points] == [Mode.FORWARD]


def test_emitted__two_processes__same_bytes() -> None:
    code = (
        "import sys; from pathlib import Path; from slangad.compiler.frontends import load;"
        "from slangad.compiler.passes import run_passes; from slangad.compiler.emit import emit_module;"
        "sys.stdout.write(emit_module(run_passes(load(Path(sys.argv[1])))).text)"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code, str(DESCRIBED / "smooth.py")],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(seen) == 1


@pytest.mark.toolchain
def test_launch__threads_outside_the_domain__touch_nothing() -> None:
    program = build(load(DESCRIBED / "values.py"))
    entry = program.entry("grid", Mode.FORWARD)
    shape = (3, 5)
    x = np.ones(shape, np.float32)
    buffers = {"x": x.reshape(-1), "y": x.reshape(-1), "result": np.full(64, -1.0, np.float32)}
    program.device.launch(entry.name, (32, 32, 1), buffers, {"domain": np.array(shape, np.uint32)}, workers=1)
    rows_, columns = np.indices(shape)
    np.testing.assert_array_equal(buffers["result"][:15].reshape(shape), rows_ + 10 * columns + 500)
    assert (buffers["result"][15:] == -1.0).all()


@pytest.mark.toolchain
def test_launch__half_and_double__keep_their_types() -> None:
    module = parse("""module m from "m.py"
function f f(x: half, v: half3, d: double) -> double
{ return (cast double((v.x * (x * 0.5::half))) * (d * 0.1::double)) }
kernel k f dims 1 group (8) { param x: each half param v: each half3 param d: each double result "result": each double }
""")
    program = build(module)
    given = {"x": np.array([3.0]), "v": np.array([[2.0, 0.0, 0.0]]), "d": np.array([7.0])}
    assert program.run("k", Mode.FORWARD, given, (1,))["result"].tolist() == [3.0 * (7.0 * 0.1)]
    found = program.run("k", Mode.BACKWARD, {**given, "result_cotangent": np.array([2.0])}, (1,))
    assert {n: v.dtype.name for n, v in found.items()} == {
        "x_grad": "float16",
        "v_grad": "float16",
        "d_grad": "float64",
    }
    np.testing.assert_allclose(found["x_grad"], [2.0 * 1.0 * 0.7], rtol=1e-3)
    np.testing.assert_allclose(found["v_grad"], [[2.0 * 1.5 * 0.7, 0.0, 0.0]], rtol=1e-3)
    assert found["d_grad"].tolist() == [2.0 * 3.0 * 0.1]
