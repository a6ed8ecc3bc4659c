import slangad as sa
from slangad import Each, Sum, Tensor, float2, int2


@sa.kernel
def total(x: Each[int]) -> Sum[int]:
    return x + sa.bin(x, x, tiles=4, capacity=8)


@sa.pipeline
def p(low: Tensor[int2, 1], high: Tensor[int2, 1], at: Tensor[float2, 1], image: Tensor[int2, 2]) -> Sum[int]:
    sa.bin(low, high)
    sa.bin(low, high, tiles=(4, 4))
    sa.bin(low, high, tiles=(4, 4, 4, 4), capacity=8)
    sa.bin(low, high, tiles=4, capacity=8)
    sa.bin(at, at, tiles=(4, 4), capacity=8)
    sa.bin(image, image, tiles=(4, 4), capacity=8)
    sa.bin(low, high, at, tiles=(4, 4), capacity=8)
    sa.bin(low, tiles=(4, 4), capacity=8)
    sa.bin(low, high, sort=True, tiles=(4, 4), capacity=8)
    sa.bin(low, high, tiles=(4, 4), capacity=8.5)
    bin(low, high, tiles=(4, 4), capacity=8)
    start, count = sa.bin(low, high, tiles=(4, 4), capacity=8)
    start, count, order = sa.bin(low, high, tiles=(4, 4), capacity=8)
    return total(start)
