"""The intrinsics table against Slang itself: values, and gradients in reverse mode, on the CPU."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from support.table import arguments, types_of

from slangad.compiler.ir import types as ir
from slangad.compiler.lang.intrinsics import INTRINSICS, IntrinsicRow
from slangad.compiler.lang.types.tracing import Node, apply, new_level, pull
from slangad.compiler.runtime.device.cpu_kernels import CpuModule, build_module

SEEDS = 16
ROWS = [
    row
    for row in INTRINSICS.values()
    if row.differentiable and not row.cast_of and all(ir.is_floating(t) for t in types_of(row))
]
TEMPLATE = """
[Differentiable]
{result} apply_{name}({params}) {{ return {slang}({args}); }}

[shader("compute")] [numthreads(1, 1, 1)]
void run_{name}(uint3 id : SV_DispatchThreadID, uniform StructuredBuffer<float> x, uniform StructuredBuffer<float> seed,
            uniform RWStructuredBuffer<float> value, uniform RWStructuredBuffer<float> grad)
{{
    uint at = id.x * {inputs};
{loads}
    {result} result = apply_{name}({args});
{stores}
    {result} d_out;
{seeds}
{pairs}
    bwd_diff(apply_{name})({pair_args}, d_out);
{grads}
}}
"""


def spelled(type_: ir.Type) -> str:
    return ir.show(type_)


def entries(type_: ir.Type, name: str) -> list[str]:
    match type_:
        case ir.Vector(size=size):
            return [f"{name}[{i}]" for i in range(size)]
        case ir.Matrix(rows=rows, columns=columns):
            return [f"{name}[{i}][{j}]" for i in range(rows) for j in range(columns)]
        case _:
            return [name]


def program(row: IntrinsicRow) -> str:
    types = types_of(row)
    result = row.rule(types).result
    sizes = [len(entries(t, "")) for t in types]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    outputs = entries(result, "result")
    names = [f"a{i}" for i in range(len(types))]
    loads, grads = [], []
    for name, type_, start in zip(names, types, starts, strict=True):
        loads.append(f"    {spelled(type_)} {name};")
        loads += [f"    {e} = x[at + {start + k}];" for k, e in enumerate(entries(type_, name))]
        grads += [f"    grad[at + {start + k}] = {e};" for k, e in enumerate(entries(type_, f"p_{name}.d"))]
    stores = [f"    value[id.x * {len(outputs)} + {k}] = {e};" for k, e in enumerate(outputs)]
    seeds = [f"    {e} = seed[id.x * {len(outputs)} + {k}];" for k, e in enumerate(entries(result, "d_out"))]
    return TEMPLATE.format(
        name=row.name,
        slang=row.slang,
        result=spelled(result),
        params=", ".join(f"{spelled(t)} {n}" for t, n in zip(types, names, strict=True)),
        args=", ".join(names),
        inputs=sum(sizes),
        loads="\n".join(loads),
        stores="\n".join(stores),
        seeds="\n".join(seeds),
        pairs="\n".join(f"    var p_{n} = diffPair({n});" for n in names),
        pair_args=", ".join(f"p_{n}" for n in names),
        grads="\n".join(grads),
    )


@pytest.fixture(scope="module")
def module(toolchain: object) -> CpuModule:
    from slangad.compiler.toolchain.jobs.request import CompileJob

    library = (files("slangad") / "templates" / "slangad.slang").read_text()
    source = "import slangad;\n" + "".join(program(row) for row in ROWS)
    entry_points = tuple(f"run_{row.name}" for row in ROWS)
    job = CompileJob("table.slang", source, entry_points, ("cpp",), modules=(("slangad.slang", library),), whole=True)
    (result,) = toolchain.compile([job])
    assert result.ok, result.messages
    return build_module(result.artefacts[0].data, result.reflection_text("cpp"))


@pytest.mark.toolchain
@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_row__value_and_gradient__are_slang_s(row: IntrinsicRow, module: CpuModule) -> None:
    samples = [arguments(row, seed) for seed in range(SEEDS)]
    flat = [np.concatenate([np.ravel(a) for a in s]).astype(np.float32) for s in samples]
    outputs = len(entries(row.rule(types_of(row)).result, ""))
    rng = np.random.default_rng(0)
    seed = rng.normal(size=(SEEDS, outputs)).astype(np.float32)
    value, grad = np.zeros((SEEDS, outputs), np.float32), np.zeros_like(np.array(flat))
    buffers = {"x": np.array(flat).ravel(), "seed": seed.ravel(), "value": value.ravel(), "grad": grad.ravel()}
    module.launch(f"run_{row.name}", (SEEDS, 1, 1), buffers, {})
    value, grad = buffers["value"].reshape(value.shape), buffers["grad"].reshape(grad.shape)
    for i, sample in enumerate(samples):
        numbers = [a.astype(np.float32) for a in sample]
        assert value[i] == pytest.approx(np.ravel(row.meaning(np, *numbers)), rel=3e-6, abs=3e-6)
        assert grad[i] == pytest.approx(gradient(row, numbers, seed[i]), rel=2e-5, abs=2e-5)


def gradient(row: IntrinsicRow, numbers: list[np.ndarray], seed: np.ndarray) -> np.ndarray:
    with new_level(reverse=True) as level:
        starts = [Node(level, a, (), lambda _: ()) for a in numbers]
        result = apply(row, *starts)
        done = pull([(result, seed.astype(np.float64).reshape(np.shape(row.meaning(np, *numbers))))], level)
    return np.concatenate([np.ravel(done.get(n.order, np.zeros(n.shape))) for n in starts])
