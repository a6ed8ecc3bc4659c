"""Reverse mode that slangad writes for short functions: its text, and its gradients beside those of Slang."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import build_emitted

from slangad.compiler.emit import Mode, ParameterRole, emit_module
from slangad.compiler.frontends import load
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import fresh_keys
from slangad.compiler.ir.verify.module import verify
from slangad.compiler.passes.derivatives.written_backward import written_backward
from slangad.compiler.passes.lower_tuples import lower_tuples
from slangad.compiler.passes.order import PIPELINE
from slangad.compiler.passes.share_tiles.selects import with_selects

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy.typing as npt
    from support.cpu import Program

HEAD = """
import slangad as sa
from slangad import Array, Each, NoDiff, Tensor, float2, float2x2, float3, float3x3, float4


@sa.struct
class Pair:
    light: float3
    through: float


@sa.struct
class Mixed:
    a: float
    n: int
    b: float2
    fixed: NoDiff[float]


@sa.struct
class Nested:
    pair: Pair
    weight: float


@sa.differentiable
def wave(x: float, y: float) -> float:
    return sa.sin(x) * y


@sa.differentiable
def scaled(v: float3, s: float, w: NoDiff[float]) -> float3:
    return v * s * w


@sa.differentiable
def alone(v: float3) -> float:
    return v.x * v.y - sa.exp(v.z)


@sa.differentiable
def shaded(pair: Pair, s: float) -> Pair:
    return Pair(pair.light * s, pair.through * pair.through)


def steps(x: float) -> float:
    return x * x


