"""2-D Gaussian splats: each pixel blends the gaussians that the list of its tile names, front to back."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, Uniform, float2, float3


@sa.kernel(dims=2)
def splats(
    seen: NoDiff[Each[float3]],
    order: NoDiff[Tensor[int, 1]],
    first: NoDiff[Tensor[int, 1]],
    count: NoDiff[Tensor[int, 1]],
    mean: Tensor[float2, 1],
    conic: Tensor[float3, 1],
    color: Tensor[float3, 1],
    opacity: Tensor[float, 1],
    tiles: Uniform[int],
) -> Mean[float]:
    row = sa.thread_id(0)
    column = sa.thread_id(1)
    tile = (row // 16) * tiles + column // 16
    start = first[tile]
    light = float3(0.0, 0.0, 0.0)
    through = 1.0
    for k in sa.range(count[tile], max_iters=256):
        g = order[start + k]
        d = float2(column, row) - mean[g]
        q = conic[g]
        power = -0.5 * (q.x * d.x * d.x + q.z * d.y * d.y) - q.y * d.x * d.y
        alpha = min(opacity[g] * sa.exp(power), 0.99)
        light += color[g] * (alpha * through)
        through *= 1.0 - alpha
    error = light - seen
    return sa.dot(error, error)
