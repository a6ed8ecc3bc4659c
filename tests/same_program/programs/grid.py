import slangad as sa
from slangad import Each, NoDiff, Uniform, float3


@sa.kernel(dims=2, group_size=(16, 4), tile=(8, 8))
def fade(image: Each[float3], mask: NoDiff[Each[float]], strength: Uniform[float]) -> Each[float3]:
    """Darkens towards the lower right."""
    row = sa.thread_id(0) / sa.thread_count(0)
    column = sa.thread_id(1) / sa.thread_count(1)
    return image * (1.0 - strength * row * column * mask)


@sa.kernel(dims=3, tile="rows")
def volume(x: Each[float]) -> Each[float]:
    return x * sa.thread_id(2)


@sa.kernel(group_size=128)
def line(x: Each[bool], y: Each[float]) -> Each[float]:
    return y if x else 0.0
