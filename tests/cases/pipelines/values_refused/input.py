import slangad as sa
from slangad import Each, Sum, Tensor, Uniform, float3

SUN = float3(0.0, 1.0, 0.0)


@sa.kernel
def lit(normal: Each[float3], sun: Uniform[float3]) -> Sum[float]:
    return sa.dot(normal, sun)


@sa.pipeline
def named(normal: Tensor[float3, 1]) -> Sum[float]:
    return lit(normal, SUN)


@sa.pipeline
def written(normal: Tensor[float3, 1]) -> Sum[float]:
    return lit(normal, float3(0.0, 1.0, 0.0))
