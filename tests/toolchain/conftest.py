"""Slang texts that the toolchain's tests share."""

from __future__ import annotations

import pytest

SHADE = """
import lib;

struct Material : IDifferentiable { float3 albedo; float rough; }

[Differentiable]
float shade(Material m, float x)
{
    float sum = 0.0;
    for (int i = 0; i < 4; ++i)
        sum = sum + cube(x) * float(i);
    return dot(m.albedo, float3(x, x * x, sin(x))) * m.rough + sum;
}

[shader("compute")]
[numthreads(64, 1, 1)]
void shade_forward(uint3 tid : SV_DispatchThreadID, uniform uint count, uniform Material m,
    uniform StructuredBuffer<float> x, uniform RWStructuredBuffer<float> result)
{
    if (tid.x >= count)
        return;
    result[tid.x] = shade(m, x[tid.x]);
}

[shader("compute")]
[numthreads(64, 1, 1)]
void shade_backward(uint3 tid : SV_DispatchThreadID, uniform uint count, uniform Material m,
    uniform StructuredBuffer<float> x, uniform StructuredBuffer<float> d_result, uniform RWStructuredBuffer<float> d_x)
{
    if (tid.x >= count)
        return;
    var px = diffPair(x[tid.x]);
    var pm = diffPair(m);
    bwd_diff(shade)(pm, px, d_result[tid.x]);
    d_x[tid.x] = px.d;
}

[shader("compute")]
[numthreads(64, 1, 1)]
void shade_jvp(uint3 tid : SV_DispatchThreadID, uniform uint count, uniform Material m,
    uniform StructuredBuffer<float> x, uniform RWStructuredBuffer<float> t_result)
{
    if (tid.x >= count)
        return;
    t_result[tid.x] = fwd_diff(shade)(diffPair(m), diffPair(x[tid.x], 1.0)).d;
}
"""

LIB = """
module lib;

public [BackwardDerivative(cube_backward)] [ForwardDerivative(cube_forward)]
float cube(float x) { return x * x * x; }
void cube_backward(inout DifferentialPair<float> x, float d_out) { x = diffPair(x.p, 3.0 * x.p * x.p * d_out); }
DifferentialPair<float> cube_forward(DifferentialPair<float> x)
{ return diffPair(x.p * x.p * x.p, 3.0 * x.p * x.p * x.d); }
"""

ENTRY = """
[shader("compute")] [numthreads(8, 1, 1)]
void {name}(uint3 tid : SV_DispatchThreadID, uniform RWStructuredBuffer<float> r) {{ uint i = tid.x; {body} }}
"""


@pytest.fixture
def shade() -> tuple[str, tuple[str, ...], dict[str, object]]:
    """A kernel with a struct, a loop and a custom derivative from another module: text, entry points, job fields."""
    return SHADE, ("shade_forward", "shade_backward", "shade_jvp"), {"modules": (("lib.slang", LIB),)}


@pytest.fixture
def crashing() -> str:
    """A text whose entry point ``bad`` crashes Slang; ``fine`` does not."""
    function = """
[Differentiable] float f(float x)
{ float s = x; int i = 0; [MaxIters(8)] while (i < 5 && s < 10) { s = s * x; i++; } return s; }
"""
    bad = "var p = diffPair(r[i]); bwd_diff(f)(p, 1.0); r[i] = p.d;"
    return function + ENTRY.format(name="bad", body=bad) + ENTRY.format(name="fine", body="r[i] = f(r[i]);")


@pytest.fixture
def hanging() -> str:
    """A text whose entry point ``bad`` takes Slang minutes (unrolling it is exponential); ``fine`` does not."""
    function = """
[Differentiable] float f(float s, float t)
{ [ForceUnroll] for (int i = 0; i < 30; ++i) s = s * 0.99 + 0.01 * sin(s * t); return s; }
"""
    bad = "var p = diffPair(r[i]); var q = diffPair(r[i]); bwd_diff(f)(p, q, 1.0); r[i] = p.d;"
    return function + ENTRY.format(name="bad", body=bad) + ENTRY.format(name="fine", body="r[i] = 2.0;")


@pytest.fixture
def entry() -> str:
    """The text of one entry point, with ``{name}`` and ``{body}`` to be filled in."""
    return ENTRY
