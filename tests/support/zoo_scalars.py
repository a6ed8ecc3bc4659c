"""Right functions of scalars: every intrinsic over its domain, kinks, jumps, scales and cancellation."""

from __future__ import annotations

from support.zoo_animals import Animal

A = Animal
UNIT = (0.0, 1.0)

INTRINSICS: tuple[Animal, ...] = (
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
    A("clamped_between", "x: float; low: float; high: float", "float", "sa.clamp(x, low - 0.5, high + 2.0) * x"),
    A("ratio_angle", "y: float; x: float", "float", "sa.atan2(y, x)", {"y": (-1e-3, 1e-3), "x": (0.5, 2.0)}),
    A("near_pole", "x: float", "float", "sa.tan(x)", {"x": (1.5, 1.57)}),
    A("near_ends", "x: float", "float", "sa.asin(x) - sa.acos(x) * x", {"x": (0.999, 1.0)}),
    A("vector_power", "v: float3; s: float", "float3", "sa.pow(v, float3(s))", {"v": (0.1, 2.0), "s": (-2.0, 3.0)}),
    A("vector_root", "v: float3", "float3", "sa.sqrt(v) + sa.log(v)", {"v": (0.01, 2.0)}),
    A("decay", "x: float", "float", "sa.exp(-x) * sa.exp2(-x)", {"x": (0.0, 30.0)}),
    A("below_zero_reciprocal", "x: float", "float", "sa.rcp(x)", {"x": (-9.0, -0.1)}),
    A("steep_inverse_root", "x: float", "float", "sa.rsqrt(x)", {"x": (1e-6, 1e-4)}),
    A("saturating", "x: float", "float", "sa.tanh(x)", {"x": (-12.0, 12.0)}),
    A("chosen", "x: float; y: float", "float", "sa.select(x > 0.3, x * y, y * y)"),
    A("extrapolated", "a: float3; b: float3; t: float", "float3", "sa.lerp(a, b, float3(t))", {"t": (-2.0, 3.0)}),
    A("guarded", "x: float", "float", "x * x if sa.isfinite(1.0 / x) and not sa.isnan(x) else 0.0 * x"),
    A("halves", "x: sa.half; y: sa.half", "sa.half", "x * y + sa.half(2.0) * x", {"x": (0.5, 2.0), "y": (0.5, 2.0)}),
    A("doubles", "x: sa.double; y: sa.double", "sa.double", "sa.sin(x * y) + x"),
)

FLAT: tuple[Animal, ...] = (
    A("floored", "x: float", "float", "sa.floor(x)", {"x": (-4.0, 4.0)}, flat=("x",)),
    A("stepped", "x: float; y: float", "float", "sa.floor(3.0 * x) * y", flat=("x",)),
    A("signed", "x: float", "float", "sa.sign(x)", flat=("x",)),
    A("truncated", "x: float; y: float", "float", "float(int(x * 4.0)) + y", flat=("x",)),
    A("threshold", "x: float; y: float", "float", "sa.step(0.3, x) * y * y", flat=("x",)),
    A("rounded", "x: float; y: float", "float", "sa.round(x) * y", {"x": (-4.0, 4.0)}, flat=("x",)),
    A("raised", "x: float; y: float", "float", "sa.ceil(3.0 * x) * y", flat=("x",)),
    A("cut_off", "x: float; y: float", "float", "sa.trunc(3.0 * x) * y * y", flat=("x",)),
    A("whole_quotient", "x: float; y: float", "float", "(x // 0.3) * y", {"x": (-3.0, 3.0)}, flat=("x",)),
    A("counted_up", "x: float; y: float", "float", "math.floor(4.0 * x) * y + round(x * 5.0)", flat=("x",)),
    A("all_in", "v: float2; y: float", "float", "y * 2.0 if sa.all(v > -0.5) else y", flat=("v",)),
)

