"""Random loops have the gradients of float64 on devices, whatever reverse mode keeps: branches decide by any state.

Always the same loops, unless ``SLANGAD_LOOPS`` says how many.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from support.devices import largest, loaded

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.toolchain

COUNT = int(os.environ.get("SLANGAD_LOOPS", "20"))
ITERATIONS = 40
X = np.array([0.3, 0.7, 1.1], np.float32)
STEP = 1e-30
"""Of the complex step: the derivative is the imaginary part over it, without cancellation."""

UPDATES = (
    "s += t * w",
    "s += x * p",
    "t *= 1.0 - 0.1 * x * w",
    "t *= 1.0 - 0.05 * w",
    "p += 0.05 * x * t",
    "p -= 0.03 * x",
    "c += 1",
    "s += w * c * x",
    "q = 0.5 * q + 0.1 * t",
)
CONDITIONS = ("{t} > 0.31", "{t} * w > 0.23", "c < 7", "{p} > 0.47", "k % 3 == 1", "{t} > 0.4 and c > 2", "{q} < 0.2")
ENDS = ("continue", "continue", "break")
KERNEL = """
@sa.kernel
def {name}(x: Each[float], n: Uniform[int]) -> Each[float]:
    s, t, p, q, c = x * 0.0, 1.0, 0.5, 0.3, 0
    for k in sa.range(n, max_iters=300):
        w = 0.5 + 0.1 * (k % 5)
{body}
    return s + t + p + q
"""
PLAIN = """
def {name}(x, n):
    s, t, p, q, c = x * 0.0, 1.0 + 0j, 0.5 + 0j, 0.3 + 0j, 0
    for k in range(n):
        w = 0.5 + 0.1 * (k % 5)
{body}
    return s + t + p + q
"""


class Loop(NamedTuple):
    """The body of a loop: its lines, in which the parts of conditions are still to be named."""

    name: str
    lines: tuple[str, ...]

    def written(self, form: str, part: str) -> str:
        """The loop in one of the forms; ``part`` is put after each state in a condition."""
        names = {name: f"{name}{part}" for name in "tpq"}
        return form.format(name=self.name, body="\n".join(" " * 8 + line.format(**names) for line in self.lines))


def grown(number: int) -> Loop:
    """A loop with three to six statements, of which some are branches."""
    chosen = random.Random(number)
    lines: list[str] = []
    for _ in range(chosen.randint(3, 6)):
        kind = chosen.random()
        if kind < 0.5:
            lines.append(chosen.choice(UPDATES))
            continue
        lines.append(f"if {chosen.choice(CONDITIONS)}:")
        if kind < 0.65:
            lines.append(f"    {chosen.choice(ENDS)}")
            continue
        lines += (f"    {line}" for line in chosen.sample(UPDATES, chosen.randint(1, 2)))
        if kind > 0.85:
            lines += ("else:", f"    {chosen.choice(UPDATES)}")
    return Loop(f"loop_{number}", (*lines, "s += t"))


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_loops__that_branch_by_their_state__have_the_gradients_of_float64(
    cxx: object, device: str, tmp_path: Path
) -> None:
    loops = [grown(number) for number in range(COUNT)]
    plain: dict[str, object] = {}
    exec("".join(loop.written(PLAIN, ".real") for loop in loops), plain)
    path = tmp_path / "loops.py"
    head = "import slangad as sa\nfrom slangad import Each, Uniform\n"
    path.write_text(head + "".join(loop.written(KERNEL, "") for loop in loops), encoding="utf-8")
    kernels = loaded(path, device)
    wrong = []
    for loop in loops:
        moved = np.array([plain[loop.name](complex(x, STEP), ITERATIONS) for x in X.astype(np.float64)])  # type: ignore[operator]
        value, slopes = moved.real, moved.imag / STEP
        found = kernels[loop.name].backward(x=X, n=ITERATIONS).grad["x"]
        if not (near_all(kernels[loop.name](x=X, n=ITERATIONS), value) and near_all(found, slopes)):
            wrong.append(f"{loop.written(KERNEL, '')}gives {found} in place of {slopes}")
    assert not wrong, "\n".join(wrong)


def near_all(found: np.ndarray, exact: np.ndarray) -> bool:
    """True if all entries are near, relative to the largest of them."""
    return bool((np.abs(np.asarray(found) - exact) <= 1e-3 * max(largest(exact), 1e-3)).all())
