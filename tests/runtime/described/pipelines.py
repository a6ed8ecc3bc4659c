"""Pipelines of every shape: values used twice, sums that others take, tensors that are written, structs, half."""

import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Uniform, float2, float3, int2


@sa.struct
class Ray:
    origin: float3
    weight: float


@sa.kernel(dims=2)
def halve(image: Tensor[float, 2]) -> Each[float]:
    i, j = 2 * sa.thread_id(0), 2 * sa.thread_id(1)
    return 0.25 * (image[i, j] + image[i, j + 1] + image[i + 1, j] * image[i + 1, j + 1])


@sa.kernel(dims=2)
def mismatch(a: Each[float], b: Each[float], weight: Uniform[float]) -> Mean[float]:
    return weight * (a - b) * (a - b)


@sa.kernel
def split(x: Each[float], p: Param[float]) -> tuple[Each[float], Sum[float]]:
    return sa.sin(x * p), x * x * p


@sa.kernel
def spread(x: Tensor[float, 1], mean: Param[float], out: OutTensor[float, 1]):
    i = sa.thread_id(0)
    out[i] = x[i] * x[(i + 1) % x.shape[0]] - 0.1 * mean


def watched(y: float) -> float:
    return sa.probe("y", y)


@sa.kernel
def watch(x: Each[float], p: Param[float]) -> Each[float]:
    return watched(p * x * x)


@sa.kernel
def watch_sum(x: Each[float]) -> Sum[float]:
    return sa.probe("last", sa.probe("z", x) * x)


@sa.kernel
def bend(v: InOutTensor[float, 1], p: Param[float]):
    i = sa.thread_id(0)
    v[i] = sa.sin(v[i]) + p * v[i]


@sa.kernel
def boxes(x: Each[float]) -> tuple[Each[int2], Each[int2], Each[float]]:
    i = sa.thread_id(0)
    return int2(i % 3 - 1, i // 3), int2(i % 3 + 1, i // 3 + 2), float(i % 4)


@sa.kernel(dims=2)
def along_list(start: Each[int], count: Each[int], order: Tensor[int, 1], x: Tensor[float, 1]) -> Sum[float]:
    light = 0.1
    for k in sa.range(count, max_iters=8):
        light = sa.sin(light) + x[order[start + k]] * light
    return light


@sa.kernel
def product(a: Each[float], b: Each[float]) -> Each[float]:
    return a * b + a


@sa.kernel
def total(x: Each[float]) -> Sum[float]:
    return x * x


@sa.kernel
def trace(r: Each[Ray], scale: Param[Ray]) -> Each[Ray]:
    return Ray(r.origin * scale.origin, r.weight * scale.weight * r.origin.x)


@sa.kernel
def energy(r: Each[Ray]) -> Mean[float]:
    return sa.dot(r.origin, r.origin) + r.weight * r.weight


@sa.kernel
def soft(x: Each[sa.half], p: Param[sa.half]) -> Each[sa.half]:
    return x * p


@sa.kernel
def hard(x: Each[sa.half]) -> Sum[float]:
    return float(x) * float(x)


@sa.kernel
def select(x: Each[float], n: Each[int], on: Each[bool]) -> Each[float]:
    return x * float(n) if on else x * x


@sa.pipeline
def images(image: Tensor[float, 2], target: Tensor[float, 2]) -> Mean[float]:
    small = halve(image, domain=(image.shape[0] // 2, image.shape[1] // 2))
    return mismatch(halve(small, domain=(2, 3)), target, 0.5)


@sa.pipeline
def written(x: Each[float], p: Param[float], out: OutTensor[float, 1]) -> tuple[Sum[float], Each[float]]:
    first, mean = split(x, p)
    spread(first, mean, out)
    bend(out, mean)
    bend(out, p)
    again, other = split(out, p)
    return other, again


@sa.pipeline
def in_place(v: InOutTensor[float, 1], p: Param[float]) -> Sum[float]:
    before = product(v, v)
    bend(v, p)
    return total(product(v, before))


@sa.pipeline
def shared(x: Tensor[float, 1]) -> Sum[float]:
    a = product(x, x)
    b = product(a, x)
    return total(product(a, b))


@sa.pipeline
def neighbours(x: Each[float], y: Each[float]) -> Sum[float]:
    return total(product(product(x, y), y))


@sa.pipeline(fuse=False)
def apart(x: Each[float], y: Each[float]) -> Sum[float]:
    return total(product(product(x, y), y))


@sa.pipeline
def rays(r: Each[Ray], scale: Param[Ray]) -> Mean[float]:
    return energy(trace(trace(r, scale), scale))


@sa.pipeline
def halves(x: NoDiff[Each[sa.half]], p: Param[sa.half]) -> Sum[float]:
    return hard(soft(soft(x, p), p))


@sa.pipeline
def choices(x: Each[float], n: Each[int], on: Each[bool]) -> Sum[float]:
    return total(select(select(x, n, on), n, on))


@sa.pipeline(fuse=False)
def rays_apart(r: Each[Ray], scale: Param[Ray]) -> Mean[float]:
    return energy(trace(trace(r, scale), scale))


Tiles = sa.texture(float3, address="repeat")


@sa.kernel
def look(at: Each[float2], tiles: Tiles) -> Each[float3]:
    return tiles.sample(at)


@sa.kernel
def lit(v: Each[float3]) -> Sum[float]:
    return sa.dot(v, v)


@sa.pipeline
def textured(at: Each[float2], tiles: Tiles) -> Sum[float]:
    return lit(look(at, tiles))


@sa.pipeline
def watched_twice(x: Each[float], p: Param[float]) -> Sum[float]:
    return watch_sum(watch(watch(x, p), p))


@sa.pipeline
def listed(x: Tensor[float, 1]) -> Sum[float]:
    lower, upper, depth = boxes(x)
    start, count, order = sa.bin(lower, upper, depth, tiles=(3, 2), capacity=3 * x.shape[0])
    return along_list(start, count, order, x)


@sa.kernel
def collect(x: Each[float], gain: Param[float], bins: OutTensor[float, 1]):
    bins[sa.thread_id() % 2] += gain * x


@sa.kernel
def distance(bins: Tensor[float, 1], wanted: NoDiff[Each[float]]) -> Sum[float]:
    return (bins[sa.thread_id()] - wanted) ** 2


@sa.pipeline
def collected(
    x: Tensor[float, 1], gain: Param[float], wanted: NoDiff[Tensor[float, 1]], bins: OutTensor[float, 1]
) -> Sum[float]:
    collect(x, gain, bins)
    return distance(bins, wanted)


@sa.kernel
def above(bins: NoDiff[Tensor[float, 1]], least: Each[float]) -> NoDiff[Sum[float]]:
    return 1.0 if bins[sa.thread_id()] > least else 0.0


@sa.pipeline
def counted(
    x: Tensor[float, 1], gain: Param[float], least: NoDiff[Tensor[float, 1]], bins: OutTensor[float, 1]
) -> NoDiff[Sum[float]]:
    collect(x, gain, bins)
    return above(bins, least)
