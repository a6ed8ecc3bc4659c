"""Finds the image whose small, blurred copy is the one that was seen: three kernels, each over a domain of its own."""

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor


@sa.kernel(dims=2)
def halve(image: Tensor[float, 2]) -> Each[float]:
    """The mean of four pixels."""
    i = 2 * sa.thread_id(0)
    j = 2 * sa.thread_id(1)
    total: float = image[i, j] + image[i, j + 1] + image[i + 1, j] + image[i + 1, j + 1]
    return 0.25 * total


@sa.kernel(dims=2)
def expose(light: Each[float]) -> Each[float]:
    """What a sensor makes of light."""
    return light / (light + 1.0)


@sa.kernel(dims=2)
def mismatch(found: Each[float], seen: NoDiff[Each[float]]) -> Mean[float]:
    """The squared error of a pixel."""
    return (found - seen) * (found - seen)


@sa.pipeline(optimizer=sa.Adam(lr=0.05))
def sharpen(image: Tensor[float, 2], seen: NoDiff[Tensor[float, 2]]) -> Mean[float]:
    """The last two kernels share a domain and become one."""
    small = halve(image, domain=(image.shape[0] // 2, image.shape[1] // 2))
    return mismatch(expose(small), seen)
