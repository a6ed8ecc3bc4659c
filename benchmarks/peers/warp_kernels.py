"""Express the zoo's kernels and pipelines in Warp: kernels for one thread, and the launches for gradcheck."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import numpy as np
import warp as wp
from cases import until_refused, weights
from kernel_arrays import FACTORS
from kernel_cases import INDICES
from warp.autograd import gradcheck
from warp_loading import loaded
from warp_zoo import KERNELS, SAMPLED

if TYPE_CHECKING:
    from types import ModuleType

    from kernel_cases import KernelCase

VECTORS = {
    "vectors": {"w": wp.vec3, "x": wp.vec3},
    "blurred": {"x": wp.vec2},
    "clamped_texture": {"uv": wp.vec2},
    "clamped_uv": {"uv": wp.vec2},
    "repeated_texture": {"uv": wp.vec2, "t": wp.vec3},
    "mirrored_uv": {"uv": wp.vec2, "t": wp.vec2},
    "layer": {"x": wp.vec3},
    "summed": {"m": wp.vec3},
}
"""The inputs whose last axis is a vector."""


def _keep(case: KernelCase) -> str:
    """Return the identity, in a wrong case with another adjoint."""
    type_ = f"wp.vec{case.subject.type[-1]}" if case.vectors else "float"
    text = f"@wp.func\ndef keep(x: {type_}, i: int):\n    return x\n\n\n"
    if not case.kind:
        return text
    text += f"@wp.func_grad(keep)\ndef adj_keep(x: {type_}, i: int, adj_ret: {type_}):\n"
    if case.kind in FACTORS:
        return text + f"    wp.adjoint[x] += adj_ret * {FACTORS[case.kind]!r}\n\n\n"
    part = "x[0]" if case.vectors else "x"
    test, factor = (f"{part} > 0.3", 1.25) if case.kind == "branch" else ("i == 1", 1.5)
    return (
        f"{text}    if {test}:\n        wp.adjoint[x] += adj_ret * {factor}\n"
        "    else:\n        wp.adjoint[x] += adj_ret\n\n\n"
    )


def _module(case: KernelCase) -> ModuleType:
    sampled = ""
    if "uv" in VECTORS.get(case.base, {}):
        type_ = VECTORS[case.base].get("t", float).__name__
        wrap = case.base.partition("_")[0]
        sampled = SAMPLED.format(type="float" if type_ == "float" else f"wp.vec{type_[3]}", wrap=wrap)
    return loaded(f"zoo_{case.name}", f"import warp as wp\n\n\n{_keep(case)}{sampled}{KERNELS[case.base]}")


def _arrays(case: KernelCase, values: dict[str, np.ndarray]) -> list[wp.array]:
    made = []
    for name, value in values.items():
        dtype = VECTORS.get(case.base, {}).get(name, wp.int32 if name in INDICES else wp.float32)
        whole = value[None] if name in ("k", "b", "m") else value
        kind = np.int32 if name in INDICES else np.float32
        made.append(wp.array(whole.astype(kind), dtype=dtype, requires_grad=name not in INDICES))
    return made


def verdicts(case: KernelCase, samples: list[dict[str, np.ndarray]]) -> tuple[dict[str, list[bool]], list]:
    """Return gradcheck's answer for each input, and the gradients of a right case."""
    run = _module(case).run

    def check(values: dict[str, np.ndarray]) -> bool:
        with contextlib.redirect_stdout(io.StringIO()):
            return gradcheck(run, inputs=_arrays(case, values), raise_exception=False, show_summary=False)

    told = {"default": until_refused(check, samples)}
    return told, [] if case.kind else [_gradients(run, _arrays(case, values)) for values in samples]


def seed(result: wp.array, k: int) -> wp.array:
    """Return the cotangent of result ``k`` for the comparison of gradients."""
    shape = (*result.shape, *getattr(result.dtype, "_shape_", ()))
    return wp.array(weights(shape, k).astype(np.float32), dtype=result.dtype)


def _gradients(run, inputs: list[wp.array]) -> list[list[float]]:
    with wp.Tape() as tape:
        result = run(*inputs)
    tape.backward(grads={result: seed(result, 0)})
    return [i.grad.numpy().astype(np.float64).ravel().tolist() for i in inputs if i.requires_grad]
