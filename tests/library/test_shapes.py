"""The vector, matrix, whole-number and element functions of slangad's Slang module, on the CPU and for every target."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.compiled import compiled
from support.library import IMPORTS, LIBRARY, Function, build, run

from slangad.compiler.ir.targets import ALWAYS
from slangad.compiler.runtime.device.cpu_kernels import CpuModule, build_module
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.session import compile_here

pytestmark = pytest.mark.toolchain

UNARY = ["sqrt", "rsqrt", "rcp", "exp2", "log2", "log10", "radians", "degrees", "asin", "acos"]
UNARY += ["expm1", "log1p", "erf", "relu", "sigmoid", "softplus"]
UNARY += ["floor", "ceil", "trunc", "round", "sign"]
BINARY = ["pow", "atan2", "hypot", "step", "fmod", "mod", "floor_div"]
ARITY = {**dict.fromkeys(UNARY, 1), **dict.fromkeys(BINARY, 2), "smoothstep": 3}


def by_component(name: str, size: int) -> Function:
    call = f"sa::{name}({', '.join(f'x{k}' for k in range(ARITY[name]))})"
    return Function(f"{name}_{size}", call, ARITY[name], "float", size, size)


@pytest.fixture(scope="module")
def components() -> CpuModule:
    return build([by_component(name, size) for name in ARITY for size in (1, 2, 3, 4)])


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("name", ARITY)
def test_vectors__by_component__agree_with_numbers(name: str, size: int, components: CpuModule) -> None:
    rng = np.random.default_rng(size)
    arity = ARITY[name]
    x = rng.uniform(0.1, 0.9, (9, arity, size))
    moved, seed = rng.normal(size=x.shape), rng.normal(size=(9, size))
    whole = run(components, by_component(name, size), x.reshape(9, -1), moved.reshape(9, -1), seed)
    for c in range(size):
        alone = run(components, by_component(name, 1), x[:, :, c], moved[:, :, c], seed[:, c : c + 1])
        assert whole.value[:, c].tolist() == alone.value[:, 0].tolist()
        assert whole.tangent[:, c].tolist() == alone.tangent[:, 0].tolist()
        assert whole.gradient.reshape(9, arity, size)[:, :, c].tolist() == alone.gradient.tolist()


LENGTH = Function("of_length", "sa::length(x0)", 1, "float", 3)
DISTANCE = Function("of_distance", "sa::distance(x0, x1)", 2, "float", 3)
NORMALIZE = Function("of_normalize", "sa::normalize(x0)", 1, "float", 3, 3)
REFRACT = Function("of_refract", "sa::refract(x0, x1, x2.x)", 3, "double", 3, 3)
SUM = Function("of_sum", "sa::sum(x0)", 1, "float", 4)
WIDE = Function("of_wide", "sa::normalize(x0)", 1, "double", 4, 4)


@pytest.fixture(scope="module")
def geometry() -> CpuModule:
    return build([LENGTH, DISTANCE, NORMALIZE, SUM])


@pytest.fixture(scope="module")
def wide() -> CpuModule:
    return build([REFRACT, WIDE])


def arrows(count: int = 50) -> np.ndarray:
    """Vectors of every length a float can square, and of those it can't."""
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(count, 3))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return (drawn * np.exp(np.linspace(np.log(1e-36), np.log(1e38), count))[:, None]).astype(np.float32).astype(float)


def test_length__from_tiny_to_huge__is_exact(geometry: CpuModule) -> None:
    v, moved = arrows(), np.random.default_rng(4).normal(size=(50, 3))
    size = np.sqrt((v * v).sum(axis=1, keepdims=True))
    found = run(geometry, LENGTH, v, moved, np.array([[2.0]]))
    np.testing.assert_allclose(found.value, size, rtol=1e-6)
    np.testing.assert_allclose(found.gradient, 2.0 * v / size, atol=1e-6)
    np.testing.assert_allclose(found.tangent, (v / size * moved).sum(axis=1, keepdims=True), atol=2e-6)


def test_normalize__from_tiny_to_huge__is_exact(geometry: CpuModule) -> None:
    v, rng = arrows(), np.random.default_rng(5)
    moved, seed = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    size = np.sqrt((v * v).sum(axis=1, keepdims=True))
    n = v / size
    found = run(geometry, NORMALIZE, v, moved, seed)
    np.testing.assert_allclose(found.value, n, atol=1e-6)
    for got, given in ((found.gradient, seed), (found.tangent, moved)):
        wanted = given - n * (n * given).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(got * size, wanted, atol=4e-6)


def test_geometry__of_zero_vectors__is_zero(geometry: CpuModule) -> None:
    nothing, ones = np.zeros((1, 3)), np.ones((1, 3))
    for function, x in ((LENGTH, nothing), (NORMALIZE, nothing), (DISTANCE, np.ones((1, 6)))):
        found = run(geometry, function, x, np.ones_like(x), ones[:, : function.result_size])
        for part in (found.value, found.gradient, found.tangent):
            assert np.all(part == 0.0), function.name


