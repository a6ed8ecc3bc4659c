"""Names that mean something in Slang, in what is emitted, or are spelled in other letters."""

import slangad as sa
from slangad import Each, Uniform, float3


@sa.struct
class uniform:
    out: float
    struct: float3
    dzero: float

    def dot(self, normalize: float3) -> float:
        return sa.dot(self.struct, normalize) * self.out + self.dzero


@sa.differentiable
def lerp(max: float, λ: float) -> float:  # noqa: A002, PLC2401  (a builtin's name and a Greek letter on purpose)
    sin = max * λ
    return sa.sin(sin) + sa.lerp(max, λ, 0.25)


@sa.differentiable
def lerp_gradient(cross: float3, groß: float3) -> float3:  # noqa: PLC2401  (a letter outside ASCII on purpose)
    length = sa.length(cross)
    return cross * length + groß


@sa.kernel
def result(result: Each[float], i: Each[float], count: Each[float3], thread: Each[float3]) -> Each[float]:
    float3_ = lerp_gradient(count, thread)
    return lerp(result, i) * float3_.x + lerp(i, result)


@sa.kernel
def vector(value: Each[uniform], result_cotangent: Each[float3], domain: Uniform[float]) -> Each[float]:
    this = value.dot(result_cotangent)
    return this * domain
