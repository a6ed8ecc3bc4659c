"""Random loops over arrays have the derivatives of the plain program, in reverse and in forward mode.

Always the same kernels, unless ``SLANGAD_LOOPS`` says how many. Those are left out whose comparisons are almost
undecided, or whose numbers are large: float32 can't agree there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.array_loops import COLUMNS, HEAD, ROWS, SIZE, exact, made
from support.devices import largest, loaded, near_all

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.toolchain

NUMBERS = range(int(os.environ["SLANGAD_LOOPS"])) if "SLANGAD_LOOPS" in os.environ else (7, 15, 17, 45)
FORMS = (
    "break",
    "continue",
    "a, b =",
    "changed(",
    "turned(",
    "mixed(",
    "product(",
    "sa.copy(y[1])",
    "max_iters",
    "else:",
)
"""Of statements. The kernels have all of them."""
ELEMENTS = 3
CLOSE, LARGE, STEEP = 1e-4, 30.0, 300.0


def inputs() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    shapes = {"x": (ELEMENTS, SIZE), "y": (ELEMENTS, ROWS, COLUMNS), "u": (ELEMENTS,)}
    return {key: random.uniform(-1, 1, shape).astype(np.float32) for key, shape in shapes.items()}


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_loops_over_arrays__of_any_form__have_the_derivatives_of_float64(
    cxx: object, device: str, tmp_path: Path
) -> None:
    floats, n = inputs(), np.array([0, 4, 7], np.int32)
    tangent = {key: np.cos(np.arange(v.size, dtype=np.float32)).reshape(v.shape) for key, v in floats.items()}
    wanted = {}
    for loop in map(made, NUMBERS):
        elements = [exact(loop, [v[e] for v in floats.values()], int(n[e])) for e in range(ELEMENTS)]
        steep = max(largest(gradient) for _, gradients, _ in elements for gradient in gradients)
        if all(m.least > CLOSE and m.most < LARGE for _, _, m in elements) and steep < STEEP:
            wanted[loop] = elements
    assert len(wanted) > len(NUMBERS) * 0.9
    texts = "".join(loop.kernel().partition("for ")[2] for loop in wanted)
    assert not [form for form in FORMS if form not in texts]
    path = tmp_path / "array_loops.py"
    path.write_text(HEAD + "".join(loop.kernel() for loop in wanted), encoding="utf-8")
    kernels = loaded(path, device)
    wrong = []
    for loop, elements in wanted.items():
        gradients = {key: np.array([found[k] for _, found, _ in elements]) for k, key in enumerate(floats)}
        change = sum((gradients[key] * tangent[key]).reshape(ELEMENTS, -1).sum(1) for key in floats)
        kernel = kernels[loop.name]
        back, forward = kernel.backward(**floats, n=n), kernel.jvp(**floats, n=n, tangent=tangent)
        pairs = {key: (back.grad[key], gradients[key]) for key in floats}
        pairs |= {"value": (kernel(**floats, n=n), np.array([value for value, _, _ in elements]))}
        pairs |= {"tangent": (forward["jvp.result"], change)}
        wrong += [
            f"{loop.kernel()}{key}: {a} in place of {b}" for key, (a, b) in pairs.items() if not near_all(a, b, 0.1)
        ]
    assert not wrong, "\n".join(wrong)
