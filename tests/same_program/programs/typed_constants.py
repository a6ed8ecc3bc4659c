import slangad as sa
from slangad import Array, Each, float2x2, float3, half

SUN = float3(0.3, 0.6, 0.1)
TURN = float2x2(1.0, 2.0, 3.0, 4.0)
SMALL = half(0.25)
COUNT = 4


@sa.differentiable
def light(a: Array[float3, COUNT], h: half) -> float3:
    total = float3()
    for i in range(COUNT):
        total += a[i] * SUN
    return total * float(h * SMALL) * TURN[1, 0]


@sa.kernel
def run(a: Each[Array[float3, COUNT]], h: Each[half]) -> Each[float3]:
    return light(a, h)
