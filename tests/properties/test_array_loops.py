"""Random loops over arrays have the derivatives of the plain program, in reverse and in forward mode.

Always the same kernels, unless ``SLANGAD_LOOPS`` says how many. Those are left out whose comparisons are almost
undecided, or whose numbers are large: float32 can't agree there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.array_loops import COLUMNS, HEAD, ROWS, SIZE, derivatives, made, tangents_of
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
    tangent, wanted = tangents_of(floats), {}
    for loop in map(made, NUMBERS):
        of = derivatives(loop, floats, n)
        steep = max(map(largest, of.gradients.values()))
        if all(m.least > CLOSE and m.most < LARGE for m in of.margins) and steep < STEEP:
            wanted[loop] = of
    assert len(wanted) > len(NUMBERS) * 0.9
    texts = "".join(loop.kernel().partition("for ")[2] for loop in wanted)
    assert not [form for form in FORMS if form not in texts]
    path = tmp_path / "array_loops.py"
    path.write_text(HEAD + "".join(loop.kernel() for loop in wanted), encoding="utf-8")
    kernels = loaded(path, device)
    wrong = []
    for loop, of in wanted.items():
        kernel = kernels[loop.name]
        back, forward = kernel.backward(**floats, n=n), kernel.jvp(**floats, n=n, tangent=tangent)
        pairs = {key: (back.grad[key], of.gradients[key]) for key in floats}
        pairs |= {"value": (kernel(**floats, n=n), of.values)}
        pairs |= {"tangent": (forward["jvp.result"], of.change)}
        wrong += [
            f"{loop.kernel()}{key}: {a} in place of {b}" for key, (a, b) in pairs.items() if not near_all(a, b, 0.1)
        ]
    assert not wrong, "\n".join(wrong)
