"""Structs in structs: the gradient of a scene is a scene."""

import slangad as sa
from slangad import Array, float3


@sa.struct
class Light:
    """A lamp; nobody differentiates its switch."""

    colour: float3
    power: float
    on: sa.NoDiff[float] = 1.0


@sa.struct
class Scene:
    """Two lamps over a surface."""

    lights: Array[Light, 2]
    albedo: float3


@sa.differentiable
def radiance(scene: Scene, cos_angle: float) -> float3:
    """The light that the surface reflects."""
    total = float3(0.0)
    for light in scene.lights:
        total += light.colour * (light.power * light.power * light.on * cos_angle)
    return total * scene.albedo
