"""Learns an image with a hash grid and a small network: colours as a function of the position."""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Param, float2, float3

Grid = Annotated[Any, sa.nn.HashGrid(levels=4, features=2, table=512, base=4, growth=1.8)]
Net = Annotated[Any, sa.nn.MLP([8, 16, 3], activation="relu", output="sigmoid")]


@sa.struct
class Field:
    """The image: features of the position, then a network."""

    grid: Grid
    net: Net

    def __call__(self, at: float2) -> float3:
        """The colour at a position in [0, 1]."""
        c = self.net(self.grid(at))
        return float3(c[0], c[1], c[2])


@sa.kernel(dims=2)
def mismatch(image: NoDiff[Each[float3]], field: Param[Field]) -> Mean[float]:
    """The squared error of each pixel."""
    at = float2(
        (float(sa.thread_id(1)) + 0.5) / float(sa.thread_count(1)),
        (float(sa.thread_id(0)) + 0.5) / float(sa.thread_count(0)),
    )
    error: float = sa.nn.l2(field(at), image)
    return error


@sa.kernel(dims=2)
def render(field: Param[Field]) -> Each[float3]:
    """The learned colours, at any resolution."""
    at = float2(
        (float(sa.thread_id(1)) + 0.5) / float(sa.thread_count(1)),
        (float(sa.thread_id(0)) + 0.5) / float(sa.thread_count(0)),
    )
    return field(at)


@sa.pipeline(optimizer=sa.Adam(lr=0.02))
def fit(image: NoDiff[Each[float3]], field: Param[Field]) -> Mean[float]:
    """Trains on all pixels."""
    return mismatch(image, field)


def trained(steps: int = 1000) -> Any:
    """Return what training gives: the field in ``.parameters``, and ``.losses``."""
    image = np.load(Path(__file__).parent / "image.npz")["image"]
    return fit.train(image, steps=steps, device="cpu")


def draw(path: str) -> None:
    """Draw the image, and the learned colours after some numbers of steps, at twice the resolution."""
    import matplotlib.pyplot as plt

    image = np.load(Path(__file__).parent / "image.npz")["image"]
    domain = tuple(2 * extent for extent in image.shape[:2])
    shown = {"image": image}
    for steps in (10, 100, 1000):
        colours = render.forward(trained(steps).parameters["field"], domain=domain, device="cpu").result
        shown[f"{steps} steps"] = np.clip(colours, 0.0, 1.0)
    figure, axes = plt.subplots(1, 4, figsize=(10, 2.2), layout="constrained")
    for axis, (title, picture) in zip(axes, shown.items(), strict=True):
        axis.imshow(picture)
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "neural_image.png")
