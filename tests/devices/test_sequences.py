"""Networks in loops: the gradients of float64 on every device, and no long values that a driver would have to load."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import near
from support.spirv import longest_load

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import Mode, symbols
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.api.load import LoadedFile
    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("sequences.py")
COUNT, TOKENS, WIDE, STEPS = 70, 8, 32, 7
STEP = 1e-30
"""Of the complex step: the derivative is the imaginary part over it, without cancellation."""
LONGEST = 1024
"""Bytes. NVIDIA's Vulkan driver takes values of 1568 bytes, and none of 3200 (docs/slang-notes.md)."""
Given = dict[str, Any]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def remembered(given: Given) -> np.ndarray:
    w, u, b, words = (given[k] for k in ("cell.w", "cell.u", "cell.b", "words"))
    h = c = np.zeros((COUNT, 4))
    for t in range(TOKENS):
        i, f, g, o = (words[:, t] @ w[k].T + h @ u[k].T + b[k] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return (h * h).sum(-1)


def attended(given: Given) -> np.ndarray:
    x = given["words"]
    for head in range(2):
        q, k, v = (np.einsum("nta,ba->ntb", x, given[f"heads.{name}"][head]) for name in "qkv")
        weight = np.exp(0.1 * np.einsum("nta,nsa->nts", q, k))
        x = x + np.einsum("nts,nsa->nta", weight, v) / weight.sum(-1)[..., None]
    return (x[:, 1] * x[:, -1]).sum(-1)


def scored(given: Given) -> np.ndarray:
    queries, keys = given["queries"], given["keys"]
    score = 0.1 * np.einsum("nta,sa->nts", queries, keys)
    best = np.take_along_axis(score, score.real.argmax(-1)[..., None], -1)
    mixed = queries + np.einsum("nts,nsa->nta", np.exp(score - best), queries)
    return (mixed * keys).sum((1, 2))


def tied(given: Given) -> np.ndarray:
    w, x = given["net.w"], given["x"]
    error = np.tanh(x @ w.T) @ w - x
    return (error * error).sum(-1) / WIDE


def chosen(given: Given) -> np.ndarray:
    product = np.einsum("nij,nj->ni", given["nets.w"][given["kind"]], given["x"])
    return np.sin(product / WIDE).sum(-1)


def iterated(given: Given) -> np.ndarray:
    return _through(np.broadcast_to(given["m"], (COUNT, STEPS, 4, 4)), given["x"])


def of_kind(given: Given) -> np.ndarray:
    return _through(given["m"][given["kind"]], given["x"])


def _through(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    s = np.full(COUNT, 0.1)
    for k in range(STEPS * STEPS):
        s = np.sin(s + s * np.einsum("na,nab,nb->n", x, m[:, k % STEPS], x))
    return s


def paired(given: Given) -> np.ndarray:
    return np.sin(0.1 * np.einsum("nik,njk->nij", given["x"], given["x"])).sum((1, 2))


def folded(given: Given) -> np.ndarray:
    x, w = given["x"], given["w"]
    total = np.zeros(COUNT)
    for i in range(WIDE):
        a = (x[:, : i + 1] * w[:, i::-1]).sum(-1)
        b = (np.sin(0.1 * a[:, None] * w) * x[:, ::-1]).sum(-1)
        total = total + np.where(a.real > 0, b * x[:, i], a * w[:, 0] ** 2)
    return total


SHAPES: dict[Callable[[Given], np.ndarray], Mapping[str, tuple[int, ...]]] = {
    remembered: {"cell.w": (4, 4, 4), "cell.u": (4, 4, 4), "cell.b": (4, 4), "words": (COUNT, TOKENS, 4)},
    attended: {**{f"heads.{name}": (2, 4, 4) for name in "qkv"}, "words": (COUNT, TOKENS, 4)},
    scored: {"queries": (COUNT, TOKENS, 6), "keys": (TOKENS, 6)},
    tied: {"net.w": (6, WIDE), "x": (COUNT, WIDE)},
    chosen: {"nets.w": (3, WIDE, WIDE), "x": (COUNT, WIDE)},
    iterated: {"m": (STEPS, 4, 4), "x": (COUNT, 4)},
    of_kind: {"m": (3, STEPS, 4, 4), "x": (COUNT, 4)},
    paired: {"x": (COUNT, TOKENS, 16)},
    folded: {"x": (COUNT, WIDE), "w": (COUNT, WIDE)},
}


@pytest.mark.parametrize("reference", SHAPES, ids=lambda f: f.__name__)
def test_sequences__gradients__are_those_of_float64(
    kernels: LoadedFile, reference: Callable[[Given], np.ndarray]
) -> None:
    rng = np.random.default_rng(5)
    shapes = SHAPES[reference]
    scale = 0.1 if reference in (iterated, of_kind) else 1.0  # of 49 steps: larger ones are chaotic
    given: Given = {key: (scale * rng.normal(size=shape)).astype(np.float32) for key, shape in shapes.items()}
    if reference in (chosen, of_kind):
        given["kind"] = rng.integers(0, 3, COUNT).astype(np.int32)
    wide = {key: value.astype(np.float64) if key in shapes else value for key, value in given.items()}
    out = kernels[reference.__name__].backward(**given)
    for key, shape in shapes.items():
        direction = rng.normal(size=shape)
        moved = reference({**wide, key: wide[key] + 1j * STEP * direction}).imag / STEP
        # The sine of NVIDIA's Vulkan driver is off by 4e-7; 49 of them follow each other.
        tolerance = 3e-5 if reference in (iterated, of_kind) else 1e-5
        near((out.grad[key] * direction).sum(), moved.sum(), tolerance, size=np.abs(moved).sum())


def test_sequences__in_reverse_mode__load_no_long_values(toolchain: Toolchain) -> None:
    emitted = emit_module(run_passes(load(DESCRIBED)))
    entries = symbols(e for e in emitted.entry_points if e.mode is Mode.BACKWARD)
    modules = tuple(emitted.libraries.items())
    (result,) = toolchain.compile([CompileJob(emitted.file_name, emitted.text, entries, ("spirv",), modules=modules)])
    longest = {found.entry: longest_load(found.data) for found in result.artefacts}
    assert len(longest) >= len(SHAPES)
    assert {entry: size for entry, size in longest.items() if size > LONGEST} == {}
