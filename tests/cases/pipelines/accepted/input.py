"""Pipelines: domains of their own, nested calls, several results, constants, tensors that are written."""

import slangad as sa
from slangad import Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Texture2D, Uniform, float3

SIZE = (8, 4)
SCALE = 2
TINT = float3(1.0, 2.0, 3.0)


@sa.kernel(dims=2)
def halve(image: Tensor[float, 2]) -> Each[float]:
    i, j = 2 * sa.thread_id(0), 2 * sa.thread_id(1)
    return 0.5 * (image[i, j] + image[i + 1, j + 1])


@sa.kernel(dims=2)
def mismatch(a: Each[float], b: NoDiff[Each[float]], weight: Uniform[float]) -> Mean[float]:
    return weight * (a - b) * (a - b)


@sa.kernel
def split(x: Each[float3], p: Param[float]) -> tuple[Each[float], Sum[float]]:
    return x.x * p, x.y


@sa.kernel
def spread(x: Each[float], mean: Param[float], out: OutTensor[float, 1]):
    out[sa.thread_id(0)] = x - mean


@sa.kernel
def double(v: InOutTensor[float, 1]):
    v[sa.thread_id(0)] = 2.0 * v[sa.thread_id(0)]


@sa.kernel(dims=2)
def look(t: Texture2D[float], tint: Uniform[float3]) -> Each[float]:
    return t.load(sa.thread_id(0), sa.thread_id(1)) * tint.x


@sa.kernel
def total(x: Each[float]) -> Sum[float]:
    return x * x


@sa.pipeline(optimizer=sa.Adam(lr=0.02))
def fit_image(image: Tensor[float, 2], target: NoDiff[Tensor[float, 2]]) -> Mean[float]:
    """Fits an image."""
    small = halve(image, domain=(image.shape[0] // SCALE, 4 * SCALE - 1))
    small = halve(small, domain=SIZE)
    return mismatch(small, b=target, weight=1)


@sa.pipeline(optimizer=sa.SGD(0.1, momentum=0.9), fuse=False)
def chained(x: Each[float3], p: Param[float], out: OutTensor[float, 1]) -> tuple[Sum[float], Each[float]]:
    first, mean = split(x, p)
    spread(first, mean, out)
    double(out)
    again, other = split(x, p=mean)
    return total(out), again


@sa.pipeline(optimizer=sa.AdamW(lr=0.1))
def nested(t: Texture2D[float], target: Tensor[float, 2], weight: Uniform[float]) -> Mean[float]:
    return mismatch(look(t, TINT, domain=target.shape), target, weight)
