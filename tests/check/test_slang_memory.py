"""Slang functions that read memory are checked: its elements are inputs, its gradient is read from other memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

    from slangad.compiler.report.model import Result

BUFFERS = """
StructuredBuffer<float> weights : register(t0);
RWStructuredBuffer<Atomic<float>> atomicGradients : register(u0);
[[vk::binding(1, 0)]] RWStructuredBuffer<float> plainGradients;
"""


def state_of(result: Result, leg: Leg) -> LegState | None:
    return next((one.state for one in result.legs if one.leg is leg), None)


def test_check__a_load_whose_gradient_accumulates_in_a_buffer__is_checked_through_callers(checked: Checked) -> None:
    text = """
StructuredBuffer<float3> positions;
RWStructuredBuffer<float> positionGradients;

[BackwardDerivative(load_bwd)]
float load(uint i) { return weights[i]; }
void load_bwd(uint i, float d) { atomicGradients[i] += d; }

float product(int i) { return weights[i] * weights[i + 1]; }
[BackwardDerivativeOf(product)]
void product_bwd(int i, float d)
{
    float before;
    InterlockedAdd(plainGradients[i], d * weights[i + 1], before);
    add(plainGradients, i + 1, d * weights[i]);
}
void add(RWStructuredBuffer<float> memory, int i, float d) { InterlockedAdd(memory[i], d); }

[BackwardDerivative(position_bwd)]
float3 position(uint i) { return positions[i]; }
void position_bwd(uint i, float3 d)
{
    for (int c = 0; c < 3; ++c)
        InterlockedAdd(positionGradients[3 * i + c], d[c]);
}

[Differentiable] float caller(uint i, float x) { float w = load(i); return w * w * x; }
[Differentiable] float constant(uint i, float x) { return weights[i] * x * x; }

// check: single thread
[BackwardDerivative(alone_bwd)]
float alone(uint i) { return weights[i]; }
void alone_bwd(uint i, float d) { plainGradients[i] += d; }
"""
    results = checked(BUFFERS + text, ".slang")
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(
        ("load", "product", "position", "caller", "constant", "alone"), Verdict.PASS
    )
    for name in ("load", "product", "position", "caller"):
        assert state_of(results[name], Leg.ACCUMULATION) is LegState.AGREES, name
        assert any("forward mode is not checked: the gradient of" in note.message for note in results[name].notes)
    assert state_of(results["alone"], Leg.ACCUMULATION) is None
    assert state_of(results["constant"], Leg.FORWARD) is LegState.AGREES


def test_check__a_wrong_accumulation__fails_and_says_how(checked: Checked) -> None:
    text = """
[BackwardDerivative(missing_bwd)]
float missing(uint i) { return weights[i] * weights[i + 1]; }
void missing_bwd(uint i, float d) { atomicGradients[i] += d * weights[i + 1]; }

[BackwardDerivative(forgotten_bwd)]
float forgotten(uint i) { return weights[i]; }
void forgotten_bwd(uint i, float d) {}

[BackwardDerivative(doubled_bwd)]
float doubled(uint i) { return weights[i]; }
void doubled_bwd(uint i, float d) { atomicGradients[i] += d; atomicGradients[i].add(d); }

[BackwardDerivative(misplaced_bwd)]
float misplaced(uint i) { return weights[i]; }
void misplaced_bwd(uint i, float d) { atomicGradients[i + 1] += d; }

[BackwardDerivative(plain_bwd)]
float plain(uint i) { return weights[i]; }
void plain_bwd(uint i, float d) { plainGradients[i] += d; }

