"""Functions whose gradients are right, as a table: ``slangad check`` must not accuse them, mutants are made of them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Animal:
    """A right function; ``params`` and ``body`` as in a description.

    ``ranges`` say where it is sampled; ``flat`` inputs get no gradient, so breaking that changes nothing; of
    ``symmetric`` functions all inputs of one type have the same gradient.
    """

    name: str
    params: str
    result: str
    body: str
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    flat: tuple[str, ...] = ()
    symmetric: bool = False
    options: str = ""

    @property
    def types(self) -> dict[str, str]:
        """The type of each parameter."""
        return dict(part.strip().split(": ", 1) for part in self.params.split(";"))

    @property
    def text(self) -> str:
        """The function as a description."""
        params = ", ".join(part.strip() for part in self.params.split(";"))
        lines = self.body.strip("\n").split("\n")
        body = lines if len(lines) > 1 or lines[0].startswith("return") else [f"return {lines[0]}"]
        indented = "\n".join(f"    {line}" for line in body)
        return f"@sa.differentiable({self._keywords()})\ndef {self.name}({params}) -> {self.result}:\n{indented}\n"

    def _keywords(self) -> str:
        ranges = f"ranges={self.ranges!r}" if self.ranges else ""
        return ", ".join(part for part in (ranges, self.options) if part)


HEAD = """import slangad as sa
from slangad import NoDiff, float2, float2x2, float2x3, float3, float3x3, float4

K = (0.5, -1.5, 2.0, 3.25)


@sa.struct
class Lamp:
    at: float3
    power: float = 1.0
    kind: int = 0


@sa.struct
class Room:
    lamp: Lamp
    weights: sa.Array[float, 3]
    gain: NoDiff[float] = 2.0


