"""Byte-address buffers of Slang files are inputs of the check, and hold gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

TEXT = """
ByteAddressBuffer raw;
ByteAddressBuffer indices;
ByteAddressBuffer mixed;
ByteAddressBuffer copied;
RWByteAddressBuffer rawGradients;

[BackwardDerivative(single_bwd)] float single(uint i) { return asfloat(raw.Load(i * 4)); }
void single_bwd(uint i, float d) { rawGradients.InterlockedAddF32(i * 4, d); }
[BackwardDerivative(doubled_bwd)] float doubled(uint i) { return asfloat(raw.Load(i * 4)); }
void doubled_bwd(uint i, float d)
{
    float old;
    rawGradients.InterlockedAddF32(i * 4, d, old);
    rawGradients.InterlockedAddF32(i * 4, d, old);
}
[BackwardDerivative(misplaced_bwd)] float misplaced(uint i) { return raw.Load<float>(i * 4); }
void misplaced_bwd(uint i, float d) { rawGradients.InterlockedAddF32(i * 4 + 4, d); }
[BackwardDerivative(missing_bwd)] float missing(uint i) { return raw.Load<float>(i * sizeof(float)); }
void missing_bwd(uint i, float d) {}
[BackwardDerivative(plain_bwd)] float plain(uint i) { return raw.Load<float>(i * sizeof(float)); }
void plain_bwd(uint i, float d)
{
    rawGradients.Store(i * 4, asuint(asfloat(rawGradients.Load(i * 4)) + d));
}
// check: single thread
[BackwardDerivative(alone_bwd)] float alone(uint i) { return raw.Load<float>(i * 4); }
void alone_bwd(uint i, float d) { rawGradients.Store<float>(i * 4, rawGradients.Load<float>(i * 4) + d); }

[Differentiable] float caller(uint i, float x) { return single(i) * single(i + 1) * x; }
[Differentiable] float through_indices(uint triangle, float x)
{
    uint3 corner = indices.Load3(triangle * 12);
    float3 a = asfloat(raw.Load3(corner.x * 12));
    return dot(a, float3(x, x * x, 1.0)) * float(corner.y);
}
[BackwardDerivative(position_bwd)] float3 position(ByteAddressBuffer from, uint i) { return from.Load<float3>(i * 12); }
void position_bwd(ByteAddressBuffer from, uint i, float3 d)
{
    for (int c = 0; c < 3; ++c)
        rawGradients.InterlockedAddF32(i * 12 + c * 4, d[c]);
}
struct Mesh { ByteAddressBuffer positions; float scale; }
[Differentiable] float of_struct(no_diff Mesh mesh, uint i, float x) { return mesh.positions.Load<float>(4 * i) * x; }
[Differentiable] float of_both(uint i, float x) { return asfloat(mixed.Load(mixed.Load(i))) * x; }
"""
SKIPPED = (
    "it reads the byte-address buffer 'raw', whose words may be the bits of floats: read floats as "
    "asfloat(buffer.Load(address)) or buffer.Load<float>(address)"
)
BITS = """
ByteAddressBuffer raw;
[Differentiable] float of_bits(uint i, float x) { uint bits = raw.Load(4 * i); return asfloat(bits) * x; }
"""


def test_check__byte_address_buffers__are_inputs_with_their_gradients(checked: Checked) -> None:
    results = checked(TEXT, ".slang")
    right = ("single", "alone", "caller", "through_indices", "position", "of_struct")
    assert {name: results[name].verdict for name in right} == dict.fromkeys(right, Verdict.PASS)
    states = {leg.leg: leg.state for leg in results["caller"].legs}
    assert states[Leg.ACCUMULATION] is LegState.AGREES
    causes = {
        "doubled": "is added to 'rawGradients' twice",
        "misplaced": "is added to other elements of 'rawGradients'",
        "missing": "nothing is added to 'rawGradients', the gradient of 'raw'",
        "plain": "a plain store or += is not atomic",
    }
    for name, cause in causes.items():
        (failure,) = results[name].failures
        assert failure.leg is (Leg.ACCUMULATION if name == "plain" else Leg.REVERSE), name
        assert cause in failure.cause, name
    assert results["of_both"].verdict is Verdict.PASS


WORDS = """
ByteAddressBuffer raw;
RWByteAddressBuffer rawGradients;
struct Uv { float2 uv; uint kind; };
struct Vertex { float weight; int order; float3 colour; Uv maps[2]; };

[Differentiable] float of_struct(uint i, float x)
{
    Vertex v = raw.Load<Vertex>(i * 44);
    return v.weight * x + v.order * x * x + v.maps[1].uv.y * v.maps[0].kind;
}
[BackwardDerivative(with_gradient_bwd)] float with_gradient(uint i, float x)
{
    Vertex v = raw.Load<Vertex>(i * 44);
    return v.weight * x + v.order * x * x + v.colour.z;
}
void with_gradient_bwd(uint i, inout DifferentialPair<float> x, float d)
{
    Vertex v = raw.Load<Vertex>(i * 44);
    x = diffPair(x.p, d * (v.weight + 2 * v.order * x.p));
    rawGradients.InterlockedAddF32(i * 44, d * x.p);
    rawGradients.InterlockedAddF32(i * 44 + 16, d);
}
[BackwardDerivative(NAME_bwd)] float NAME(uint i)
{
    return raw.Load<float>(i * 20) * raw.Load<int>(i * 20 + 4) + asfloat(raw.Load3(i * 20 + 8)).x;
}
void NAME_bwd(uint i, float d)
{
    rawGradients.InterlockedAddF32(i * 20, d * FACTOR);
    rawGradients.InterlockedAddF32(i * 20 + PLACE, d);
}
"""
FACTOR = "raw.Load<int>(i * 20 + 4)"


def test_check__floats_and_integers_in_one_buffer__are_read_as_the_program_reads_them(checked: Checked) -> None:
    head, function = WORDS.split("[BackwardDerivative(NAME", 1)
    bodies = {"right": (FACTOR, "8"), "elsewhere": (FACTOR, "12"), "without": ("1.0", "8")}
    functions = (
        f"[BackwardDerivative(NAME{function}".replace("NAME", name).replace("FACTOR", factor).replace("PLACE", place)
        for name, (factor, place) in bodies.items()
    )
    results = checked(head + "".join(functions), ".slang")
    right = ("of_struct", "with_gradient", "right")
    assert {name: results[name].verdict for name in right} == dict.fromkeys(right, Verdict.PASS)
    (misplaced,), (wrong,) = results["elsewhere"].failures, results["without"].failures
    assert "is added to other elements of 'rawGradients'" in misplaced.cause
    assert wrong.leg is Leg.REVERSE
    assert wrong.column.startswith("raw[")
    assert wrong.column.endswith("].number")


def test_check__integers_that_may_be_bits_of_floats__are_skipped_with_the_reason(checked: Checked) -> None:
    result = checked(BITS, ".slang")["of_bits"]
    assert (result.verdict, result.reason) == (Verdict.SKIPPED, SKIPPED)