[Differentiable] float direct(uint i) { return load(i) * weights[0]; }
[BackwardDerivative(load_bwd)]
float load(uint i) { return weights[i]; }
void load_bwd(uint i, float d) { InterlockedAdd(plainGradients[i], d); }
"""
    results = checked(BUFFERS + text, ".slang")
    causes = {
        "missing": "an addition to 'atomicGradients', the gradient of 'weights', is missing",
        "forgotten": "nothing is added to 'atomicGradients'",
        "doubled": "is added to 'atomicGradients' twice",
        "misplaced": "is added to other elements of 'atomicGradients'",
        "plain": "a plain store or += is not atomic",
        "direct": "",
    }
    for name, cause in causes.items():
        (failure,) = results[name].failures
        assert failure.leg is (Leg.ACCUMULATION if name == "plain" else Leg.REVERSE), name
        assert failure.column.startswith("weights["), name
        assert cause in failure.cause, name
    assert "additions to 'plainGradients', the gradient of 'weights'" in results["plain"].failures[0].message
    assert results["load"].verdict is Verdict.PASS


PAIR = """[BackwardDerivative({0}_bwd)]
float2 {0}(DiffTensorView t, uint i) {{ return {{ t[uint2(i, 0)], t[uint2(i, 1)] }}; }}"""


def test_check__a_wrong_accumulation_in_a_diff_tensor__fails_and_says_how(checked: Checked) -> None:
    once = "t.diff.diff.InterlockedAdd(uint2(i, 1), d.y, old);"
    bodies = {
        "sound": once,
        "missing": "",
        "doubled": once + once,
        "misplaced": "t.diff.diff.InterlockedAdd(uint2(i, 2), d.y, old);",
        "plain": "t.diff.diff[uint2(i, 1)] = t.diff.diff[uint2(i, 1)] + d.y;",
        "replaced": "t.diff.diff.store(uint2(i, 1), d.y);",
    }
    start = "float old; t.diff.diff.InterlockedAdd(uint2(i, 0), d.x, old);"
    derivatives = (
        f"{PAIR.format(name)}\nvoid {name}_bwd(DiffTensorView t, uint i, float2 d)\n{{ {start}\n{body} }}"
        for name, body in bodies.items()
    )
    caller = (
        "[Differentiable] float caller(DiffTensorView t, uint i) { float2 v = sound(t, i); return v.x * v.y * t[i]; }"
    )
    alone = PAIR.format("alone").replace("[", "// check: single thread\n[", 1)
    alone += f"\nvoid alone_bwd(DiffTensorView t, uint i, float2 d) {{ {start} {bodies['plain']} }}"
    results = checked("\n".join((*derivatives, caller, alone)), ".slang")
    causes = {
        "missing": "no statement for this gradient reads d.y",
        "doubled": "the gradient of 't' is added to 't.diff.diff' twice",
        "misplaced": "is added to other elements of 't.diff.diff'",
        "plain": "a plain store or += is not atomic",
        "replaced": "a plain store or += is not atomic",
    }
    for name, cause in causes.items():
        (failure,) = results[name].failures
        assert failure.leg is (Leg.ACCUMULATION if name in ("plain", "replaced") else Leg.REVERSE), name
        assert cause in failure.cause, name
        assert failure.column.startswith("t["), name
    assert "lose each other's additions to 't.diff.diff', the gradient of 't'" in results["plain"].failures[0].message
    for name in ("sound", "caller", "alone"):
        assert results[name].verdict is Verdict.PASS, (name, results[name].reason)
    assert state_of(results["sound"], Leg.ACCUMULATION) is LegState.AGREES
    assert state_of(results["caller"], Leg.ACCUMULATION) is LegState.AGREES
    assert state_of(results["alone"], Leg.ACCUMULATION) is None


def test_check__parameters_that_the_host_sets__are_inputs(checked: Checked) -> None:
    text = """
cbuffer Scene : register(b0) { float exposure; float3 tint; int mode; float curve[4]; }
uniform float gain, offset;
struct Light { float3 color; float power; }
ConstantBuffer<Light> light;
namespace sky { ParameterBlock<Light> sun; [Differentiable] float3 lit(float3 x) { return x * x * sun.color; } }

// range: exposure 0.1 2
[Differentiable]
float3 shade(float3 x)
{
    return exp(x * exposure) * tint * light.color * (mode == 2 ? light.power : curve[1]) + offset;
}

[BackwardDerivative(scaled_bwd)]
float scaled(float x) { return x * gain; }
void scaled_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }

struct Material : IDifferentiable
{
    float albedo;
    [Differentiable] float reflect(float x) { return albedo * x * gain; }
    [Differentiable] static float fixed_at(float x) { return x * x * gain; }
}
"""
    results = checked(text, ".slang")
    passing = ("shade", "sky.lit", "Material.reflect", "Material.fixed_at")
    assert {name: result.verdict for name, result in results.items()} == {
        **dict.fromkeys(passing, Verdict.PASS),
        "scaled": Verdict.FAIL,
    }
    for name in passing:
        assert state_of(results[name], Leg.FORWARD) is LegState.AGREES, name
    (failure,) = results["scaled"].failures
    assert [value.path for value in failure.sample.inputs] == ["gain", "x"]
    assert failure.column == "x"


@pytest.mark.parametrize("read", ["pictures[0][int2(i, 0)].x", "other"])
def test_check__a_global_that_cannot_be_set__is_named(checked: Checked, read: str) -> None:
    text = f"""
Texture2D pictures[4];
static float other;
uniform float gain;
[Differentiable] float reads(float x, int i) {{ return x * gain * {read}; }}
[Differentiable] float good(float x) {{ return x * gain; }}
"""
    results = checked(text, ".slang")
    assert results["reads"].verdict is Verdict.SKIPPED
    assert read.partition("[")[0] in results["reads"].reason or "gain" in results["reads"].reason
    assert results["good"].verdict is Verdict.PASS


def test_check__memory_that_a_function_takes__is_an_input_with_a_gradient_where_it_has_one(checked: Checked) -> None:
    text = """
struct Splat : IDifferentiable { float2 at; float weight; }