"""
WRITTEN = {
    "early return": (
        "x: float, y: float", "float",
        "if x > 0.0:",
        "    return y",
        "return x * y",
    ),
    "early returns": (
        "x: float, y: float, v: float2", "float2",
        "w = v * x",
        "if x > 0.5:",
        "    if y > 0.0:",
        "        return w * y",
        "    else:",
        "        return v",
        "w = w + v * sa.exp(y)",
        "if w.x < 0.0:",
        "    return float2(w.x * x, w.y)",
        "return w * w",
    ),
    "early return in the second side": (
        "x: float, y: float", "float",
        "z = x * y",
        "if x < 0.5:",
        "    z = z * z",
        "else:",
        "    return z * x",
        "return z + y",
    ),
    "swap in a branch": (
        "x: float, y: float, z: float", "float2",
        "if x > y:",
        "    w = x",
        "    x = y",
        "    y = w * z",
        "    z = x",
        "return float2(x * z, y)",
    ),
    "sides with the same cotangent": (
        "x: float, y: float", "float",
        "z = x * y",
        "if x < 0.5:",
        "    z = z + x",
        "else:",
        "    z = z + y * y",
        "return z * x",
    ),
    "blend": (
        "pair: Pair, color: float3, mean: float2, conic: float3, opacity: float, column: int, row: int", "Pair",
        "light = pair.light",
        "through = pair.through",
        "d = float2(column, row) - mean",
        "power = -0.5 * (conic.x * d.x * d.x + conic.z * d.y * d.y) - conic.y * d.x * d.y",
        "alpha = min(opacity * sa.exp(power), 0.99)",
        "light += color * (alpha * through)",
        "through *= 1.0 - alpha",
        "return Pair(light, through)",
    ),
    "branch": (
        "x: float, y: float", "float",
        "s = x * y",
        "t = y",
        "if x > 0.25:",
        "    s = s * x",
        "    t += s * sa.cos(s)",
        "return s * t",
    ),
    "a number on one side of a branch": (
        "x: float, y: float", "float",
        "w = x * x",
        "v = y",
        "if x > y:",
        "    w = 0.0",
        "else:",
        "    v = x * y",
        "return w * v",
    ),
    "a number and what the other side keeps": (
        "x: float, y: float", "float",
        "w = x * x",
        "v = y",
        "if x > y:",
        "    w = 0.0",
        "    v = 1.0",
        "else:",
        "    v = x * y",
        "return w * v",
    ),
    "root": (
        "v: float3, s: float", "float3",
        "n = sa.normalize(v)",
        "return (n + s) * (sa.sqrt(s) / sa.length(v))",
    ),
    "polynomial": ("x: float, y: float", "float", "return x * x * y - 3.0 * x + y * y * 0.5"),
    "negative": ("x: float, y: float", "float", "return -(x - -y) - (-x) * y"),
    "quotients": ("x: float, y: float", "float", "return x / y + 1.0 / (y * y) - x / 3.0"),
    "minimum": ("x: float, y: float", "float", "return min(x, y) * x"),
    "minimum of numbers": ("x: float, y: float", "float", "return min(x, 0.5) + min(-0.5, y) * max(x, 0.0)"),
    "several": ("x: float, y: float, z: float", "float", "return max(x, y, z) * min(x * y, z, 0.5, y)"),
    "maximum of vectors": ("v: float3, w: float3, s: float", "float3", "return max(v, w * s) + min(v, 0.5) * s"),
    "limits": ("x: float, y: float", "float", "return sa.clamp(x * y, -0.5, 0.5) + sa.saturate(y) * x"),
    "limits that move": ("x: float, y: float, z: float", "float", "return sa.clamp(x, y, z) * z"),
    "absolute": ("x: float, y: float", "float", "return abs(x) * sa.relu(y) + sa.sign(x) * y"),
    "rounded": ("x: float, y: float", "float", "return sa.floor(x) * y + sa.frac(y) + sa.fmod(x, 0.75)"),
    "interpolated": (
        "v: float3, w: float3, t: float", "float3",
        "return sa.lerp(v, w, float3(t)) * sa.mix(t, 2.0, t)",
    ),
    "exponentials": (
        "x: float, y: float", "float",
        "return sa.exp(x) * sa.exp2(y) + sa.log(2.0 + x * x) * sa.sigmoid(y)",
    ),
    "powers": (
        "x: float, y: float", "float",
        "return sa.pow(abs(x) + 0.1, y) + sa.sqrt(y * y + 0.5) * sa.rsqrt(x * x + 1.0)",
    ),
    "trigonometry": (
        "x: float, y: float", "float",
        "return sa.sin(x) * sa.cos(x * y) + sa.tanh(y) * sa.atan(x) + sa.atan2(y, x)",
    ),
    "hypotenuse": ("x: float, y: float", "float", "return sa.hypot(x, y) * sa.asin(sa.sin(x) * 0.5)"),
    "root of zero": ("x: float, y: float", "float", "return sa.select(x > 0.0, sa.sqrt(sa.max(x, 0.0)), y * x)"),
    "root on one side": ("x: float, y: float", "float", "return (sa.sqrt(x) if x > 0.0 else y) * y"),
    "choices": ("x: float, y: float, n: int", "float", "return (x if n > 0 else y * 2.0) * (y if x < y else -x)"),
    "choice of vectors": (
        "v: float3, w: float3", "float3",
        "return sa.select(v < w, v * w, w) - (v if v.x > 0.0 else w)",
    ),
    "products of vectors": (
        "v: float3, w: float3", "float",
        "return sa.dot(v, w) * sa.dot(v, v) + sa.sum(v / (w * w + 1.0))",
    ),
    "cross product": ("v: float3, w: float3", "float3", "return sa.cross(v, w) * sa.cross(w, v).x"),
    "scalar and vector": (
        "v: float3, s: float", "float3",
        "return v * s + s - v / s + (s - v) * 2.0 + s / (v * v + 1.0)",
    ),
    "computed scalar": (
        "v: float3, s: float, t: float", "float3",
        "return v * (s * t) - (s + t) * v + float3(s * t) * v",
    ),
    "lengths": ("v: float3, w: float3", "float", "return sa.length(v) * sa.distance(v, w) + sa.normalize(w).y"),
    "reflected": ("v: float3, w: float3", "float3", "return sa.reflect(v, w) * sa.smoothstep(-1.0, 1.5, v.x)"),
    "swizzles": ("v: float4, s: float", "float3", "return v.xyz * v.w + v.zzx * s + float3(v.yx, s)"),
    "parts": ("v: float3, s: float", "float3", "return float3(v.xy * s, v.z) + float3(s, v.y * v.y, 1.0)"),
    "stored parts": (
        "v: float3, s: float", "float",
        "w = v * s",
        "w.x = w.y * s",
        "w.yz = v.xy",
        "w[2] = w[2] + s",
        "return w.x * w.y + w.z",
    ),
    "part and whole": ("v: float3, s: float", "float3", "return v * s + v.x * v.yzx + sa.sin(v.y)"),
    "cast": ("x: float, n: int, h: float2", "float2", "return h * n + float2(n, x * n) * float(int(x * 4.0))"),
    "half": ("x: float, y: float", "float", "return float(sa.half(x) * sa.half(y)) * y"),
    "struct without gradient": (
        "m: Mixed, y: float", "float",
        "r = Mixed(m.a, m.n, m.b, m.fixed)",
        "r.a = m.a * y * m.fixed",
        "return r.a * m.n + sa.dot(r.b, m.b)",
    ),
    "struct to struct": ("p: Pair, s: float", "Pair", "return Pair(p.light * p.through, s - p.through * p.light.y)"),
    "nested": (
        "n: Nested, s: float", "Nested",
        "p = Pair(n.pair.light * s, n.weight)",
        "return Nested(p, p.light.x * n.pair.through)",
    ),
    "struct unchanged": (
        "p: Pair, s: float", "Pair",
        "q = p",
        "t = s * 2.0",
        "return q",
    ),
    "unused": ("n: Nested, p: Pair, x: float", "float", "return x * 2.0"),
    "nothing": ("n: Nested, x: float", "float", "return 2.0"),
    "names": (
        "x: float, d_x: float", "float",
        "d_out = x * d_x",
        "product = d_out * d_out",
        "product = product * d_x + x",
        "d_out = product * product",
        "return d_out * x + product * product",
    ),
    "refracted": ("v: float3, w: float3, s: float", "float3", "return sa.refract(v, w, s) * s"),
    "aliases": ("x: float, y: float", "float", "a = x", "b = x", "a = a * y", "b = b * a", "return a * b"),
    "array": (
        "a: Array[float, 3], s: float", "float",
        "b = Array[float, 3](a[0] * s, a[1], s)",
        "b[1] = b[1] * b[0]",
        "return b[0] + b[1] * b[2] * a[2]",
    ),
    "matrix": ("m: float3x3, v: float3", "float3", "return sa.mul(m, v) + sa.mul(v, m) * v.x"),
    "matrices": ("m: float2x2, k: float2x2, v: float2", "float2", "return sa.mul(sa.mul(m, sa.transpose(k)), v)"),
    "calls": ("x: float, y: float", "float", "return wave(x * y, y) * wave(x, 2.0) + alone(float3(x, y, x))"),
    "call without gradient": ("v: float3, s: float", "float3", "return scaled(v * s, s, 0.5) * sa.no_diff(steps(s))"),
    "call of structs": (
        "p: Pair, s: float", "Pair",
        "q = shaded(p, s * s)",
        "return Pair(q.light * s, q.through)",
    ),
    "cut": ("x: float, y: float", "float", "return x * sa.no_diff(y * x) + sa.no_diff(x) * y"),
    "passive choice": ("x: float, y: float", "float", "s = 2.0 if y > 0.0 else sa.no_diff(y * x)", "return s * x"),
    "both sides": (
        "x: float, y: float", "float",
        "s = x * y",
        "t = x",
        "if x > y:",
        "    s = s * x",
        "    t = t + s * y",
        "else:",
        "    s = y",
        "return s * t",
    ),
    "nested branches": (
        "x: float, y: float, n: int", "float",
        "s = x * y",
        "if y > 0.0:",
        "    s += sa.sin(s)",
        "    if x > 0.0 and n > 0:",
        "        s = s * y",
        "    else:",
        "        t = s * x",
        "        s = t * t",
        "return s + x",
    ),
    "branch of a struct": (
        "p: Pair, s: float", "Pair",
        "q = Pair(p.light * s, p.through)",
        "if s > 0.0:",
        "    q.through = q.through * s",
        "    q.light.x = s",
        "return q",
    ),
    "bool that changes": (
        "x: float, y: float", "float",
        "b = x > 0.0",
        "s = x",
        "if b:",
        "    s = s * y",
        "    b = y > 0.0",
        "if b:",
        "    s = s * s",
        "return s",
    ),
    "used before a branch": (
        "x: float, y: float", "float",
        "s = x * x",
        "t = s * y",
        "if y > 0.0:",
        "    s = s * t",
        "u = s * t",
        "if x > 0.0:",
        "    t = u * s",
        "return t * u",
    ),
}  # fmt: skip
TEXTS = {
    "blend": """
{
    Pair pair = pair_pair.p;
    float3 color = color_pair.p;
    float2 mean = mean_pair.p;
    float3 conic = conic_pair.p;
    float opacity = opacity_pair.p;
    float through = pair.through;
    float2 d = float2(float(column), float(row)) - mean;
    float product = conic.x * d.x;
    float product_2 = conic.z * d.y;
    float product_3 = conic.y * d.x;
    float power = -0.5 * (product * d.x + product_2 * d.y) - product_3 * d.y;
    float exp_power = exp(power);
    float product_4 = opacity * exp_power;
    float alpha = min(product_4, 0.99);
    float d_product = dot(d_out.light, color);
    float d_alpha = d_product * through - d_out.through * through;
    float d_product_2 = product_4 < 0.99 ? d_alpha : product_4 == 0.99 ? 0.5 * d_alpha : 0.0;
    float d_power = d_product_2 * opacity * exp_power;
    float d_product_3 = d_power * d.y;
    float d_sum = -0.5 * d_power;
    float d_product_4 = d_sum * d.y;
    float d_product_5 = d_sum * d.x;
    float2 d_d = float2(d_sum * product - d_product_3 * conic.y + d_product_5 * conic.x,
        d_sum * product_2 - d_power * product_3 + d_product_4 * conic.z);
    float d_through = d_out.through * (1.0 - alpha) + d_product * alpha;
    float3 d_color = d_out.light * (alpha * through);
    float3 d_conic = float3(d_product_5 * d.x, -(d_product_3 * d.x), d_product_4 * d.y);
    float d_opacity = d_product_2 * exp_power;
    pair_pair = diffPair(pair_pair.p, Pair(d_out.light, d_through));
    color_pair = diffPair(color_pair.p, d_color);
    mean_pair = diffPair(mean_pair.p, -d_d);
    conic_pair = diffPair(conic_pair.p, d_conic);
    opacity_pair = diffPair(opacity_pair.p, d_opacity);
}
""",
    "branch": """
{
    float x = x_pair.p;
    float y = y_pair.p;
    float s = x * y;
    float t = y;
    bool condition = x > 0.25;
    float s_2;
    float cos_value;
    if (condition)
    {
        s_2 = s * x;
        cos_value = cos(s_2);
        t += s_2 * cos_value;
    }
    else
    {
        s_2 = s;
    }
    float d_s = d_out * t;
    float d_t = d_out * s_2;
    float d_x = 0.0;
    if (condition)
    {
        float d_s_2 = d_s + d_t * cos_value - d_t * s_2 * sin(s_2);
        d_s = d_s_2 * x;
        d_x = d_s_2 * s;
    }
    float d_x_2 = d_x + d_s * y;
    float d_y = d_t + d_s * x;
    x_pair = diffPair(x_pair.p, d_x_2);
    y_pair = diffPair(y_pair.p, d_y);
}
""",
    "root": """
{
    float3 v = v_pair.p;
    float s = s_pair.p;
    float3 n = sa::normalize(v);
    float sqrt_s = sa::sqrt(s);
    float length_v = sa::length(v);
    float quotient = sqrt_s / length_v;
    float d_sqrt_s = dot(d_out, n + s) / length_v;
    float3 d_sum = d_out * quotient;
    float3 d_v = (d_sum - n * dot(n, d_sum)) * (length_v == 0.0 ? 0.0 : 1.0 / length_v)
        - d_sqrt_s * quotient * n;
    float d_s = (d_sqrt_s == 0.0 ? 0.0 : d_sqrt_s * (0.5 / sqrt_s)) + sa::sum(d_sum);
    v_pair = diffPair(v_pair.p, d_v);
    s_pair = diffPair(s_pair.p, d_s);
}
""",
    "minimum of numbers": """
{
    float x = x_pair.p;
    float y = y_pair.p;
    float d_max_x = d_out * min(-0.5, y);
    float d_min_value = d_out * max(x, 0.0);
    float d_x = (x > 0.0 ? d_max_x : x == 0.0 ? 0.5 * d_max_x : 0.0)
        + (x < 0.5 ? d_out : x == 0.5 ? 0.5 * d_out : 0.0);
    float d_y = y < -0.5 ? d_min_value : -0.5 == y ? 0.5 * d_min_value : 0.0;
    x_pair = diffPair(x_pair.p, d_x);
    y_pair = diffPair(y_pair.p, d_y);
}
""",
    "calls": """
{
    float x = x_pair.p;
    float y = y_pair.p;
    float product = x * y;
    float3 gradients = alone_gradient(float3(x, y, x), d_out);
    WaveGradient gradients_2 = wave_gradient(x, 2.0, d_out * wave(product, y));
    WaveGradient gradients_3 = wave_gradient(product, y, d_out * wave(x, 2.0));
    float d_x = gradients.x + gradients.z + gradients_2.x + gradients_3.x * y;
    float d_y = gradients.y + gradients_3.y + gradients_3.x * x;
    x_pair = diffPair(x_pair.p, d_x);
    y_pair = diffPair(y_pair.p, d_y);
}
""",
    "stored parts": """
{
    float3 v = v_pair.p;
    float s = s_pair.p;
    float3 w = v * s;
    float d_product = d_out * v.x;
    float3 d_w = float3(0.0, d_product * s, 0.0);
    float3 d_v = d_w * s;
    float3 d_v_2 = float3(d_v.x + d_out * (w.y * s), d_v.y + d_out, d_v.z);
    float d_s = d_out + d_product * w.y + dot(d_w, v);
    v_pair = diffPair(v_pair.p, d_v_2);
    s_pair = diffPair(s_pair.p, d_s);
}
""",
}
LEFT = {
    "loop": (
        "x: float, y: float", "float",
        "s = x",
        "for k in range(3):",
        "    s = s * y",
        "return s",
    ),
    "return in a branch that goes on, too": (
        "x: float, y: float", "float",
        "if x > 0.0:",
        "    if y > 0.0:",
        "        return y",
        "    x = x * x",
        "return x * y",
    ),
    "return in a loop": (
        "x: float, y: float", "float",
        "for k in range(3):",
        "    if x > k:",
        "        return y * x",
        "return x * y",
    ),
    "variable index": ("a: Array[float, 3], n: int", "float", "return a[n] * a[0]"),
    "variable store": (
        "x: float, n: int", "float",
        "a = Array[float, 3]()",
        "a[n] = x",
        "return a[0]",
    ),
    "long array": ("a: Array[float, 40], x: float", "float", "return a[3] * x"),
    "tensor": ("t: Tensor[float, 1], x: float", "float", "return t[0] * x"),
    "integer": ("n: int", "int", "return n * 2"),
}  # fmt: skip


def source(bodies: Iterable[tuple[str, ...]]) -> str:
    """A file with a function for each body, and a kernel of it where it has no memory."""
    text = HEAD
    for number, (params, result, *lines) in enumerate(bodies):
        body = "".join(f"    {line}\n" for line in lines)
        text += f"@sa.differentiable\ndef body_{number}({params}) -> {result}:\n{body}\n\n"
        if "Tensor" not in params:
            names = re.findall(r"(\w+): ", params)
            given = re.sub(r": (\w+(\[.*?])?)", r": Each[\1]", params)
            call = f"body_{number}({', '.join(names)})"
            text += f"@sa.kernel\ndef kernel_{number}({given}) -> Each[{result}]:\n    return {call}\n\n\n"
    return text


def passed(file: Path, *, written: bool, chosen: bool = False) -> ir.Module:
    """The module after all passes; with ``written``, functions named ``body…`` have backward functions.

    With ``chosen``, they and these have choices in place of branches.
    """
    module = load(file)
    for step in PIPELINE:
        if written and step.name == "declare":
            module = with_backward(module)
        if chosen and step.name == "declare":
            bodies = (with_selects(f) if f.name.startswith("body") else f for f in module.functions)
            module = replace(module, functions=tuple(bodies))
        module = step.function(module)
    assert verify(module, declared=True) == []
    return module


def with_backward(module: ir.Module) -> ir.Module:
    keys, by_key = fresh_keys(module), {f.key: f for f in module.functions}
    functions: list[ir.Function] = []
    for function in module.functions:
        backward = written_backward(function, by_key, keys) if function.name.startswith("body") else None
        if backward is None:
            functions.append(function)
        else:
            functions += (replace(function, derivative=ir.Custom(backward.key, None)), backward)
    return lower_tuples(replace(module, functions=tuple(functions)))


def written_numbers(module: ir.Module) -> set[int]:
    named = (f.name for f in module.functions if f.role is ir.Role.BACKWARD and f.name.startswith("body"))
    return {int(name.removeprefix("body_").removesuffix("_bwd")) for name in named}


CHOICES = ((False, False), (True, False), (True, True))
"""Whether backward functions are written, and branches are choices."""


class Programs:
    """The same kernels with Slang's reverse mode and with the written one."""

    def __init__(self, folder: Path) -> None:
        file = folder / "bodies.py"
        file.write_text(source(WRITTEN.values()))
        modules = [passed(file, written=written, chosen=chosen) for written, chosen in CHOICES]
        self.written = written_numbers(modules[1])
        before, after = ([f for f in m.functions if f.name.startswith("body")] for m in modules[1:])
        self.chosen = sum(a != b for a, b in zip(before, after, strict=True))
        self.built = [build_emitted(emit_module(module)) for module in modules]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("written"))


