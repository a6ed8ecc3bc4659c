"""Networks in loops that elements leave, or parts of whose iterations they skip, each where it likes."""

from typing import Annotated, Any

import slangad as sa
from slangad import Each, NoDiff, Param, Tensor, Uniform, float3

STEPS = 12
Net = Annotated[Any, sa.nn.MLP([3, 16, 16, 1], activation="softplus")]
Color = Annotated[Any, sa.nn.MLP([3, 16, 16, 2], activation="softplus")]


@sa.kernel
def surface(o: Each[float3], r: Each[float3], net: Param[Net]) -> Each[float]:
    """A ray ends where it is close to a surface."""
    t = 0.0
    for _ in range(STEPS):
        p = o + t * r
        d = net(sa.Array[float, 3](p.x, p.y, p.z))
        step = 0.1 * d[0]
        if step < 0.02:
            break
        t += step
    return t


@sa.kernel
def bounded(o: Each[float3], r: Each[float3], net: Param[Net]) -> Each[float]:
    """A ray ends where it is too long, before the network, and skips what is dense."""
    t = 0.1
    seen = 0.0
    for k in range(STEPS):
        if t > 0.6:
            break
        p = o + t * r
        d = net(sa.Array[float, 3](p.x, p.y, p.z))
        t += 0.1
        if d[0] > 0.4:
            continue
        seen += d[0] * t * (1.0 + 0.1 * float(k))
    return seen + t


@sa.kernel
def shaded(o: Each[float3], r: Each[float3], net: Param[Net], color: Param[Color]) -> Each[float]:
    """A ray ends between two networks; the second one reads what the first one gave, and the last value is seen."""
    light = 0.0
    through = 1.0
    last = 0.0
    for k in range(STEPS):
        p = o + (0.1 * float(k)) * r
        d = net(sa.Array[float, 3](p.x, p.y, p.z))
        last = d[0]
        alpha = 0.5 / (1.0 + d[0] * d[0])
        if through < 0.2:
            break
        c = color(sa.Array[float, 3](p.x, d[0], p.z))
        if c[0] > 0.0:
            light += c[0] * alpha * through
        else:
            light += 0.5 * c[1] * alpha * through
        through *= 1.0 - alpha
    return light + through + 0.1 * last


@sa.kernel
def as_long(o: Each[float3], r: Each[float3], net: Param[Net], steps: Uniform[int]) -> Each[float]:
    """The number of steps is known when the kernel runs, and one for all rays; each may end before."""
    t = 0.0
    for k in sa.range(1, steps, max_iters=64):
        p = o + t * r
        d = net(sa.Array[float, 3](p.x, p.y, p.z))
        if d[0] * float(k) > 4.0:
            break
        t += 0.1 * d[0]
    return t


@sa.kernel
def listed(place: Tensor[float3, 1], n: NoDiff[Each[int]], gain: Each[float], net: Param[Net]) -> Each[float]:
    """What follows the end of an element's list is outside of a tensor, and of the domain of a root."""
    total = 0.0
    for k in range(STEPS):
        if k >= n:
            break
        p = place[k] * sa.sqrt(6.5 - float(k))
        total += gain * net(sa.Array[float, 3](p.x, p.y, p.z))[0]
    return total