def test_distance__gradients__are_opposite(geometry: CpuModule) -> None:
    found = run(geometry, DISTANCE, np.array([[1.0, 2.0, 3.0, 1.0, 5.0, 7.0]]), np.ones((1, 6)), np.array([[5.0]]))
    assert found.value[0, 0] == pytest.approx(5.0)
    np.testing.assert_allclose(found.gradient[0], [0.0, -3.0, -4.0, 0.0, 3.0, 4.0], atol=1e-5)


def test_sum__gradient__is_the_cotangent_everywhere(geometry: CpuModule) -> None:
    found = run(geometry, SUM, np.array([[1.0, 2.0, 3.0, 4.5]]), np.ones((1, 4)), np.array([[2.5]]))
    assert (found.value[0, 0], found.tangent[0, 0], found.gradient[0].tolist()) == (10.5, 4.0, [2.5] * 4)


def refracted(x: np.ndarray) -> np.ndarray:
    i, n, eta = x[:, :3], x[:, 3:6], x[:, 6:7]
    d = (i * n).sum(axis=1, keepdims=True)
    k = 1.0 - eta * eta * (1.0 - d * d)
    return np.where(k < 0.0, 0.0, eta * i - (eta * d + np.sqrt(np.maximum(k, 0.0))) * n)


def test_refract__bent_and_total__agree_with_differences(wide: CpuModule) -> None:
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.uniform(-0.6, 0.6, (40, 6)), rng.choice([0.6, 1.9], (40, 1)), np.zeros((40, 2))], axis=1)
    seed, step = rng.normal(size=(40, 3)), 1e-6
    found = run(wide, REFRACT, x, np.zeros((40, 9)), seed)
    steps = np.eye(9) * step
    wanted = np.stack([((refracted(x + e) - refracted(x - e)) * seed).sum(axis=1) / (2 * step) for e in steps], axis=1)
    np.testing.assert_allclose(found.value, refracted(x), atol=1e-13)
    np.testing.assert_allclose(found.gradient, wanted, atol=1e-6 * (1.0 + np.abs(wanted).max()))


def test_normalize__of_doubles__has_their_precision(wide: CpuModule) -> None:
    x = np.array([[1e-200, 2e-200, 2e-200, 4e-200]])
    found = run(wide, WIDE, x, np.zeros((1, 4)), np.zeros((1, 4)))
    np.testing.assert_allclose(found.value[0], np.array([1.0, 2.0, 2.0, 4.0]) / 5.0, rtol=1e-15)


WHOLE = """
import slangad_integers;
[shader("compute")] [numthreads(1, 1, 1)]
void whole(uint3 at: SV_DispatchThreadID, uniform StructuredBuffer<int> x, uniform RWStructuredBuffer<int> result)
{
    int i = int(at.x);
    int a = x[2 * i];
    int b = x[2 * i + 1];
    result[4 * i] = sa::floor_div(a, b);
    result[4 * i + 1] = sa::mod(a, b);
    result[4 * i + 2] = sa::floor_div(int3(a, 7, a), int3(b, -2, 3)).y + sa::mod(int2(-7), int2(5)).x
        + sa::sign(int2(a)).y;
    result[4 * i + 3] = int(sa::mod(uint(a), uint(b))) + sa::sum(int3(a, b, 1));
}
"""