[Differentiable]
Splat load(DiffTensorView t, uint i)
{
    Splat splat;
    splat.at = float2(t[uint2(i, 0)], t[i, 1]);
    splat.weight = t.loadOnce(uint2(i, 2)) * t[uint2(i, 2)];
    return splat;
}
[Differentiable]
float constant(TensorView<float> t, StructuredBuffer<float3> b, DiffTensorView v, uint i, float x)
{
    return t[i, 2] * b[i].y * x * x * v.primal[i];
}
[CudaKernel] [Differentiable]
void square(DiffTensorView input, DiffTensorView output)
{
    uint3 at = cudaThreadIdx() + cudaBlockIdx() * cudaBlockDim();
    if (at.x >= input.size(0))
        return;
    output[at.x] = input[at.x] * input[at.x];
    output.storeOnce(uint2(at.x, 1), 3.0 * input[at.x]);
}
[BackwardDerivative(get_bwd)]
float get(StructuredBuffer<float> data, RWStructuredBuffer<float> grads, uint i) { return data[i]; }
void get_bwd(StructuredBuffer<float> data, RWStructuredBuffer<float> grads, uint i, float d) { grads[i] += d; }

[Differentiable] [BackwardDerivative(halved_bwd)]
float halved(DiffTensorView t, uint i, float x) { return t[i] * x; }
void halved_bwd(DiffTensorView t, uint i, inout DifferentialPair<float> x, float d)
{
    bwd_diff(product)(t, i, x, 0.5 * d);
}
[Differentiable] float product(DiffTensorView t, uint i, float x) { return t[i] * x; }

[BackwardDerivative(both_bwd)]
float2 both(DiffTensorView t, uint i) { return float2(t[uint2(i, 0)], t[uint2(i, 1)]); }
void both_bwd(DiffTensorView t, uint i, float2 d)
{
    float before;
    t.diff.diff.InterlockedAdd(uint2(i, 0), d.x, before);
    t.diff.diff.InterlockedAdd(uint2(i, 1), d.y, before);
}
[BackwardDerivative(squared_bwd)]
float squared(TensorView<float> w, TensorView<float> gradient, uint i) { return w[i] * w[i]; }
void squared_bwd(TensorView<float> w, TensorView<float> gradient, uint i, float d)
{
    float before;
    gradient.InterlockedAdd(i, 2.0 * w[i] * d, before);
}
"""
    results = checked(text, ".slang")
    assert results["both"].verdict is Verdict.PASS
    assert results["squared"].verdict is Verdict.PASS
    assert state_of(results["squared"], Leg.ACCUMULATION) is LegState.AGREES
    for name in ("load", "constant", "square", "product"):
        assert results[name].verdict is Verdict.PASS, (name, results[name].reason)
        assert state_of(results[name], Leg.FORWARD) is LegState.AGREES, name
    (failure,) = results["get"].failures
    assert failure.leg is Leg.ACCUMULATION
    assert "additions to 'grads', the gradient of 'data'" in failure.message
    assert results["halved"].verdict is Verdict.FAIL
    assert {failure.column.partition("[")[0] for failure in results["halved"].failures} <= {"t", "x"}


def test_check__stores_to_diff_tensors__mean_what_slang_does(checked: Checked) -> None:
    text = """
[Differentiable]
void filled(DiffTensorView t, DiffTensorView o)
{
    [ForceUnroll] for (int i = 0; i < 3; ++i)
        [ForceUnroll] for (int j = 0; j < 6; ++j)
            o.storeOnce(uint2(i, j), float(i + 1) * t[uint(j)] * t[uint(j)]);
}
[Differentiable]
void summed(DiffTensorView t, DiffTensorView o)
{
    [ForceUnroll] for (int i = 0; i < 3; ++i)
        o[0u] = o[0u] + t[uint(i)] * t[uint(i)];
}
[Differentiable]
void twice(DiffTensorView t, DiffTensorView o)
{
    o.storeOnce(uint2(0, 1), t[1u] * t[1u]);
    o.storeOnce(uint2(0, 1), t[2u] * t[2u]);
}
[Differentiable]
void again(DiffTensorView t, DiffTensorView o)
{
    o[0u] = t[1u] * t[1u];
    o[0u] = t[2u] * t[2u];
}
"""
    results = checked(text, ".slang", samples=24)
    wrong = {name for name, one in results.items() if one.verdict is not Verdict.PASS}
    assert wrong == {"twice"}
    assert results["twice"].verdict is Verdict.FAIL


def test_check__memory_of_imported_files__is_an_input_too(checked: Checked, tmp_path: Path) -> None:
    (tmp_path / "parameters.slangh").write_text("#define SCALE 2.0\nuniform float gain;\n", "utf-8")
    (tmp_path / "part_two.slang").write_text(
        """
