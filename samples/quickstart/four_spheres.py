"""Inputs of the kernel ``fit`` for the pixels of four spheres, and a picture of its outputs.

``four_spheres.py in.npz`` writes the inputs. ``four_spheres.py in.npz out.npz picture.png`` draws what a launch has
written to ``out.npz``.
"""

import sys

import numpy as np

SIZE = 120
"""Pixels along a side of a sphere's square."""
ROUGHNESS = (0.25, 0.4, 0.55, 0.7)
METALLIC = (0.0, 1.0, 0.0, 1.0)
LIGHT = np.array([0.45, 0.55, 0.7]) / np.linalg.norm([0.45, 0.55, 0.7])


def normals() -> tuple[np.ndarray, np.ndarray]:
    """Return which pixels show a sphere, and the normals there: (4, SIZE, SIZE) bools and (pixels, 3)."""
    y, x = 1.0 - (np.mgrid[0:SIZE, 0:SIZE] + 0.5) / SIZE * 2.0
    inside = np.broadcast_to(x**2 + y**2 < 0.96, (4, SIZE, SIZE))
    normal = np.stack([-x, y, np.sqrt(np.maximum(1.0 - x**2 - y**2, 0.0))], -1)
    return inside, np.broadcast_to(normal, (4, SIZE, SIZE, 3))[inside]


def seen_from(normal: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return a direction in the frame of each normal, which has the normal as its z axis."""
    across = np.cross([0.0, 1.0, 0.0], normal)
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    return np.stack([across @ direction, np.cross(normal, across) @ direction, normal @ direction], -1)


def inputs() -> dict[str, np.ndarray]:
    """Return the arrays of ``fit``. Nothing was measured, so that the result is the square of the light."""
    inside, normal = normals()
    sphere = np.nonzero(inside)[0]
    count = len(sphere)
    arrays = {
        "m.albedo": np.tile([0.85, 0.45, 0.2], (count, 1)),
        "m.roughness": np.array(ROUGHNESS)[sphere],
        "m.metallic": np.array(METALLIC)[sphere],
        "view": seen_from(normal, np.array([0.0, 0.0, 1.0])),
        "light": seen_from(normal, LIGHT),
        "measured": np.zeros((count, 3)),
        "exposure": np.array(1.0),
        "tangent.m.roughness": np.ones(count),
    }
    return {key: array.astype(np.float32) for key, array in arrays.items()}


def draw(outputs: dict[str, np.ndarray], path: str) -> None:
    """Draw the results, and derivatives: red where the light grows with the parameter, blue where it falls."""
    import matplotlib.pyplot as plt

    inside, _ = normals()
    keys = ("result", "jvp.result", "grad.m.roughness", "grad.m.metallic")
    shown = {key: np.asarray(outputs[key], np.float64) for key in keys if key in outputs}
    figure, axes = plt.subplots(len(shown), 1, figsize=(7, 2.0 * len(shown)), layout="constrained", squeeze=False)
    for axis, (key, values) in zip(axes[:, 0], shown.items(), strict=True):
        image = np.full(inside.shape, np.nan)
        image[inside] = np.sqrt(values) if key == "result" else np.arcsinh(20.0 * values)
        picture = np.concatenate([*image], 1)
        limit = float(np.nanquantile(np.abs(picture), 0.99))
        colours = {"cmap": "gray", "vmin": 0.0} if key == "result" else {"cmap": "RdBu_r", "vmin": -limit}
        axis.imshow(picture, vmax=limit, **colours)
        axis.set_title(key, fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    given, *rest = sys.argv[1:]
    if rest:
        draw(dict(np.load(rest[0])), rest[1])
    else:
        np.savez(given, **inputs())  # type: ignore[arg-type, unused-ignore]  # older types of numpy
