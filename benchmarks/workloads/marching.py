"""Rays through a grid of densities: 128 steps, each reads the grid trilinearly, emits and absorbs."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, float3

STEPS = 128


@sa.differentiable
def density(grid: Tensor[float, 3], at: NoDiff[float3]) -> float:
    size = grid.shape[0]
    x = sa.clamp(at * float(size - 1), 0.0, float(size) - 1.001)
    k = int(x.x)
    j = int(x.y)
    i = int(x.z)
    f = x - float3(k, j, i)
    front = sa.lerp(
        sa.lerp(grid[i, j, k], grid[i, j, k + 1], f.x), sa.lerp(grid[i, j + 1, k], grid[i, j + 1, k + 1], f.x), f.y
    )
    back = sa.lerp(
        sa.lerp(grid[i + 1, j, k], grid[i + 1, j, k + 1], f.x),
        sa.lerp(grid[i + 1, j + 1, k], grid[i + 1, j + 1, k + 1], f.x),
        f.y,
    )
    return sa.lerp(front, back, f.z)


@sa.kernel(dims=2)
def marching(seen: NoDiff[Each[float]], grid: Tensor[float, 3]) -> Mean[float]:
    y = (sa.thread_id(0) + 0.5) / sa.thread_count(0)
    x = (sa.thread_id(1) + 0.5) / sa.thread_count(1)
    light = 0.0
    through = 1.0
    for k in range(STEPS):
        z = (k + 0.5) / STEPS
        passed = sa.exp(-density(grid, float3(x + 0.2 * (z - 0.5) * y, y, z)) * (4.0 / STEPS))
        light += through * (1.0 - passed) * (0.2 + z)
        through *= passed
    error = light - seen
    return error * error
