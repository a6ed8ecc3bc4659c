"""Fit a photograph with 2-D Gaussians: each has a position, two widths, an angle, a colour and an opacity."""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor, float2, float3, int2

TILE = 16
"""Pixels along each side of a tile. The pixels of a tile share a list of Gaussians."""
MOST = 512
"""Gaussians of a pixel, from the front. A longer list is cut off."""
REACH = 3.3
"""Widths from its centre up to which a Gaussian is seen: at the edge it has 1/255 of its opacity."""

PHOTOGRAPH = Path(__file__).parent / "astronaut.jpg"
"""512 x 512 pixels, in the public domain. The README has its source."""


@sa.differentiable
def spacing(rows: int, columns: int, count: int) -> float:
    """The side of the square that each Gaussian would have for itself, in pixels: the unit of centres and widths."""
    return sa.sqrt(float(rows * columns) / float(count))


@sa.kernel
def boxes(
    centre: Each[float2], width: Each[float2], angle: Each[float], image: NoDiff[Tensor[float3, 2]]
) -> tuple[Each[int2], Each[int2]]:
    """The rows and columns of the tiles that a Gaussian is seen in: the first ones, and those after the last."""
    across, along = sa.exp(width) * sa.cos(angle), sa.exp(width) * sa.sin(angle)
    reach = REACH * float2(sa.length(float2(across.x, along.y)), sa.length(float2(along.x, across.y)))
    scale = spacing(image.shape[0], image.shape[1], sa.thread_count(0)) / TILE
    first, last = sa.floor((centre - reach) * scale), sa.floor((centre + reach) * scale)
    return int2(int(first.y), int(first.x)), int2(int(last.y) + 1, int(last.x) + 1)


@sa.differentiable
def weight(offset: float2, width: float2, angle: float) -> float:
    """The value of a Gaussian, 1 at its centre."""
    c, s = sa.cos(angle), sa.sin(angle)
    p = float2(c * offset.x + s * offset.y, c * offset.y - s * offset.x) / width
    return sa.exp(-0.5 * sa.dot(p, p))