KINKS: tuple[Animal, ...] = (
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
    A("beside_kink", "x: float", "float", "abs(x - 0.5) * 2.0", {"x": (0.4999, 0.5001)}),
    A("close_kinks", "x: float", "float", "abs(sa.sin(40.0 * x))"),
    A("crossing_curves", "x: float", "float", "max(x * x, 0.5 * x)"),
    A("blunt_root", "x: float", "float", "sa.sqrt(x * x + 1e-6)"),
    A("huber", "x: float", "float", "0.5 * x * x if abs(x) < 0.4 else 0.4 * (abs(x) - 0.2)"),
    A("nearly_tied", "x: float; y: float", "float", "max(x, x + 1e-3 * y)"),
    A("softened", "x: float", "float", "sa.log(1.0 + sa.exp(10.0 * x)) * 0.1"),
    A("clamped_vector", "v: float3", "float3", "sa.clamp(v, float3(-0.5), float3(0.25)) * v"),
    A("peak", "x: float; y: float", "float", "min(max(x, y), 1.0 - abs(x - y))"),
)

JUMPS: tuple[Animal, ...] = (
    A("jump", "x: float", "float", "x * x + 1.0 if x > 0.5 else x"),
    A("sawtooth", "x: float", "float", "x + 0.001 * sa.frac(x * 1000.0)"),
    A("hash", "x: float", "float", "sa.frac(sa.sin(x) * 43758.5)"),
    A("jump_with_branches", "x: float; y: float", "float", "if x * y > 0.2:\n    return x * y\nreturn x - y"),
    A(
        "checkered",
        "x: float; y: float",
        "float",
        "x * y if (math.floor(x * 4.0) + math.floor(y * 4.0)) % 2 == 0 else x",
    ),
    A("wrapped", "x: float", "float", "(sa.frac(x * 3.0) - 0.5) ** 2"),
    A("tall_jump", "x: float", "float", "1000.0 + x if x > -0.25 else x * x"),
)

SCALES: tuple[Animal, ...] = (
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
    A("vanishing", "x: float; y: float", "float", "1e-28 * sa.sin(x) * y"),
    A("wide_power", "x: float", "float", "x ** 4 * 1e-8", {"x": (10.0, 1000.0)}),
    A("far_sine", "x: float", "float", "sa.sin(x)", {"x": (1000.0, 1100.0)}),
    A("thin_valley", "x: float; y: float", "float", "(y - x * x) ** 2 * 100.0 + (1.0 - x) ** 2"),
    A("nearly_constant", "x: float", "float", "1.0 + 1e-5 * sa.sin(3.0 * x)"),
)

CANCELLATION: tuple[Animal, ...] = (
    A("cancelled", "x: float; y: float", "float", "(x + 100.0) - 100.0 + y * y"),
    A("difference_of_squares", "x: float", "float", "(x + 1.0) ** 2 - x ** 2"),
    A("small_logarithm", "x: float", "float", "sa.log(1.0 + x)", {"x": (1e-6, 1e-3)}),
    A("cosine_defect", "x: float", "float", "1.0 - sa.cos(x)", {"x": (1e-4, 1e-2)}),
    A("expanded_square", "x: float; y: float", "float", "x * x - 2.0 * x * y + y * y + 0.1 * x"),
    A("spread", "v: float4", "float", "sa.dot(v, v) / 4.0 - (sum(v) / 4.0) ** 2"),
    A("smaller_root", "b: float; c: float", "float", "b - sa.sqrt(b * b - c)", {"b": (2.0, 3.0), "c": (0.01, 0.1)}),
    A("log_sum", "x: float; y: float", "float", "max(x, y) + sa.log(sa.exp(x - max(x, y)) + sa.exp(y - max(x, y)))"),
)

COMPOSITIONS: tuple[Animal, ...] = (
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
    A("planck", "x: float; t: float", "float", "x ** 3 / (sa.exp(x / t) - 1.0)", {"x": (0.5, 4.0), "t": (0.5, 2.0)}),
    A("phase", "c: float; g: float", "float", "(1.0 - g * g) / (1.0 + g * g - 2.0 * g * c) ** 1.5", {"g": (0.0, 0.8)}),
    # every operator once more, with more inputs
    A("quotient", "x: float; y: float", "float", "x / y", {"y": (0.5, 2.0)}),
    A("negated", "x: float; y: float", "float", "-(x - y) * -x"),
    A("reused", "x: float", "float", "y = x * x\nz = y * y\nreturn z * y + z"),
    A("rebound", "x: float; y: float", "float", "x = x * y\ny = x + y\nx = x * y\nreturn x"),
)
