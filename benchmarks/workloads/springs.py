"""Chains of four masses and five springs through 200 leapfrog steps; nothing of a step is kept."""

import slangad as sa
from slangad import Each, Mean, float4

STEPS = 200


@sa.kernel
def springs(place: Each[float4], velocity: Each[float4], stiffness: Each[float4], last: Each[float]) -> Mean[float]:
    x = place
    v = velocity
    for _ in sa.range(STEPS, keep=0):
        left = x - float4(0.0, x.x, x.y, x.z)
        right = float4(x.y, x.z, x.w, 0.0) - x
        pull = float4(stiffness.y, stiffness.z, stiffness.w, last)
        v += (pull * (right + 0.3 * right * right * right) - stiffness * (left + 0.3 * left * left * left)) * 0.02
        x += v * 0.02
    return sa.dot(x, x) + 0.5 * sa.dot(v, v)
