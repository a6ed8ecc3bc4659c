"""Objectives, with and without a PSNR."""

from typing import Annotated, Any

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Sum, Tensor, float2, float3


@sa.struct
class Ramp:
    base: float3
    slope: float3

    def __call__(self, u: float, v: float) -> float3:
        return self.base + self.slope * u * v


Colours = Annotated[Any, Ramp]


@sa.differentiable
def found(row: float, column: float, m: Colours) -> float3:
    return m(row / 6.0, column / 5.0)


@sa.differentiable
def squared(e: float3) -> float:
    total = 0.0
    for i in range(3):
        total += e[i] * e[i]
    return total


@sa.kernel(dims=2)
def by_l2(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    loss: float = sa.nn.l2(found(float(sa.thread_id(0)), float(sa.thread_id(1)), m), image)
    return loss


@sa.kernel(dims=2)
def by_dot(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = image - found(float(sa.thread_id(0)), float(sa.thread_id(1)), m)
    return 0.25 * sa.dot(e, e)


@sa.kernel(dims=2)
def by_sum(image: NoDiff[Each[float3]], m: Param[Colours]) -> Sum[float]:
    return squared(found(float(sa.thread_id(0)), float(sa.thread_id(1)), m) - image) / 2.0


@sa.kernel(dims=2)
def by_squares(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = found(float(sa.thread_id(0)), float(sa.thread_id(1)), m) - image
    return e.x**2 + e.y**2 + e.z * e.z


@sa.kernel(dims=2)
def render(shape: NoDiff[Each[float]], m: Param[Colours]) -> Each[float3]:
    return found(float(sa.thread_id(0)), float(sa.thread_id(1)), m)


@sa.kernel(dims=2)
def mismatch(painted: Each[float3], image: NoDiff[Each[float3]]) -> Mean[float]:
    return sa.dot(painted - image, painted - image)


@sa.pipeline
def by_stages(shape: NoDiff[Each[float]], image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    painted = render(shape, m)
    return mismatch(painted, image)


@sa.kernel(dims=2)
def by_index(image: NoDiff[Tensor[float3, 2]], shape: NoDiff[Each[float]], m: Param[Colours]) -> Mean[float]:
    i, j = sa.thread_id(0), sa.thread_id(1)
    seen = image[i, j]
    loss: float = sa.nn.l2(found(float(i), float(j), m), seen)
    return loss


@sa.kernel(dims=2)
def sum_by_index(image: NoDiff[Tensor[float3, 2]], shape: NoDiff[Each[float]], m: Param[Colours]) -> Sum[float]:
    e = found(float(sa.thread_id(0)), float(sa.thread_id(1)), m) - image[sa.thread_id(0), sa.thread_id(1)]
    return sa.dot(e, e)


@sa.kernel(dims=2)
def read_mismatch(painted: Each[float3], image: NoDiff[Tensor[float3, 2]]) -> Mean[float]:
    return sa.dot(painted - image[sa.thread_id(0), sa.thread_id(1)], painted - image[sa.thread_id(0), sa.thread_id(1)])


@sa.pipeline
def index_by_stages(image: NoDiff[Tensor[float3, 2]], shape: NoDiff[Each[float]], m: Param[Colours]) -> Mean[float]:
    painted = render(shape, m)
    return read_mismatch(painted, image)


@sa.kernel
def grey(seen: NoDiff[Each[float]], m: Param[float]) -> Mean[float]:
    return (m - seen) ** 2


# objectives without a PSNR


@sa.kernel(dims=2)
def penalised(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image
    return sa.dot(e, e) + 0.1 * sa.dot(m.base, m.base)


@sa.kernel(dims=2)
def weighted(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image
    return 2.0 * e.x * e.x + e.y * e.y + e.z * e.z


@sa.kernel(dims=2)
def partial(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image
    return e.x * e.x + e.y * e.y


@sa.kernel(dims=2)
def relative(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    loss: float = sa.nn.relative_l2(m.base, image)
    return loss


@sa.kernel(dims=2)
def masked(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image
    if image.x > 0.5:
        return 0.0
    return sa.dot(e, e)


@sa.kernel(dims=2)
def changed(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image
    if image.x > 0.5:
        e = float3(0.0, 0.0, 0.0)
    return sa.dot(e, e)


@sa.kernel(dims=2)
def curved(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image * image
    return sa.dot(e, e)


@sa.kernel(dims=2)
def mixed(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    return sa.dot(m.base - image, m.slope - image)


@sa.kernel(dims=2)
def twice(image: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    a, b = m.base - image, m.slope - image
    return sa.dot(a, a) + sa.dot(b, b)


@sa.kernel(dims=2)
def between(image: NoDiff[Each[float3]], other: NoDiff[Each[float3]], m: Param[Colours]) -> Mean[float]:
    a, b = m.base - image, m.base - other
    return a.x * a.x + b.y * b.y + b.z * b.z


@sa.kernel(dims=2)
def elsewhere(at: NoDiff[Each[float2]], image: NoDiff[Tensor[float3, 2]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image[int(at.x), int(at.y)]
    return sa.dot(e, e)


@sa.kernel(dims=2)
def diagonal(shape: NoDiff[Each[float]], image: NoDiff[Tensor[float3, 2]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image[sa.thread_id(1), sa.thread_id(1)]
    return sa.dot(e, e)


@sa.kernel(dims=2)
def shifted(shape: NoDiff[Each[float]], image: NoDiff[Tensor[float3, 2]], m: Param[Colours]) -> Mean[float]:
    e = m.base - image[min(sa.thread_id(0) + 1, 5), sa.thread_id(1)]
    return sa.dot(e, e)


@sa.kernel(dims=2)
def trained(shape: NoDiff[Each[float]], image: Tensor[float3, 2], m: Param[Colours]) -> Mean[float]:
    e = m.base - image[sa.thread_id(0), sa.thread_id(1)]
    return sa.dot(e, e)