@sa.kernel(dims=2)
def render(
    start: Tensor[int, 2],
    count: Tensor[int, 2],
    order: Tensor[int, 1],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Each[float3]:
    """The colour of each pixel: the Gaussians of its tile over a black ground."""
    i, j = sa.thread_id(0), sa.thread_id(1)
    unit = spacing(sa.thread_count(0), sa.thread_count(1), centre.shape[0])
    at = float2(float(j) + 0.5, float(i) + 0.5) / unit
    first = start[i // TILE, j // TILE]
    light = float3(0.0)
    through = 1.0
    for k in sa.range(count[i // TILE, j // TILE], max_iters=MOST):
        n = order[first + k]
        alpha = 0.99 * sa.sigmoid(opacity[n]) * weight(at - centre[n], sa.exp(width[n]), angle[n])
        light += through * alpha * colour[n]
        through *= 1.0 - alpha
    return light


@sa.kernel(dims=2)
def mismatch(painted: Each[float3], photograph: NoDiff[Each[float3]]) -> Mean[float]:
    """The squared error of each pixel."""
    return sa.dot(painted - photograph, painted - photograph)


@sa.pipeline
def show(
    canvas: NoDiff[Tensor[float3, 2]],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Each[float3]:
    """The painting, of the canvas's size."""
    first, last = boxes(centre, width, angle, canvas)
    start, count, order = sa.bin(
        first,
        last,
        tiles=((canvas.shape[0] + 15) // TILE, (canvas.shape[1] + 15) // TILE),
        capacity=16 * centre.shape[0] + canvas.shape[0] * canvas.shape[1],
    )
    return render(start, count, order, centre, width, angle, colour, opacity, domain=canvas.shape)


@sa.pipeline(optimizer=sa.Adam(lr=0.1))
def learn(
    photograph: NoDiff[Tensor[float3, 2]],
    centre: Tensor[float2, 1],
    width: Tensor[float2, 1],
    angle: Tensor[float, 1],
    colour: Tensor[float3, 1],
    opacity: Tensor[float, 1],
) -> Mean[float]:
    """The mean error of the painting."""
    first, last = boxes(centre, width, angle, photograph)
    start, count, order = sa.bin(
        first,
        last,
        tiles=((photograph.shape[0] + 15) // TILE, (photograph.shape[1] + 15) // TILE),
        capacity=16 * centre.shape[0] + photograph.shape[0] * photograph.shape[1],
    )
    painted = render(start, count, order, centre, width, angle, colour, opacity, domain=photograph.shape)
    return mismatch(painted, photograph)


Gaussians = dict[str, np.ndarray]


@dataclass
class Fit:
    """A trained set of Gaussians.

    Attributes:
        parameters: The Gaussians.
        losses: The loss before each step.
        seconds: Seconds of all steps but the first, which compiles.
    """

    parameters: Gaussians
    losses: list[float]
    seconds: float


def load(size: int, path: Path = PHOTOGRAPH) -> np.ndarray:
    """Return a photograph of that height, its colours from 0 to 1."""
    from PIL import Image

    with Image.open(path) as image:
        width = round(image.width * size / image.height)
        small = image.convert("RGB").resize((width, size), Image.Resampling.LANCZOS)
    return np.asarray(small, np.float32) / 255


def start(count: int, height: int, width: int, seed: int = 0) -> Gaussians:
    """Return noise: Gaussians at random positions, in random colours."""
    rng = np.random.default_rng(seed)
    extent = np.array([width, height]) * np.sqrt(count / (width * height))
    return {
        "centre": (rng.uniform(0.0, 1.0, (count, 2)) * extent).astype(np.float32),
        "width": np.full((count, 2), np.log(0.6), np.float32),
        "angle": rng.uniform(0.0, 3.0, count).astype(np.float32),
        "colour": rng.uniform(0.0, 1.0, (count, 3)).astype(np.float32),
        "opacity": np.zeros(count, np.float32),
    }


def fit(photograph: np.ndarray, count: int = 2500, steps: int = 100, device: str = "cpu") -> Fit:
    """Return the Gaussians after training; the learning rate halves twice."""
    times = list[float]()
    found = learn.train(
        photograph,
        **start(count, *photograph.shape[:2]),
        steps=steps,
        optimizer=sa.Adam(lr=0.1, half_life=steps / 2),
        device=device,
        watch=lambda _step, _loss: times.append(time.monotonic()),
    )
    return Fit(dict(found.parameters), list(found.losses), times[-1] - times[0])


def painted(gaussians: Gaussians, shape: tuple[int, ...], device: str = "cpu") -> np.ndarray:
    """Return the painting, at any size."""
    found = show.forward(np.zeros((*shape, 3), np.float32), **gaussians, device=device).result
    return np.asarray(np.clip(found, 0.0, 1.0))


def psnr(image: np.ndarray, photograph: np.ndarray) -> float:
    """Return the peak signal-to-noise ratio in decibels; the peak is 1, and the error is that of a channel."""
    return decibels(float(np.mean((image - photograph) ** 2)))


def decibels(error: float) -> float:
    """Return the decibels of a mean squared error."""
    return float(-10.0 * np.log10(error))


def print_progress(losses: list[float]) -> None:
    """Print the loss and the decibels before each tenth of the steps, and the steps that 28 dB took."""
    print("  step    loss   PSNR")
    for step in range(0, len(losses), max(1, len(losses) // 10)):
        print(f"{step:6} {losses[step]:7.5f} {decibels(losses[step] / 3):6.2f}")
    above = [step for step, loss in enumerate(losses) if decibels(loss / 3) >= 28.0]
    print(f"28 dB after {above[0]} steps" if above else "below 28 dB")


def draw(path: str, images: dict[str, np.ndarray]) -> None:
    """Draw pictures side by side, with titles, in 256 colours: a third of the bytes."""
    import matplotlib.pyplot as plt
    from PIL import Image

    figure, axes = plt.subplots(1, len(images), figsize=(2.4 * len(images), 2.7), layout="constrained")
    for axis, (title, image) in zip(axes, images.items(), strict=True):
        axis.imshow(image)
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=100)
    with Image.open(path) as drawn:
        few = drawn.convert("RGB").quantize(256)
    few.save(path, optimize=True)


def main() -> None:
    """Fit a photograph, print how that went, and draw it beside the fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", nargs="?", default="splats.png", help="the file to draw to")
    parser.add_argument("--photograph", type=Path, default=PHOTOGRAPH, help="another photograph")
    parser.add_argument("--size", type=int, default=128, help="the height to which it is resized, in pixels")
    parser.add_argument("--count", type=int, default=2500, help="the number of Gaussians")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--device", default="cpu", help="cpu, cuda, vulkan, …")
    options = parser.parse_args()
    image = load(options.size, options.photograph)
    shape = image.shape[:2]
    found = fit(image, options.count, options.steps, options.device)
    print_progress(found.losses)
    result = painted(found.parameters, shape, options.device)
    channels = ", ".join(f"{psnr(result[..., c], image[..., c]):.2f}" for c in range(3))
    print(f"{options.count} Gaussians, {shape[0]} x {shape[1]} pixels, {options.steps} steps on {options.device}")
    print(f"PSNR {psnr(result, image):.2f} dB (red, green, blue: {channels}) in {found.seconds:.1f} s of training")
    noise = painted(start(options.count, *shape), shape, options.device)
    title = f"{options.count} Gaussians, {psnr(result, image):.1f} dB"
    draw(options.picture, {"photograph": image, "start": noise, title: result})


if __name__ == "__main__":
    main()
