"""Random loops have the gradients of float64 on devices, whatever reverse mode keeps: branches decide by any state.

Always the same loops, unless ``SLANGAD_LOOPS`` says how many. They are so long that the CPU keeps no history either.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from support.devices import loaded, near_all

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.toolchain

COUNT = int(os.environ.get("SLANGAD_LOOPS", "14"))
ITERATIONS = 40
X = np.array([0.3, 0.7, 1.1], np.float32)
STEP = 1e-30
"""Of the complex step: the derivative is the imaginary part over it, without cancellation."""

SUMS = ("s += t * w", "s += x * t", "s += w * c * x", "s -= 0.1 * c * t")
UPDATES = {
    "t": ("t *= 1.0 - 0.1 * x * w", "t *= 1.0 - 0.05 * w"),
    "c": ("c += 1", "c += 2 - k % 2"),
    "p": ("p += 0.05 * x * t", "p -= 0.03 * x"),
    "q": ("q = 0.5 * q + 0.1 * t",),
}
"""By state: those of t and c can be undone, those of p with rounding, those of q not."""
CONDITIONS = ("{t} > 0.61", "{t} * w > 0.37", "c < 7", "k % 3 == 1", "{t} > 0.52 and c > 2", "{p} > 0.4", "{t} < 0.87")
KEPT = (("t",), ("c",), ("t", "c"), ("t", "c"), ("t", "p"), ("t", "c", "q"))
KERNEL = """
@sa.kernel
def {name}(x: Each[float], n: Uniform[int]) -> Each[float]:
    s, t, p, q, c = x * 0.0, 1.0, 0.5, 0.3, 0
    for k in sa.range(n, max_iters=5000):
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


SEEN = (
    Loop("stops", ("s += t", "if {t} > 0.3:", "    t *= 1.0 - 0.1 * x")),
    Loop("faint", ("if 0.3 * {t} < 0.12:", "    continue", "s += t * w", "t *= 1.0 - 0.1 * x * w")),
    Loop("seven", ("if c < 7:", "    c += 1", "s += w * c * x")),
    Loop("inner", ("s += t", "if k % 2 == 0:", "    if {t} > 0.5:", "        t *= 1.0 - 0.1 * x")),
)
"""Loops whose conditions read what they change, which were undone with the later value."""


def grown(number: int) -> Loop:
    """A loop that updates each of some states once, in a branch or not, and sometimes goes on or ends early."""
    chosen = random.Random(number)
    blocks: list[list[str]] = []
    for update in (chosen.choice(UPDATES[state]) for state in chosen.choice(KEPT)):
        then = [update, *chosen.sample(SUMS, chosen.randint(0, 1))]
        other = chosen.sample(SUMS, chosen.randint(0, 1))
        if chosen.random() < 0.3:
            blocks.append(then)
        elif other and chosen.random() < 0.4:
            blocks.append(_branch(chosen, other, then))
        else:
            blocks.append(_branch(chosen, then, other))
    if chosen.random() < 0.4:
        blocks.append(_branch(chosen, [chosen.choice(("continue", "continue", "break"))], []))
    blocks.append([chosen.choice(SUMS)])
    chosen.shuffle(blocks)
    return Loop(f"loop_{number}", (*(line for block in blocks for line in block), "s += t"))


def _branch(chosen: random.Random, then: list[str], other: list[str]) -> list[str]:
    lines = [f"if {chosen.choice(CONDITIONS)}:", *(f"    {line}" for line in then)]
    return [*lines, *(["else:", *(f"    {line}" for line in other)] if other else [])]


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_loops__that_branch_by_their_state__have_the_gradients_of_float64(
    cxx: object, device: str, tmp_path: Path
) -> None:
    loops = [*SEEN, *(grown(number) for number in range(COUNT))]
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