module part_two;
StructuredBuffer<float> weights;
RWStructuredBuffer<Atomic<float>> gradients;
[BackwardDerivative(load_bwd)] public float load(uint i) { return weights[i]; }
void load_bwd(uint i, float d) { gradients[i] += d; }
[Differentiable] public float row(DiffTensorView t, uint i) { return t[i] * t[uint2(i, 1)]; }
""",
        "utf-8",
    )
    text = """
#include "parameters.slangh"
import part_two;
[Differentiable] float loads(DiffTensorView t, uint i) { return load(i) * row(t, i) * gain * SCALE; }
[Differentiable] float scaled(float x) { return x * x * gain; }
"""
    results = checked(text, ".slang")
    assert {name: results[name].verdict for name in ("loads", "scaled")} == {
        "loads": Verdict.PASS,
        "scaled": Verdict.PASS,
    }
    assert state_of(results["loads"], Leg.ACCUMULATION) is LegState.AGREES


LIBRARY = """
static const float LIMIT = 4.0;
struct Corner : IDifferentiable { float3 place; };
[Differentiable] float mix(float a, float b, float t) { return a + t * (b - a); }
[Differentiable] half3 turned(half3 v, half s) { return v * s; }
[Differentiable] float3 turned(float3 v, float s) { return v * s; }
float load(TensorView<int> t, int i) { return t[i]; }
[Differentiable] float load(DiffTensorView<float> t, int i) { return t[i] * SCALE; }
#define SCALE 3.0
[Differentiable] float tripled(float x) { return SCALE * x; }
"""


def test_check__a_file_and_its_import_with_the_same_names__keep_their_own(checked: Checked, tmp_path: Path) -> None:
    (tmp_path / "limits.slang").write_text("#define SCALE 0.5\n#define LIMIT 5.0\n", "utf-8")
    (tmp_path / "library.slang").write_text("static const float SCALE = 7.0;\n" + LIBRARY, "utf-8")
    text = """
#include "limits.slang"
import library;
#define KNOWN(x) (SCALE * (x))
[Differentiable] float mix(float a, float b, float t) { return a + t * (b - a); }
[Differentiable] float bent(float x) { return KNOWN(x * x); }
[Differentiable] float use(float x, DiffTensorView<float> t, int i) { return mix(x, load(t, i), bent(x)) * tripled(x); }
[Differentiable] Corner corner(float3 v, DiffTensorView<float> t) { Corner c = { turned(v, load(t, 1)) }; return c; }
[Differentiable] float alone(float x) { return bent(x) + mix(x, 1.0, LIMIT); }
"""
    results = checked(text, ".slang", samples=24)
    assert {name: one.verdict for name, one in results.items()} == dict.fromkeys(
        ("mix", "bent", "use", "corner", "alone"), Verdict.PASS
    )
    sample = next(one for one in results["use"].samples if one.origin == "random")
    values = {value.path: value.value for value in sample.inputs}
    x, weight = values["x"], values[f"t[{values['i']}]"]
    wanted = (x + 0.5 * x * x * (7.0 * weight - x)) * 3.0 * x
    assert sample.results[0].value == pytest.approx(wanted, rel=1e-6)


SQUARE = """
[BackwardDerivative(g_bwd)] float g(float x) { return x * x; }
void g_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, FACTOR * x.p * d); }
float weight(StructuredBuffer<float> w) { return w[0]; }
[Differentiable] public float NAME(float x) { return g(x) + x; }
"""
RIGHT, WRONG = SQUARE.replace("NAME", "right"), SQUARE.replace("NAME", "wrong")
FILES = {
    "a macro with another value": (f"#define FACTOR 2.0\n{RIGHT}", f"#define FACTOR 3.0\n{WRONG}"),
    "a constant of such a macro": (
        f"#define K 2.0\nstatic const float FACTOR = K;\n{RIGHT}",
        f"#define K 3.0\nstatic const float FACTOR = K;\n{WRONG}",
    ),
    "a function called by a macro": (
        RIGHT.replace("FACTOR", "2.0"),
        "#define CALL(x) g(x)\n" + WRONG.replace("FACTOR", "3.0").replace("return g(x)", "return CALL(x)"),
    ),
    "another function": (
        RIGHT.replace("FACTOR", "3.0").replace("x * x;", "x * x * x;").replace("x.p * d", "x.p * x.p * d"),
        WRONG.replace("FACTOR", "3.0"),
    ),
}


@pytest.mark.parametrize("same", FILES)
def test_check__what_means_something_else_in_another_module__is_not_taken_for_it(
    checked: Checked, tmp_path: Path, same: str
) -> None:
    for name, text in zip(("first", "second"), FILES[same], strict=True):
        (tmp_path / f"{name}.slang").write_text(text, "utf-8")
    text = """
import first;
import second;
[Differentiable] float use(float x, DiffTensorView<float> t) { return (right(x) + wrong(x)) * t[1]; }
[Differentiable] float plain(float x) { return wrong(x); }
"""
    results = checked(text, ".slang", samples=24)
    assert results["plain"].verdict is Verdict.FAIL
    assert results["use"].verdict in (Verdict.SKIPPED, Verdict.FAIL), results["use"].reason


def test_check__memory_that_cannot_become_an_array__is_skipped_with_slangs_reason(
    checked: Checked, tmp_path: Path
) -> None:
    library = """
