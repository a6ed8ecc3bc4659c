"""Fits a glossy material to measured reflectance: a kernel over a custom derivative, a struct and a loop."""

import slangad as sa
from slangad import Each, NoDiff, Uniform, float3

EPS = 1e-6
PI = 3.14159265


@sa.struct
class Material:
    """What is fitted."""

    albedo: float3
    roughness: float
    metallic: float = 0.0

    def reflectance(self) -> float3:
        """The reflectance at normal incidence: 4 % for dielectrics, the albedo for metals."""
        return sa.lerp(float3(0.04), self.albedo, float3(self.metallic))


@sa.differentiable
def distribution(cos_half: float, alpha: float) -> float:
    """GGX: how many microfacets point along the half vector."""
    a2 = alpha * alpha
    d = cos_half * cos_half * (a2 - 1.0) + 1.0
    return a2 / (PI * d * d + EPS)


@distribution.backward
def distribution_bwd(cos_half: float, alpha: float, d_out: float) -> tuple[float, float]:
    # Written by hand: one division instead of the four that automatic differentiation leaves.
    a2 = alpha * alpha
    c2 = cos_half * cos_half
    d = c2 * (a2 - 1.0) + 1.0
    n = PI * d * d + EPS
    common = d_out / (n * n)
    d_cos = -common * a2 * PI * 4.0 * d * cos_half * (a2 - 1.0)
    d_alpha = common * 2.0 * alpha * (n - a2 * PI * 2.0 * d * c2)
    return d_cos, d_alpha


@sa.differentiable
def shade(m: Material, view: NoDiff[float3], light: NoDiff[float3]) -> float3:
    """The light a surface facing +z reflects from ``light`` to ``view``."""
    half_vector = sa.normalize(view + light)
    cos_light = max(light.z, 0.0)
    fresnel = m.reflectance()
    fresnel = fresnel + (1.0 - fresnel) * (1.0 - sa.saturate(sa.dot(half_vector, view))) ** 5
    diffuse = m.albedo * ((1.0 - m.metallic) / PI)
    # Two lobes of different widths, the narrow one under a clear coat.
    gloss = 0.0
    for lobe in range(2):
        alpha = m.roughness * m.roughness / (1.0 + lobe)
        gloss += distribution(half_vector.z, alpha) * 0.5
    return (diffuse + fresnel * gloss * 0.25) * cos_light


@sa.kernel
def fit(
    m: Each[Material],
    view: NoDiff[Each[float3]],
    light: NoDiff[Each[float3]],
    measured: NoDiff[Each[float3]],
    exposure: Uniform[float],
) -> Each[float]:
    """The squared error of one measurement."""
    error = shade(m, sa.normalize(view), sa.normalize(light)) * exposure - measured
    return sa.dot(error, error)
