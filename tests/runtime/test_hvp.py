"""Products with Hessians: compared with differences of gradients, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import slangad as sa
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.runtime.arrays.modes import RunMode

pytestmark = [pytest.mark.toolchain, pytest.mark.usefixtures("cxx")]

DESCRIBED = """
import slangad as sa
from slangad import Array, Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Texture2D, Uniform
from slangad import double, double2, double2x2, double3, float2


@sa.struct
class Material:
    albedo: double3
    gloss: double
    layers: int

    def sheen(self, x: double) -> double:
        return self.gloss * self.gloss * sa.sin(x)


@sa.differentiable
def luminance(c: double3) -> double:
    return 0.2 * c.x + 0.7 * c.y * c.y + 0.1 * c.z * c.x


@sa.differentiable
def cube(x: double) -> double:
    return x * x * x


@cube.backward
def cube_bwd(x, d_out):
    return 3.0 * x * x * d_out


@sa.differentiable(derivative=sa.surrogate(cube))
def stepped(x: double) -> double:
    return sa.floor(x)


@sa.differentiable(derivative=sa.clip_gradient(0.8))
def clipped(x: double) -> double:
    return x * x


@sa.kernel
def vectors(m: Param[Material], v: Each[double3]) -> Sum[double]:
    n = sa.normalize(v + m.albedo)
    return luminance(sa.cross(n, v)) * sa.length(v) + m.sheen(sa.dot(n, v)) + sa.distance(v, m.albedo)


@sa.kernel
def branches(x: Each[double], a: Param[Array[double, 3]], power: Uniform[double]) -> Mean[double]:
    s = x
    for k in range(3):
        if s > 0.4:
            s = s * a[k] + sa.exp(-s)
        else:
            s = s + a[k] ** 2 * sa.max(s, 0.1)
    t = 0.0 if s > 100.0 else sa.pow(s * s + 1.0, power)
    return t + sa.smoothstep(-1.0, 3.0, s) + sa.atan2(s, 2.0) + sa.clamp(s, 0.0, 0.5) * s


@sa.kernel
def own(x: Each[double]) -> Each[double]:
    return cube(x) + stepped(x * 3.0) + clipped(x)


@sa.kernel
def matrices(m: Param[double2x2], v: Each[double2]) -> Sum[double]:
    w = sa.mul(m, v)
    return sa.dot(w, w) * sa.determinant(m) + sa.reflect(w, v).x


@sa.kernel
def gather(i: Each[int], w: Tensor[double, 1], scale: NoDiff[Each[double]]) -> Sum[double]:
    return w[i] * w[i] * w[(i + 1) % 3] * scale


@sa.kernel
def store(x: Tensor[double, 1], out: OutTensor[double, 1]) -> None:
    i = sa.thread_id()
    out[i] = x[i] * x[i] * x[0]


@sa.kernel
def squared(a: Each[double], y: NoDiff[Each[double]]) -> Sum[double]:
    return (a - y) ** 2


@sa.kernel
def bent(x: Each[double], k: Param[double]) -> Each[double]:
    return sa.tanh(k * x) * k


@sa.pipeline
def fitted(x: Each[double], k: Param[double], y: NoDiff[Each[double]]) -> Sum[double]:
    return squared(bent(bent(x, k), k), y)


@sa.kernel
def sampled(t: Texture2D[float], uv: Each[float2]) -> Sum[float]:
    return t.sample(uv)


@sa.differentiable
def slope(x: double) -> double:
    return sa.fwd_diff(cube)(sa.diff_pair(x, 1.0)).d


@sa.kernel
def second(x: Each[double]) -> Sum[double]:
    return slope(x)


@sa.kernel
def in_place(w: InOutTensor[double, 1]) -> Sum[double]:
    i = sa.thread_id()
    v = w[i] * w[i]
    w[i] = v
    return v * v


@sa.pipeline
def storing(w: InOutTensor[double, 1]) -> Sum[double]:
    return in_place(w)


@sa.kernel
def flat(x: NoDiff[Each[double]]) -> Sum[double]:
    return x * x
