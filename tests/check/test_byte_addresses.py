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
SKIPPED = "it reads the global '{}', which the check can't set"
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
    mixed = results["of_both"]
    assert (mixed.verdict, mixed.reason) == (Verdict.SKIPPED, SKIPPED.format("mixed"))


def test_check__integers_that_may_be_bits_of_floats__are_skipped_with_the_reason(checked: Checked) -> None:
    result = checked(BITS, ".slang")["of_bits"]
    assert (result.verdict, result.reason) == (Verdict.SKIPPED, SKIPPED.format("raw"))