def gradients(program: Program, kernel: str, count: int) -> dict[tuple[object, ...], npt.NDArray[np.generic]]:
    """The gradients for values of which many are equal, zero or negative, and others at random."""
    rng = np.random.default_rng(7)
    given = {}
    for p in program.entry(kernel, Mode.BACKWARD).parameters:
        if p.role in (ParameterRole.INPUT, ParameterRole.COTANGENT):
            size = (count, *p.shape)
            if p.scalar.name == "int":
                given[p.name] = rng.integers(-3, 4, size)
            else:
                ties, others = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size), rng.normal(size=size)
                odd = np.arange(count).reshape(count, *[1] * len(p.shape)) % 2 == 1
                given[p.name] = np.where(odd, ties, others)
    return program.run(kernel, Mode.BACKWARD, given, (count,))


@pytest.mark.toolchain
@pytest.mark.parametrize("name", WRITTEN)
def test_gradients__written__are_those_of_slang(programs: Programs, name: str) -> None:
    number = list(WRITTEN).index(name)
    assert number in programs.written
    wanted, *others = (gradients(program, f"kernel_{number}", 400) for program in programs.built)
    for found in others:
        assert wanted.keys() == found.keys()
        for key, value in wanted.items():
            finite = np.isfinite(value)
            assert np.array_equal(finite, np.isfinite(found[key])), key
            largest = float(np.abs(value[finite]).max(initial=0.0))
            np.testing.assert_allclose(
                found[key][finite], value[finite], rtol=1e-5, atol=1e-6 * largest, err_msg=str(key)
            )