"""

GENERATOR = np.random.default_rng(4)


def _draw(*shape: int) -> Any:
    return GENERATOR.uniform(-0.9, 0.9, shape)


MATERIAL = {"m.albedo": _draw(3), "m.gloss": np.array(0.7), "m.layers": np.array(2)}
CASES: dict[str, dict[str, Any]] = {
    "vectors": {**MATERIAL, "v": _draw(5, 3)},
    "branches": {"x": _draw(6), "a": _draw(3), "power": np.array(1.5)},
    "own": {"x": np.array([-0.3, 0.1, 0.2, 0.35])},
    "matrices": {"m": _draw(2, 2), "v": _draw(3, 2)},
    "gather": {"i": np.array([0, 1, 2, 1]), "w": _draw(3), "scale": _draw(4)},
    "store": {"x": _draw(4), "out": np.zeros(4)},
    "in_place": {"w": _draw(4)},
    "fitted": {"x": _draw(4), "k": np.array(0.8), "y": _draw(4)},
}
NO_GRADIENT = ("out", "m.layers", "power", "i", "scale", "y")
STEP = 1e-5


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("hvp") / "described.py"
    path.write_text(DESCRIBED, encoding="utf-8")
    return sa.load(path, "cpu")


@pytest.mark.parametrize("name", CASES)
def test_hvp__of_a_kernel_or_pipeline__is_the_change_of_its_gradient(kernels: Any, name: str) -> None:
    given = CASES[name]
    moved = {key: _draw(*np.shape(value)) for key, value in given.items() if key not in NO_GRADIENT}
    seeds = {"cotangent.out": _draw(4)} if name == "store" else {}
    if name == "own":
        seeds = {"cotangent.result": _draw(4)}
    kernel = kernels[name]
    found = kernel.run(RunMode.HVP, {**given, **seeds, **{f"tangent.{key}": v for key, v in moved.items()}})

    def gradient(sign: float) -> Any:
        at = {key: value + sign * STEP * moved[key] if key in moved else value for key, value in given.items()}
        return kernel.run(RunMode.BACKWARD, {**at, **seeds})

    plus, minus, here = gradient(1.0), gradient(-1.0), gradient(0.0)
    for key in moved:
        expected = (plus[f"grad.{key}"] - minus[f"grad.{key}"]) / (2 * STEP)
        np.testing.assert_allclose(found[f"hvp.{key}"], expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found[f"grad.{key}"], here[f"grad.{key}"], rtol=1e-12)
    change = kernel.run(RunMode.JVP, {**given, **{f"tangent.{key}": v for key, v in moved.items()}})
    for key in (key for key in change if key.startswith("jvp.")):
        np.testing.assert_allclose(found[key], change[key], rtol=1e-12)


REFUSED = {
    "sampled": "coordinates of a texture sample",
    "second": "third derivative",
    "storing": "in_place stores into a tensor",
    "flat": "no gradient flows",
}


@pytest.mark.parametrize("name", REFUSED)
def test_hvp__of_what_has_none__says_why(kernels: Any, name: str) -> None:
    kernel = kernels[name]
    arrays = {"sampled": {"t": np.ones((2, 2)), "uv": np.ones((1, 2))}, "storing": {"w": np.ones(3)}}
    given = arrays.get(name, {"x": np.ones(3)})
    tangent = {f"tangent.{key}": value for key, value in given.items() if name != "flat"}
    with pytest.raises(CompileError, match=REFUSED[name]):
        kernel.run(RunMode.HVP, {**given, **tangent}, "", 3 if name == "storing" else None)


@sa.kernel
def curve(x: sa.Each[float], a: sa.Param[float]) -> sa.Sum[float]:
    return sa.sin(a * x) * a


@sa.differentiable
def wave(x: float, a: float) -> float:
    return sa.sin(a * x) * x


def test_hvp__of_decorated_objects__is_by_name() -> None:
    x = np.linspace(0.1, 1.0, 7, dtype="f4")
    out = curve.hvp(x, 2.0, tangent={"a": 1.0}, device="cpu")
    np.testing.assert_allclose(out.hvp.a, np.sum(2 * x * np.cos(2 * x) - 2 * x * x * np.sin(2 * x)), rtol=1e-5)
    np.testing.assert_allclose(out.grad.a, np.sum(np.sin(2 * x) + 2 * x * np.cos(2 * x)), rtol=1e-5)
    each = wave.hvp(x, 2.0, tangent={"x": 1.0}, device="cpu")
    np.testing.assert_allclose(each.hvp.x, 4 * np.cos(2 * x) - 4 * x * np.sin(2 * x), rtol=1e-4)


def test_hvp__for_other_targets__compiles() -> None:
    outputs = curve.compile("spirv", "wgsl", "cuda", modes=("hvp",))
    assert {name.rpartition(".")[2] for name in outputs} >= {"spv", "wgsl", "cu"}
    assert all("curve_hvp" in name for name in outputs if name.endswith((".spv", ".wgsl", ".cu")))
    assert "float curve_hvp(float x, float a, float tangent_x, float tangent_a)" in outputs["curve.slang"]
