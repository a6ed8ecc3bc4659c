"""Throw a rope of springs so that its knot hits a target: gradients through 400 steps of time."""

import sys
from typing import Any

import numpy as np

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Tensor, float2

BEADS = 6
STEPS = 400
DT = 0.005
REST = 0.12
STIFFNESS = 300.0
DRAG = 0.15


@sa.struct
class Rope:
    """Positions and velocities of the beads."""

    x: Array[float2, BEADS]
    v: Array[float2, BEADS]

    def after(self) -> "Rope":
        """The rope one step of time later."""
        x = sa.copy(self.x)
        v = sa.copy(self.v)
        for i in range(BEADS - 1):
            between = self.x[i + 1] - self.x[i]
            length = sa.length(between)
            pull = between * (STIFFNESS * (length - REST) / length * DT)
            v[i] += pull
            v[i + 1] -= pull
        for i in range(BEADS):
            v[i] += float2(0.0, -2.0) * DT - v[i] * (DRAG * DT)
            x[i] += v[i] * DT
        return Rope(x, v)


@sa.differentiable
def thrown(knot: float2, end: float2) -> Rope:
    """A rope that lies on the ground; the velocities go from that of the knot to that of the other end."""
    rope = sa.zeros(Rope)
    for i in range(BEADS):
        part = i / (BEADS - 1.0)
        rope.x[i] = float2(-REST * i, 0.0)
        rope.v[i] = knot * (1.0 - part) + end * part
    return rope


@sa.kernel
def miss(target: NoDiff[Each[float2]], knot: Tensor[float2, 1], end: Tensor[float2, 1]) -> Mean[float]:
    """The squared distance of the knot from the target at the end, and a small price of the throw."""
    i = sa.thread_id()
    first: float2 = knot[i]
    last: float2 = end[i]
    rope = thrown(first, last)
    for _ in range(STEPS):
        rope = rope.after()
    off: float2 = rope.x[0] - target
    return sa.dot(off, off) + 1e-4 * (sa.dot(first, first) + sa.dot(last, last))


@sa.kernel
def flight(knot: NoDiff[Each[float2]], end: NoDiff[Each[float2]], steps: Each[int]) -> Each[Array[float2, BEADS]]:
    """The beads after a number of steps."""
    rope = thrown(knot, end)
    for _ in sa.range(steps, max_iters=STEPS):
        rope = rope.after()
    return rope.x


TARGETS = np.array([[1.0, 1.6], [1.8, 1.1], [2.4, 0.4], [2.0, -0.4]], np.float32)


def fit(steps: int = 150) -> Any:
    """Return what training gives: the velocities in ``.parameters``, and ``.losses``."""
    throw = np.tile(np.array([[1.0, 1.0]], np.float32), (len(TARGETS), 1))
    return miss.train(TARGETS, throw, throw.copy(), optimizer=sa.Adam(lr=0.05), steps=steps, device="cpu")


def draw(path: str) -> None:
    """Draw flights: as thrown at first, and after training."""
    import matplotlib.pyplot as plt

    times = np.arange(0, STEPS + 1, 25, dtype=np.int32)
    first = {"knot": np.ones_like(TARGETS), "end": np.ones_like(TARGETS)}
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained", sharey=True)
    for axis, (title, throws) in zip(
        axes, {"first throw": first, "after 150 steps": fit().parameters}.items(), strict=True
    ):
        for k, target in enumerate(TARGETS):
            colour = f"C{k}"
            knot, end = (np.repeat(throws[name][k : k + 1], len(times), 0) for name in ("knot", "end"))
            beads = flight.forward(knot, end, times, device="cpu").result
            for age, rope in zip(times / STEPS, beads, strict=True):
                axis.plot(*rope.T, "-", color=colour, alpha=0.1 + 0.9 * age**2, linewidth=1.2)
            axis.plot(*beads[-1][0], "o", color=colour, markersize=6)
            axis.plot(*target, "+", color=colour, markersize=16, markeredgewidth=2)
        axis.set_title(title, fontsize=10)
        axis.set_aspect("equal")
        axis.set(xlim=(-0.8, 3.0), ylim=(-1.6, 2.0), xticks=[], yticks=[])
    figure.savefig(path, dpi=75)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "rope.png")
