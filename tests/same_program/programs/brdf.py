import slangad as sa
from slangad import Each, NoDiff, float3


@sa.struct
class Lobe:
    """A lobe around the mirror direction."""

    tint: float3
    exponent: NoDiff[float]

    def at(self, cosine: float) -> float3:
        """Its value for a cosine."""
        return self.tint * max(cosine, 1e-3) ** self.exponent


@sa.struct
class Material:
    albedo: float3
    roughness: float
    lobe: Lobe
    layers: int

    def luminance(self) -> float:
        return sa.dot(self.albedo, Material.weights())

    @staticmethod
    def weights() -> float3:
        return float3(0.3, 0.6, 0.1)

    @sa.function
    def is_rough(self, limit: float) -> bool:
        return self.roughness > limit


@sa.differentiable
def shade(m: Material, light: float3, normal: NoDiff[float3]) -> float3:
    cosine = max(sa.dot(light, normal), 0.0)
    return m.albedo * cosine + m.lobe.at(cosine) * m.luminance() * m.layers


@sa.kernel
def render(m: Each[Material], light: Each[float3]) -> Each[float3]:
    up = float3(0.0, 1.0, 0.0)
    return shade(m, light, normal=up)
