"""Names that people know from GLSL, numpy, torch and JAX, and what they are called here, for the help of errors."""

from __future__ import annotations

from typing import Final

_VECTORS: Final = {
    f"{letter}vec{size}": f"sa.{word}{size}"
    for letter, word in (("", "float"), ("i", "int"), ("u", "uint"), ("b", "bool"), ("d", "double"))
    for size in (2, 3, 4)
}
_MATRICES: Final = {f"mat{size}": f"sa.float{size}x{size}" for size in (2, 3, 4)}
OTHER_NAMES: Final = {
    **_VECTORS,
    **_MATRICES,
    **dict(zip(("f16", "f32", "f64", "i32", "u32"), ("sa.half", "float", "sa.double", "int", "sa.uint"), strict=True)),
    "absolute": "sa.abs(x)",
    "arccos": "sa.acos(x)",
    "arcsin": "sa.asin(x)",
    "arctan": "sa.atan(x)",
    "arctan2": "sa.atan2(y, x)",
    "array": "sa.Array[float, 4](…)",
    "cbrt": "sa.pow(x, 1.0 / 3.0), for x > 0",
    "clip": "sa.clamp(x, low, high)",
    "cond": "a if c else b",
    "detach": "sa.no_diff(x)",
    "expit": "sa.sigmoid(x)",
    "float16": "sa.half",
    "float32": "float",
    "float64": "sa.double",
    "fract": "sa.frac(x)",
    "gelu": "0.5 * x * (1.0 + sa.erf(x * 0.70710678)), or sa.nn.gelu",
    "grad": "f.grad(…) of a described function, or kernel.backward(…)",
    "int32": "int",
    "inf": "math.inf",
    "inversesqrt": "sa.rsqrt(x)",
    "invsqrt": "sa.rsqrt(x)",
    "jit": "@sa.kernel, or f.map(…) of a described function",
    "logaddexp": "b + sa.softplus(a - b)",
    "matmul": "sa.mul(a, b), or a @ b",
    "maximum": "sa.max(x, y)",
    "minimum": "sa.min(x, y)",
    "nan": "math.nan",
    "norm": "sa.length(v)",
    "ones": "sa.Array[float, 4](1.0)",
    "pi": "math.pi",
    "power": "sa.pow(x, y), or x ** 2",
    "rint": "sa.round(x)",
    "shared": "sa.Shared[float, 64]()",
    "silu": "x * sa.sigmoid(x), or sa.nn.silu",
    "sinc": "sa.sin(x) / x, with a branch for small x",
    "sqr": "x * x",
    "square": "x * x",
    "stop_gradient": "sa.no_diff(x)",
    "swish": "x * sa.sigmoid(x), or sa.nn.silu",
    "syncthreads": "sa.barrier()",
    "tensor": "sa.Tensor[float, 1] as an annotation",
    "uint32": "sa.uint",
    "vmap": "@sa.kernel with Each[…], or f.map(…) of a described function",
    "where": "sa.select(c, a, b), or a if c else b",
}
"""Names that ``sa`` does not have, and what to write."""

_LAYERS: Final = {
    "elu": "a function of your own: activation=f",
    "embedding": "a Tensor[float, 2], read at the index",
    "layernorm": "loops over the entries",
    "mse": "sa.nn.l2(found, target)",
    "mse_loss": "sa.nn.l2(found, target)",
    "mseloss": "sa.nn.l2(found, target)",
    "sin": "sa.nn.sine",
    "softmax": "loops over the entries, with sa.exp(x[i] - top)",
    "swish": "sa.nn.silu",
}
"""Names that ``sa.nn`` does not have in small letters, and what to write."""

NAMES: Final = {
    "slangad": "docs/intrinsics.md has all functions of sa, docs/api.md all other names",
    "sa.nn": "docs/networks.md has all names of sa.nn",
}
"""The help for a name of a module of slangad that is like none of its names."""


def module_name(module: str) -> str:
    """Return the name of a module as users know it."""
    return "sa.nn" if module == "slangad.compiler.nn" else module


def other_name(name: str, module: str = "slangad") -> str:
    """Return the help for a name that is known elsewhere, but not in a module of slangad; empty for others."""
    if module == "sa.nn":
        return f"write {_LAYERS[name.lower()]}" if name.lower() in _LAYERS else ""
    return f"write {OTHER_NAMES[name]}" if module == "slangad" and name in OTHER_NAMES else ""