static const float LIMIT = 4.0;
[Differentiable] float load(DiffTensorView<float> t, int i) { return t[i] * LIMIT; }
"""
    (tmp_path / "library.slang").write_text(library, "utf-8")
    text = """
import library;
static const float LIMIT = 6.0;
[Differentiable] float use(float x, DiffTensorView<float> t, int i) { return x * load(t, i); }
"""
    result = checked(text, ".slang", samples=24)["use"]
    assert result.verdict is Verdict.SKIPPED
    assert result.reason == (
        "Slang refuses the copy of the text in which its memory is an array: "
        "declaration of 'LIMIT' conflicts with existing declaration"
    )


SHAPED = """
StructuredBuffer<float> weights;
RWStructuredBuffer<Atomic<float>> weights_grad;
[BackwardDerivative(load_bwd)] float load(int i) { return weights[i]; }
void load_bwd(int i, float d) { weights_grad[i].add(d); }
// check: as shape weights=20
[Differentiable] float far(float x) { return x * load(17); }
"""


def test_check__a_shape_for_a_buffer__is_the_number_of_its_elements(checked: Checked) -> None:
    result = checked(SHAPED, ".slang", samples=16)["far"]
    names = {value.path for value in result.samples[0].inputs}
    assert result.verdict is Verdict.PASS
    assert {f"weights[{k}]" for k in range(20)} <= names
    assert "weights[20]" not in names


SHAPED_TENSORS = """
import slangpy;
// check: as shape table=2x3
[Differentiable] float sum(TensorView<float> table, float x)
{
    float total = 0.0;
    [MaxIters(4)]
    for (uint i = 0; i < table.size(0); ++i)
        total += table[i, table.size(1) - 1] * x;
    return total;
}
// check: as shape net=1x5
[Differentiable] float last(DiffTensorView net, float x)
{
    float e = net[uint2(0, 4)];
    return e * e * x * float(net.size(1));
}
// check: as shape lines=3x7
[Differentiable] float entry(DiffTensor<float, 2> lines, float x) { return lines[2, 6] * x * float(lines.shape[1]); }
"""


def test_check__a_shape_for_a_tensor__gives_its_extents(checked: Checked) -> None:
    results = checked(SHAPED_TENSORS, ".slang", samples=16)
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(
        ("sum", "last", "entry"), Verdict.PASS
    )
    counts = {"sum": 6, "last": 5, "entry": 21}
    for name, count in counts.items():
        (sample, *_) = results[name].samples
        paths = {value.path: value.value for value in sample.inputs}
        elements = {path: value for path, value in paths.items() if "[" in path}
        assert len(elements) == count, name
        if name == "sum":
            assert sample.results[0].value == pytest.approx((elements["table[2]"] + elements["table[5]"]) * paths["x"])
        if name == "last":
            assert sample.results[0].value == pytest.approx(elements["net[4]"] ** 2 * paths["x"] * 5)
        if name == "entry":
            assert sample.results[0].value == pytest.approx(elements["lines[20]"] * paths["x"] * 7)


def test_check__textures__are_constant_inputs_without_gradient(checked: Checked) -> None:
    text = """
Texture2D albedo : register(t0);
Texture2D<float> height;
Texture3D<float3> volume;
SamplerState wrapping;
SamplerComparisonState shadows;