def test_whole_numbers__of_every_sign__divide_as_in_python() -> None:
    least, most = -(2**31), 2**31 - 1
    some = [least, least + 1, -7, -2, -1, 1, 2, 3, 7, most]
    pairs = [(a, b) for a, b in itertools.product([0, *some], some) if (a, b) != (least, -1)]
    job = CompileJob("whole.slang", WHOLE, ("whole",), ("cpp",), modules=LIBRARY, whole=True)
    built = compiled(job)
    assert not built.messages, built.messages
    module = build_module(built.artefacts[0].data, built.reflection_text("cpp"))
    x = np.array([*pairs, (least, -1), (5, 0)], np.int32)
    result = np.zeros((len(x), 4), np.int32)
    module.launch("whole", (len(x), 1, 1), {"x": x.reshape(-1), "result": result.reshape(-1)}, {}, workers=1)
    assert result[: len(pairs), :2].tolist() == [[a // b, a % b] for a, b in pairs]
    assert result[len(pairs) :, :2].tolist() == [[least, 0], [0, 0]]
    assert result[:, 2].tolist() == [-4 + 3 + int(np.sign(a)) for a in x[:, 0]]
    wrapped = [(a % 2**32 % (b % 2**32) if b else 0) + int(a) + int(b) + 1 for a, b in x.tolist()]
    assert result[:, 3].tolist() == [(w + 2**31) % 2**32 - 2**31 for w in wrapped]


SELECT = """
struct Ball : IDifferentiable { float radius; float3 at; }

[Differentiable] float pair(float4 x)
{
    float a[4] = { x.x, x.y, x.z, x.w };
    int i = int(x.w) - 3;
    return sa::at(a, i) * sa::at(a, 1) + a[1];
}

[Differentiable] float sums(float4 x)
{
    float a[4] = { x.x, x.y, x.z, x.w };
    float s = 0.0;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            s += sa::at(a, i) * sa::at(a, j);
    return s;
}

[Differentiable] float part(float4 x)
{
    int i = int(x.w) - 3;
    return sa::at(x, i) * sa::at(x, 1) * sa::at(x, 2);
}

[Differentiable] float rows(float4 x)
{
    float2x2 m = float2x2(x.x, x.y, x.z, x.w);
    int i = int(x.w) - 3;
    return sa::at(sa::at(m, i), 1) * sa::at(sa::at(m, 1), i) * sa::at(m, 1).y;
}

[Differentiable] float ball(float4 x)
{
    Ball a[2];
    a[0].radius = x.x;
    a[0].at = x.xyz;
    a[1].radius = x.w;
    a[1].at = x.yzw;
    int i = int(x.w) - 3;
    return sa::at(a, i).radius * sa::at(a, 1).at.z + sa::at(sa::at(a, i).at, 2);
}

[Differentiable] float ratio(float4 x)
{
    float2x2 m = sa::div(float2x2(x.x, x.y, x.z, x.w), float2x2(x.w, x.x, x.y, x.z));
    return m[0][0] + 2.0 * m[0][1] + 3.0 * m[1][0] + 4.0 * m[1][1];
}
"""
X = np.array([[1.5, 2.0, -0.5, 4.25]])
SELECTED = {
    "pair": (6.0, [0, 5, 0, 0]),
    "sums": (52.5625, [14.5] * 4),
    "part": (-2.0, [0, -2, 4, 0]),
    "rows": (4.25**3, [0, 0, 0, 3 * 4.25**2]),
    "ball": (4.25 * 4.25 + 4.25, [0, 0, 0, 2 * 4.25 + 1]),
    "ratio": (
        1.5 / 4.25 + 2 * 2.0 / 1.5 - 3 * 0.5 / 2.0 - 4 * 4.25 / 0.5,
        [1 / 4.25 - 4 / 2.25, 2 / 1.5 + 1.5 / 4, 1.5 - 4 * 4.25 / 0.25, -1.5 / 4.25**2 - 8],
    ),
}


@pytest.fixture(scope="module")
def selection() -> CpuModule:
    functions = [selected(name) for name in SELECTED]
    return build(functions, SELECT)


def selected(name: str) -> Function:
    return Function(f"of_{name}", f"{name}(x0)", 1, "float", 4)


@pytest.mark.parametrize("name", SELECTED)
def test_elements__equal_at_run_time__lose_no_term(name: str, selection: CpuModule) -> None:
    value, gradient = SELECTED[name]
    found = run(selection, selected(name), X, np.array([[0.5, -1.0, 2.0, 1.0]]), np.array([[2.0]]))
    assert found.value[0, 0] == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(found.gradient[0], 2.0 * np.array(gradient), rtol=1e-5)
    assert found.tangent[0, 0] == pytest.approx(float(np.dot(gradient, [0.5, -1.0, 2.0, 1.0])), rel=1e-5)


def everything(type_: str) -> str:
    calls = [f"sa::{n}({', '.join(['v', 'w', 'v'][:a])})" for n, a in ARITY.items()]
    calls += ["sa::normalize(v)", "sa::refract(v, w, v.x)"]
    calls += [f"{type_}3({c})" for c in ("sa::length(v)", "sa::distance(v, w)", "sa::sum(v)", "sa::at(v, i)")]
    calls += [f"sa::at(sa::div({type_}3x3(v, w, v), {type_}3x3(w, w, v)), i)"]
    return f"""
{IMPORTS}
[Differentiable] {type_}3 all_of({type_}3 v, {type_}3 w, int i) {{ return {" + ".join(calls)}; }}
[shader("compute")] [numthreads(32, 1, 1)]
void everything(uint3 at: SV_DispatchThreadID, uniform RWStructuredBuffer<{type_}> x)
{{
    {type_}3 a = {type_}3(x[0], x[1], x[2]);
    var v = diffPair(a);
    var w = diffPair(a * a);
    bwd_diff(all_of)(v, w, int(at.x), a);
    var moved = fwd_diff(all_of)(diffPair(a, v.d), diffPair(a, w.d), int(at.x));
    x[at.x] = moved.d.x + {type_}(sa::floor_div(int(at.x), 3) + sa::mod(int(at.x), 3));
}}
"""


@pytest.mark.parametrize("type_", ["float", "half", "double"])
def test_library__for_every_target__compiles_without_a_word(type_: str) -> None:
    targets = tuple(t for t in ALWAYS if type_ != "double" or t not in ("metal", "wgsl"))
    job = CompileJob("everything.slang", everything(type_), ("everything",), targets, modules=LIBRARY)
    (result,) = compile_here([job])
    assert not result.messages, result.messages
    assert {a.target for a in result.artefacts} == set(targets)