@pytest.mark.toolchain
def test_values__chosen__are_those_of_branches(programs: Programs) -> None:
    assert programs.chosen > 5
    for number in range(len(WRITTEN)):
        parameters = programs.built[0].entry(f"kernel_{number}", Mode.FORWARD).parameters
        rng = np.random.default_rng(number)
        given = {
            p.name: (
                rng.integers(-3, 4, (400, *p.shape)) if p.scalar.name == "int" else rng.normal(size=(400, *p.shape))
            )
            for p in parameters
            if p.role is ParameterRole.INPUT
        }
        plain, _, chosen = (program.run(f"kernel_{number}", Mode.FORWARD, given, (400,)) for program in programs.built)
        for key, value in plain.items():
            np.testing.assert_allclose(chosen[key], value, rtol=1e-6, atol=1e-6, err_msg=f"{number} {key}")


@pytest.mark.parametrize("name", TEXTS)
def test_text__of_the_written_function__has_the_primal_then_cotangents(tmp_path: Path, name: str) -> None:
    file = tmp_path / "one.py"
    file.write_text(source([WRITTEN[name]]))
    text = emit_module(passed(file, written=True)).text
    function = text[text.index("void body_0_bwd") :].split("\n\n")[0]
    assert function[function.index("{") :] == TEXTS[name].strip()


@pytest.mark.parametrize("name", LEFT)
def test_written_backward__of_what_is_not_plain_arithmetic__is_none(tmp_path: Path, name: str) -> None:
    file = tmp_path / "left.py"
    file.write_text(source([LEFT[name]]))
    assert written_numbers(passed(file, written=True)) == set()