[Differentiable]
float3 shade(float2 uv, float3 x)
{
    float4 color = no_diff albedo.SampleLevel(wrapping, uv, 0.0);
    float scale = no_diff height.Load(int3(1, 2, 0));
    return color.xyz * x * x * scale;
}
[Differentiable]
float3 taken(Texture2D<float4> map, SamplerState s, no_diff float2 uv, float3 x)
{
    uint w, h;
    map.GetDimensions(w, h);
    float4 color = no_diff map.Sample(s, uv);
    return color.xyz * x * x * map[uint2(0, 1)].x / float(w) + volume[uint3(0)];
}
[Differentiable]
float gathered(float2 uv, float x)
{
    float4 greens = no_diff albedo.GatherGreen(wrapping, uv);
    return dot(greens, float4(x, x * x, 1.0, 2.0)) + x * (no_diff height.Gather(wrapping, uv)).w;
}
[Differentiable]
float shadowed(float2 uv, float z, float x)
{
    float first = no_diff height.SampleCmp(shadows, uv, z);
    float second = no_diff albedo.SampleCmpLevelZero(shadows, uv, z, int2(1, 0));
    return x * x * (first + second) + x * dot(no_diff height.GatherCmp(shadows, uv, z), float4(0.25));
}
[Differentiable]
float cascade(Texture2DArray<float> maps, SamplerComparisonState s, float3 at, float z, float x)
{
    return x * x * (no_diff maps.SampleCmp(s, at, z));
}
[BackwardDerivative(always_lit_bwd)]
float always_lit(float2 uv, float z, float x) { return x * x * (no_diff height.SampleCmp(shadows, uv, z)); }
void always_lit_bwd(
    inout DifferentialPair<float2> uv, inout DifferentialPair<float> z, inout DifferentialPair<float> x, float d)
{
    uv = diffPair(uv.p, float2(0.0));
    z = diffPair(z.p, 0.0);
    x = diffPair(x.p, 2.0 * x.p * d);
}
[BackwardDerivative(wrong_bwd)]
float wrong(float x) { return height.Load(int3(0)) * x; }
void wrong_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }
"""
    results = checked(text, ".slang")
    right = dict.fromkeys(("shade", "taken", "gathered", "shadowed", "cascade"), Verdict.PASS)
    verdicts = right | dict.fromkeys(("always_lit", "wrong"), Verdict.FAIL)
    assert {name: result.verdict for name, result in results.items()} == verdicts
    assert results["always_lit"].failures[0].column == "x"
    (failure,) = results["wrong"].failures
    assert [value.path for value in failure.sample.inputs] == ["height[0]", "x"]


POINTERS = """
enum class Mode { First, Second };
struct Buffers
{
    Ptr<float3, Access.Read> _dataPtr;
    float3 *_gradPtr;
    bool exclusive;
    Mode mode;
}
[Differentiable]
float3 fetch(uint i, Buffers b) { return b._dataPtr[i] * (b.mode == Mode.First ? 1.0 : 2.0); }
[BackwardDerivativeOf(fetch)]
void fetch_bwd(uint i, Buffers b, float3 d)
{
    float3 scaled = d * (b.mode == Mode.First ? 1.0 : 2.0);
    if (b.exclusive) {
        for (int c = 0; c < 3; ++c)
            b._gradPtr[i][c] += scaled[c];
    } else {
        for (int c = 0; c < 3; ++c)
            InterlockedAdd(b._gradPtr[i][c], scaled[c]);
    }
}
[BackwardDerivative(replaced_bwd)]
float3 replaced(uint i, Buffers b) { return b._dataPtr[i]; }
void replaced_bwd(uint i, Buffers b, float3 d)
{
    if (b.exclusive) {
        b._gradPtr[i] = d;
    } else {
        for (int c = 0; c < 3; ++c)
            InterlockedAdd(b._gradPtr[i][c], d[c]);
    }
}
struct Splat : IDifferentiable { float3 position; float4 turn; }
struct Splats { Splat* held; Splat* gradient; bool exclusive; }
[BackwardDerivative(splat_bwd)] Splat splat(uint i, no_diff Splats s) { return s.held[i]; }
void splat_bwd(uint i, no_diff Splats s, Splat d)
{
    if (s.exclusive)
    {
        s.gradient[i].position += d.position;
        for (int c = 0; c < 4; ++c)
            s.gradient[i].turn[c] += d.turn[c];
    }
    else
    {
        for (int c = 0; c < 3; ++c)
            InterlockedAdd(s.gradient[i].position[c], d.position[c]);
        for (int c = 0; c < 4; ++c)
            InterlockedAdd(s.gradient[i].turn[c], d.turn[c]);
    }
}
struct Layer<int N>
{
    float* weights;
    Atomic<float>* weightsGrad;
    [BackwardDerivative(evalBwd)]
    float eval(float x) { float sum = 0.0; for (int i = 0; i < N; i++) sum += weights[i] * x; return sum; }
    void evalBwd(inout DifferentialPair<float> x, float d)
    {
        float dx = 0.0;
        for (int i = 0; i < N; i++)
        {
            weightsGrad[i].add(d * x.p);
            dx += weights[i] * d;
        }
        x = diffPair(x.p, dx);
    }
}
struct Net
{
    Layer<3> first;
    Layer<2> second;
    [Differentiable] float run(float x) { return second.eval(first.eval(x)); }
}
[Differentiable] float loss(Net* net, no_diff float x) { let y = net.run(x) - 1.0; return y * y; }
[Differentiable] float moved(float* data, uint i, float x) { float* p = data + 1; return p[i] * x * x; }
[CudaDeviceExport] float exported(float* given, uint i)
{
    Buffers b;
    b._dataPtr = (Ptr<float3, Access.Read>)given;
    b._gradPtr = nullptr;
    return fetch(i, b).x;
}
[BackwardDerivative(missing_bwd)] float missing(float* data, float* grads, uint i) { return data[i] * data[i]; }
void missing_bwd(float* data, float* grads, uint i, float d) { InterlockedAdd(grads[i], data[i] * d); }
struct Scalars { float* held; float* heldGrad; }
[BackwardDerivative(doubled_bwd)] float doubled(uint i, Scalars b) { return b.held[i]; }
void doubled_bwd(uint i, Scalars b, float d) { InterlockedAdd(b.heldGrad[i], 2.0 * d); }
[BackwardDerivative(misplaced_bwd)] float misplaced(float* data, float* grads, uint i) { return data[i]; }
void misplaced_bwd(float* data, float* grads, uint i, float d) { InterlockedAdd(grads[i + 1], d); }
[BackwardDerivative(unsynchronised_bwd)] float3 unsynchronised(uint i, Buffers b) { return b._dataPtr[i]; }
void unsynchronised_bwd(uint i, Buffers b, float3 d) { b._gradPtr[i] += d; }
"""


def test_check__pointers_and_structs_with_memory__are_inputs_and_gradients(checked: Checked) -> None:
    results = checked(POINTERS, ".slang")
    for name in ("fetch", "splat", "Layer<2>.eval", "Layer<3>.eval", "Net.run", "loss", "moved"):
        assert results[name].verdict is Verdict.PASS, (name, results[name].reason)
    assert state_of(results["loss"], Leg.ACCUMULATION) is LegState.AGREES
    causes = {
        "missing": "a factor of 0.5",
        "replaced": "a store replaces the gradient where it isn't atomic: add with +=",
        "doubled": "is added to 'b_heldGrad' twice",
        "misplaced": "is added to other elements of 'grads'",
        "unsynchronised": "a plain store or += is not atomic",
    }
    for name, cause in causes.items():
        assert results[name].verdict is Verdict.FAIL, name
        assert cause in results[name].failures[0].cause, name


PART = """
implementing subject;
public struct Vec<int N> : IDifferentiable
{
    public float data[N];
    [Differentiable] public static Vec<N> of(float[N] values) { Vec<N> r; r.data = values; return r; }
}
public struct Layer<int N>
{
    public float* weights;
    public float* weightsGrad;
    [BackwardDerivative(eval_bwd)]
    public Vec<N> eval(Vec<N> x)
    {
        Vec<N> r = {};
        for (int k = 0; k < N; ++k)
            r.data[k] = weights[k] * x.data[k];
        return r;
    }
    public void eval_bwd(inout DifferentialPair<Vec<N>> x, Vec<N> d)
    {
        Vec<N> dx = {};
        for (int k = 0; k < N; ++k)
        {
            __atomic_add(weightsGrad[k], d.data[k] * x.p.data[k]);
            dx.data[k] = weights[k] * d.data[k];
        }
        x = diffPair(x.p, dx);
    }
}
"""
HEADER = """\ufeff// begins with a byte order mark
[Differentiable] float headed(Layer<2> layer, float x) { return layer.eval(Vec<2>.of({ x, x * x })).data[1]; }
"""


@pytest.mark.parametrize("wrong", [False, True])
def test_check__memory_in_the_parts_of_a_module__is_an_input_too(
    checked: Checked, tmp_path: Path, *, wrong: bool
) -> None:
    part = PART.replace("dx.data[k] = weights[k] *", "dx.data[k] = 2.0 * weights[k] *") if wrong else PART
    (tmp_path / "layer.slang").write_text(part)
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "head.slangh").write_text(HEADER, encoding="utf-8")
    main = "module subject;\n__include layer;\n#include <inc/head.slangh>\n"
    run = "[Differentiable] float run(Layer<3> layer, float x) { return layer.eval(Vec<3>.of({ x, x, x })).data[2]; }\n"
    results = checked(f"{main}{run}", ".slang", include_dirs=(str(tmp_path),))
    names = ["run", "headed", *(f"Layer<{n}>.eval" for n in (2, 3)), *(f"Vec<{n}>.of" for n in (2, 3))]
    passing = [name for name in names if not wrong or "Vec" in name]
    verdicts = {name: results[name].verdict for name in names}
    assert verdicts == {name: Verdict.PASS if name in passing else Verdict.FAIL for name in names}
    if wrong:
        result = results["Layer<2>.eval"]
        assert result.failures[0].cause == "a factor of 2"
        assert (result.span.file.rpartition("/")[2], result.span.line) == ("layer.slang", 13)


TENSORS = """
import slangpy;
[Differentiable]
float2 constant(Tensor<float, 2> weights, ITensor<float, 1> biases, float2 x)
{
    float2 result;
    for (int r = 0; r < 2; ++r)
        result[r] = biases.load(r) + weights[r, 0] * x.x * x.x + weights.load(int2(1, r)) * x.y;
    return result;
}
[Differentiable]
float2 differentiated(DiffTensor<float, 2> weights, IDiffTensor<float, 1> biases, float2 x)
{
    float2 result;
    for (int r = 0; r < 2; ++r)
        result[r] = biases.load(r) * biases[r] + weights[r, 0] * x.x * x.x + weights.load(int2(1, r)) * x.y;
    return result;
}
[Differentiable]
void square(DiffTensor<float, 1> input, WDiffTensor<float, 1> output, int idx)
{
    float x = input.load_once(int[1](idx));
    output.store(int[1](idx), x * x);
}
struct Params<int N>
{
    Tensor<float3, 1> biases;
    Tensor<float, 2> weights;
    AtomicTensor<float3, 1> biases_grad;
    AtomicTensor<float, 2> weights_grad;
    [Differentiable] float3 bias(int n) { return biases.load(int[1](n)); }
    [Differentiable] float weight(int n, int i) { return weights.load(int[2](n, i)); }
    [BackwardDerivativeOf(bias)] void bias_bwd(int n, float3 d) { biases_grad.add(int[1](n), d); }
    [BackwardDerivativeOf(weight)] void weight_bwd(int n, int i, float d) { weights_grad.add(n, i, d); }
    [Differentiable] float3 forward(float x)
    {
        float3 y = bias(0);
        [ForceUnroll]
        for (int i = 0; i < N; ++i)
            y += weight(1, i) * x * float3(1.0, 2.0, 3.0);
        return y;
    }
}
struct Net { Params<2> layer; [Differentiable] float3 eval(float x) { return layer.forward(layer.forward(x).x); } }
[Differentiable] float3 loss(float x, Net net) { float3 e = net.eval(x) - 0.5; return e * e; }