"""

A = Animal
UNIT = (0.0, 1.0)
RIGHT: tuple[Animal, ...] = (
    # intrinsics over their domains
    A("sine", "x: float", "float", "sa.sin(x)", {"x": (-10.0, 10.0)}),
    A("cosine", "x: float", "float", "sa.cos(x)", {"x": (-100.0, 100.0)}),
    A("tangent", "x: float", "float", "sa.tan(x)", {"x": (-1.5, 1.5)}),
    A("arcs", "x: float", "float", "sa.asin(x) * 2.0 + sa.atan(3.0 * x)"),
    A("arccosine", "x: float", "float", "sa.acos(x)"),
    A("arctangent2", "y: float; x: float", "float", "sa.atan2(y, x)", {"y": (-3.0, 3.0), "x": (-3.0, 3.0)}),
    A("hyperbolic", "x: float", "float", "sa.sinh(x) + sa.cosh(2.0 * x) * sa.tanh(x)", {"x": (-3.0, 3.0)}),
    A("exponential", "x: float", "float", "sa.exp(x)", {"x": (-20.0, 20.0)}),
    A("exponential2", "x: float", "float", "sa.exp2(x)", {"x": (-20.0, 20.0)}),
    A("logarithm", "x: float", "float", "sa.log(x)", {"x": (1e-6, 100.0)}),
    A("logarithm2", "x: float", "float", "sa.log2(x)", {"x": (1e-3, 100.0)}),
    A("logarithm10", "x: float", "float", "sa.log10(x)", {"x": (1e-3, 100.0)}),
    A("root", "x: float", "float", "sa.sqrt(x)", {"x": (0.0, 4.0)}),
    A("tiny_root", "x: float", "float", "sa.sqrt(x)", {"x": (1e-12, 1e-8)}),
    A("inverse_root", "x: float", "float", "sa.rsqrt(x)", {"x": (0.01, 4.0)}),
    A("reciprocal", "x: float", "float", "1.0 / x", {"x": (-2.0, 2.0)}),
    A("own_reciprocal", "x: float", "float", "sa.rcp(x)", {"x": (0.1, 9.0)}),
    A("power", "x: float; y: float", "float", "sa.pow(x, y)", {"x": (0.01, 4.0), "y": (-3.0, 3.0)}),
    A("square", "x: float", "float", "x ** 2", {"x": (-3.0, 3.0)}),
    A("fifth", "x: float", "float", "x ** 5", {"x": (-2.0, 2.0)}),
    A("inverse_cube", "x: float", "float", "x ** -3", {"x": (0.2, 2.0)}),
    A("fractional_power", "x: float", "float", "x ** 1.5", {"x": (0.0, 2.0)}),
    A("blend", "a: float; b: float; t: float", "float", "sa.lerp(a, b, t)"),
    A("smooth_edge", "x: float", "float", "sa.smoothstep(-0.5, 0.5, x)"),
    A(
        "smooth_edges",
        "low: float; high: float; x: float",
        "float",
        "sa.smoothstep(low, high, x)",
        {"low": (-1.0, -0.5), "high": (0.5, 1.0)},
    ),
    A("remainder", "x: float; y: float", "float", "sa.fmod(x, y)", {"x": (-9.0, 9.0), "y": (0.5, 2.0)}),
    A("modulo", "x: float; y: float", "float", "x % y", {"x": (-9.0, 9.0), "y": (0.5, 2.0)}),
    A("fraction", "x: float", "float", "sa.frac(x)", {"x": (-4.0, 4.0)}),
    A("angles", "x: float", "float", "sa.degrees(x) * 0.01 + sa.radians(x)", {"x": (-90.0, 90.0)}),
    # flat ones
    A("floored", "x: float", "float", "sa.floor(x)", {"x": (-4.0, 4.0)}, flat=("x",)),
    A("stepped", "x: float; y: float", "float", "sa.floor(3.0 * x) * y", flat=("x",)),
    A("signed", "x: float", "float", "sa.sign(x)", flat=("x",)),
    A("truncated", "x: float; y: float", "float", "float(int(x * 4.0)) + y", flat=("x",)),
    A("threshold", "x: float; y: float", "float", "sa.step(0.3, x) * y * y", flat=("x",)),
    A("rounded", "x: float; y: float", "float", "sa.round(x) * y", {"x": (-4.0, 4.0)}, flat=("x",)),
    # kinks at and near the sample
    A("absolute", "x: float", "float", "abs(x)"),
    A("largest", "x: float; y: float", "float", "max(x, y)"),
    A("smallest_of_three", "x: float; y: float; z: float", "float", "min(x, y, z)"),
    A("clamped", "x: float", "float", "sa.clamp(x, -0.25, 0.5)"),
    A("saturated", "x: float", "float", "sa.saturate(2.0 * x)"),
    A("relu", "x: float", "float", "x if x > 0.0 else 0.0"),
    A("leaky", "x: float", "float", "x if x > 0.0 else 0.01 * x"),
    A("hinge", "x: float; y: float", "float", "max(x, 0.0) * max(y - 0.9, 0.0)"),
    A("folds", "x: float", "float", "abs(x - 0.3) + abs(x - 0.30001) + abs(x - 0.31)"),
    A("soft_fold", "x: float", "float", "abs(x) * x"),
    A("nested_folds", "x: float; y: float", "float", "abs(abs(x) - abs(y))"),
    A("diamond", "x: float; y: float", "float", "abs(x + y) - abs(x - y)"),
    A("clamped_arc", "x: float", "float", "sa.acos(sa.clamp(x, -1.0, 1.0))", {"x": (-2.0, 2.0)}),
    # jumps
    A("jump", "x: float", "float", "x * x + 1.0 if x > 0.5 else x"),
    A("sawtooth", "x: float", "float", "x + 0.001 * sa.frac(x * 1000.0)"),
    A("hash", "x: float", "float", "sa.frac(sa.sin(x) * 43758.5)"),
    A("jump_with_branches", "x: float; y: float", "float", "if x * y > 0.2:\n    return x * y\nreturn x - y"),
    # scales
    A("tiny", "x: float; y: float", "float", "1e-20 * x * y"),
    A("huge", "x: float", "float", "1e25 * sa.exp(x)"),
    A("tiny_inputs", "x: float; y: float", "float", "x * y * 1e12", {"x": (1e-8, 1e-7), "y": (1e-8, 1e-7)}),
    A("huge_inputs", "x: float; y: float", "float", "x * y * 1e-12 + x", {"x": (1e6, 1e8), "y": (1e6, 1e8)}),
    A("mixed_scales", "x: float; y: float", "float", "1e6 * x + 1e-3 * y * y"),
    A("offset", "x: float", "float", "1000000.0 + 0.001 * x * x"),
    A("steep", "x: float", "float", "sa.exp(50.0 * x)"),
    A("narrow", "x: float", "float", "sa.exp(-x * x * 10000.0)"),
    A("fast", "x: float", "float", "sa.sin(1000.0 * x)"),
    A("logistic", "x: float", "float", "1.0 / (1.0 + sa.exp(-30.0 * x))"),
    # cancellation
    A("cancelled", "x: float; y: float", "float", "(x + 100.0) - 100.0 + y * y"),
    A("difference_of_squares", "x: float", "float", "(x + 1.0) ** 2 - x ** 2"),
    A("small_logarithm", "x: float", "float", "sa.log(1.0 + x)", {"x": (1e-6, 1e-3)}),
    A("cosine_defect", "x: float", "float", "1.0 - sa.cos(x)", {"x": (1e-4, 1e-2)}),
    # compositions
    A("rational", "x: float; k: float", "float", "x ** 2 / (x ** 2 + k + 1e-6)", {"k": (0.1, 4.0)}),
    A("gaussian", "x: float; s: float", "float", "sa.exp(-x * x / (2.0 * s * s)) / s", {"s": (0.3, 2.0)}),
    A("fresnel", "c: float; f: float", "float", "f + (1.0 - f) * (1.0 - sa.saturate(c)) ** 5", {"c": UNIT, "f": UNIT}),
    A(
        "ggx",
        "c: float; a: float",
        "float",
        "a2 = a * a\nd = c * c * (a2 - 1.0) + 1.0\nreturn a2 / (3.14159 * d * d)",
        {"c": UNIT, "a": (0.1, 1.0)},
    ),
    A("entropy", "p: float", "float", "-p * sa.log(p) - (1.0 - p) * sa.log(1.0 - p)", {"p": (0.01, 0.99)}),
    A("polynomial", "x: float", "float", "((2.0 * x - 3.0) * x + 0.5) * x - 1.0"),
    A("chain", "x: float", "float", "sa.sin(sa.exp(sa.cos(sa.tanh(x))))"),
    A("six", "a: float; b: float; c: float; d: float; e: float; f: float", "float", "a * b + b * c * d - e * f * a"),
    # vectors and matrices
    A("inner", "a: float3; b: float3", "float", "sa.dot(a, b)"),
    A("outer", "a: float3; b: float3", "float3", "sa.cross(a, b)"),
    A("norm", "v: float3", "float", "sa.length(v)"),
    A("small_norm", "v: float3", "float", "sa.length(v)", {"v": (-1e-5, 1e-5)}),
    A("apart", "a: float3; b: float3", "float", "sa.distance(a, b)"),
    A("direction", "v: float3", "float3", "sa.normalize(v)", {"v": (0.1, 1.0)}),
    A("mirrored", "i: float3; n: float3", "float3", "sa.reflect(i, n)"),
    A(
        "bent",
        "i: float3; n: float3; eta: float",
        "float3",
        "sa.refract(sa.normalize(i), sa.normalize(n), eta)",
        {
            "i.x": (-0.3, 0.3),
            "i.y": (-1.0, -0.5),
            "i.z": (-0.3, 0.3),
            "n.x": (-0.1, 0.1),
            "n.y": (0.9, 1.0),
            "n.z": (-0.1, 0.1),
            "eta": (0.5, 0.8),
        },
    ),
    A("swizzled", "v: float4", "float2", "v.xz * v.wy"),
    A("summed", "v: float4", "float", "sum(v * v)"),
    A("by_component", "v: float3; s: float", "float3", "sa.exp(v * s) - v / (2.0 + s)"),
    A("vector_kinks", "a: float3; b: float3", "float3", "max(a, b) * abs(a)"),
    A("matrix_vector", "m: float3x3; v: float3", "float3", "sa.mul(m, v)"),
    A("vector_matrix", "v: float2; m: float2x3", "float3", "sa.mul(v, m)"),
    A("matrix_matrix", "a: float2x2; b: float2x2", "float2x2", "a @ b"),
    A("turned", "m: float2x2; v: float2", "float", "sa.dot(sa.mul(sa.transpose(m), v), float2(1.0, 2.0))"),
    A("volume", "m: float3x3", "float", "sa.determinant(m)"),
    A("rows", "m: float2x2", "float", "m[0].x * m[1, 1] - 2.0 * m[0, 1]"),
    A("entries", "m: float2x2", "float", "m[0, 0] + 2.0 * m[0, 1] + 3.0 * m[1, 0] * m[1, 1]"),
    # loops
    A("summed_loop", "x: float", "float", "s = 0.0\nfor i in range(6):\n    s += sa.sin(x * i)\nreturn s"),
    A("carried", "x: float; y: float", "float", "s = x\nfor i in range(5):\n    s = s * y + x\nreturn s"),
    A(
        "counted",
        "x: float; n: int",
        "float",
        "s = x\nfor i in sa.range(n, max_iters=8):\n    s = s * x + 1.0\nreturn s",
        {"n": (0, 8)},
    ),
    A(
        "newton",
        "a: float",
        "float",
        "x = a\nfor i in range(8):\n    x = 0.5 * (x + a / x)\nreturn x",
        {"a": (0.1, 9.0)},
    ),
    A(
        "until",
        "x: float",
        "float",
        "s = x\nwhile sa.max_iters(32) and s < 10.0:\n    s = s * 2.0 + 0.1\nreturn s",
        {"x": (0.1, 9.0)},
    ),
    A(
        "broken_off",
        "x: float",
        "float",
        "s = 0.0\nfor i in range(10):\n    if s > 2.0:\n        break\n    s += x\nreturn s",
        {"x": (0.1, 1.0)},
    ),
    A(
        "nested_loops",
        "x: float; y: float",
        "float",
        "s = 0.0\nfor i in range(3):\n    for j in range(4):\n        s += sa.sin(x * i + y * j)\nreturn s",
    ),
    A(
        "triangle",
        "x: float",
        "float",
        "s = 0.0\nfor i in range(4):\n    for j in sa.range(i, max_iters=4):\n        s += x ** 2 * j\nreturn s",
    ),
    A(
        "light_through",
        "b: float3; x: float; n: int",
        "float3",
        "t = 1.0\nfor i in sa.range(n, max_iters=4):\n    t *= x\nreturn b * t",
        {"n": (0, 4)},
    ),
    A("unrolled", "x: float", "float", "s = 1.0\nfor i in sa.range(4, unroll=True):\n    s *= x + i\nreturn s"),
    # branches
    A(
        "branches",
        "x: float; y: float",
        "float",
        "if x > 0.2:\n    return x * y\nelif y > 0.0:\n    return x + y\nreturn y * y",
    ),
    A("by_flag", "x: float; on: bool", "float", "x * x if on else 3.0 * x"),
    A(
        "by_kind",
        "x: float; kind: int",
        "float",
        "if kind == 0:\n    return x\nif kind == 1:\n    return x * x\n"
        "if kind == 2:\n    return sa.sin(x)\nreturn sa.exp(x)",
    ),
    A("rare_branch", "x: float", "float", "if x > 0.93:\n    return 3.0 * x * x\nreturn x * x"),
    # arrays and structs
    A("listed", "a: sa.Array[float, 4]", "float", "a[0] * a[1] + a[2] * a[3] * a[3]"),
    A("at_indices", "a: sa.Array[float, 4]; i: int; j: int", "float", "a[i] * a[j]", {"i": (0, 3), "j": (0, 3)}),
    A(
        "gathered",
        "a: sa.Array[float, 4]; k: int",
        "float",
        "s = 0.0\nfor i in range(4):\n    s += a[i] * a[(i + k) % 4]\nreturn s",
        {"k": (0, 3)},
    ),
    A("component_at", "v: float4; i: int; j: int", "float", "v[i] * v[j] + v[i]", {"i": (0, 3), "j": (0, 3)}),
    A(
        "accumulated",
        "a: sa.Array[float, 3]",
        "sa.Array[float, 3]",
        "b = sa.Array[float, 3]()\nfor i in range(3):\n"
        "    for j in sa.range(i + 1, max_iters=3):\n        b[i] += a[j] * a[j]\nreturn b",
    ),
    A("table", "x: float; k: int", "float", "K[k] * x * x", {"k": (0, 3)}),
    A("lit", "l: Lamp; p: float3", "float", "d = p - l.at\nreturn l.power / (1.0 + sa.dot(d, d))"),
    A("nested", "r: Room; x: float", "float", "r.lamp.power * r.weights[1] * x + r.weights[2] * r.lamp.at.y * r.gain"),
    A("struct_result", "l: Lamp; s: float", "Lamp", "return Lamp(at=l.at * s, power=l.power * l.power, kind=l.kind)"),
    A("several", "x: float; y: float", "tuple[float, float3]", "return x * y, float3(x, y, x * x)"),
    A("passive", "x: float; k: NoDiff[float]", "float", "x * x * k"),
    # every operator once more, with more inputs
    A("quotient", "x: float; y: float", "float", "x / y", {"y": (0.5, 2.0)}),
    A("negated", "x: float; y: float", "float", "-(x - y) * -x"),
    A("reused", "x: float", "float", "y = x * x\nz = y * y\nreturn z * y + z"),
    A("rebound", "x: float; y: float", "float", "x = x * y\ny = x + y\nx = x * y\nreturn x"),
)
