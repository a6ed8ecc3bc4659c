from dataclasses import field

import slangad as sa
from slangad import Array, Each, NoDiff, float2, float3


@sa.struct
class Light:
    """A light."""

    position: float3
    power: float = 1.0
    color: float3 = field(default_factory=lambda: float3(1.0))
    count: int = 2
    on: bool = True
    extra: NoDiff[float] = 0.5


@sa.struct
class Scene:
    key: Light
    fill: Light
    weights: Array[float, 2]
    uv: NoDiff[float2]

    def total(self, gain: float = 2.0) -> float:
        """The power of both lights."""
        return gain * (self.key.power * self.weights[0] + self.fill.power * self.weights[1]) + self.offset()

    def offset(self) -> float:
        return self.uv.x + Scene.shift(self.key.power)

    @staticmethod
    def shift(x: float) -> float:
        return x * 0.25

    @sa.differentiable
    def dimmed(self, by: float) -> "Scene":
        return Scene(self.key, self.fill, weights=Array[float, 2](by, by), uv=self.uv)

    @sa.function
    def lights(self) -> int:
        return self.key.count + self.fill.count


@sa.differentiable
def f(x: float) -> float:
    a = Light(float3(x))
    b = Light(position=float3(x), power=x, on=False)
    c = Light(float3(x), x, float3(0.5), 3, True, 0.25)
    s = Scene(a, b, Array[float, 2](1.0, 2.0), float2(x))
    z = sa.zeros(Scene)
    s.key = c
    s.fill.power *= 2.0
    return s.total() + s.dimmed(x).total(gain=1.0) + z.total(3.0) + s.lights() + (a.power if b.on else c.color.y)


@sa.kernel
def k(s: Each[Scene], x: Each[float]) -> Each[float]:
    return s.total(x) + f(x)


@sa.kernel
def make(x: Each[float]) -> Each[Light]:
    return Light(float3(x), x)