struct Wrong
{
    Tensor<float, 1> biases;
    AtomicTensor<float, 1> biases_grad;
    RWTensor<float, 1> plain_grad;
    [BackwardDerivative(halved_bwd)] float halved(int n) { return biases[n]; }
    void halved_bwd(int n, float d) { biases_grad.add(int[1](n), 0.5 * d); }
    [BackwardDerivative(misplaced_bwd)] float misplaced(int n) { return biases[n]; }
    void misplaced_bwd(int n, float d) { biases_grad.add(int[1](n + 1), d); }
    [BackwardDerivative(doubled_bwd)] float doubled(int n) { return biases[n]; }
    void doubled_bwd(int n, float d) { for (int k = 0; k < 2; ++k) biases_grad.add(int[1](n), d); }
    [BackwardDerivative(plain_bwd)] float plain(int n) { return biases[n]; }
    void plain_bwd(int n, float d) { plain_grad.store(int[1](n), plain_grad.load(int[1](n)) + d); }
}
"""


def test_check__tensors_of_slangpy__are_inputs_and_gradients(checked: Checked) -> None:
    results = checked(TENSORS, ".slang")
    passing = (
        "constant",
        "differentiated",
        "square",
        "Params<2>.bias",
        "Params<2>.weight",
        "Params<2>.forward",
        "loss",
    )
    for name in passing:
        assert results[name].verdict is Verdict.PASS, (name, results[name].reason)
    assert state_of(results["loss"], Leg.ACCUMULATION) is LegState.AGREES
    assert state_of(results["square"], Leg.FORWARD) is LegState.AGREES
    causes = {
        "halved": "a factor of 0.5",
        "misplaced": "is added to other elements of 'biases_grad'",
        "doubled": "is added to 'biases_grad' twice",
        "plain": "a plain store or += is not atomic",
    }
    for name, cause in causes.items():
        assert results[f"Wrong.{name}"].verdict is Verdict.FAIL, name
        assert cause in results[f"Wrong.{name}"].failures[0].cause, name


def test_check__a_module_of_the_project_with_the_name_of_slangpy__is_the_one_that_is_read(
    checked: Checked, tmp_path: Path
) -> None:
    (tmp_path / "slangpy.slang").write_text(
        "module slangpy;\npublic struct Own { public float x; }\n"
        "[Differentiable] public float weighted(float x, Own o) { return o.x * x; }\n"
    )
    text = "import slangpy;\n[Differentiable] float f(float x, no_diff Own o) { return weighted(x, o) * x; }\n"
    results = checked(text, ".slang")
    assert {name: result.verdict for name, result in results.items()} == {"f": Verdict.PASS}


SAME_NAME = """
StructuredBuffer<float3> rows;
RWStructuredBuffer<float3> rowsGradient;
// check: single thread
[BackwardDerivative(row_bwd)] float3 row(uint i) { return rows[i]; }
void row_bwd(uint i, float3 d) { rowsGradient[i][0] += d[0]; rowsGradient[i][1] += d[1]; rowsGradient[i][2] += d[2]; }
[Differentiable]
float trace(float x, uint i)
{
    float3x3 rows = float3x3(x, 0, 0, 0, x, 0, 0, 0, x);
    rows[0][0] += 0.3;
    return rows[0][0] * rows[1][1] * row(i).x;
}
"""


def test_check__a_variable_with_the_name_of_a_buffer__stays_a_variable(checked: Checked) -> None:
    results = checked(SAME_NAME, ".slang", samples=16)
    assert {name: one.verdict for name, one in results.items()} == {"row": Verdict.PASS, "trace": Verdict.PASS}
