"""Allow for texture filters of devices in the comparison of a derivative.

Filters in hardware have weights of eight bits. Their error is as large as if a share of one texel came from another.
So the allowance is measured with such texels. The values stay within the range of the texture.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.types import Texture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.run.launch import LaunchRunner


def filter_allowance(launch: LaunchRunner, rows: Floats, evaluate: Callable[[Floats], Floats], seed: int) -> Floats:
    """Return the error that hardware filters may cause in the results of a launch; zeros without filtered textures.

    Args:
        launch: The launch in float64 with exact filters.
        rows: Its inputs.
        evaluate: Returns the compared values at other inputs.
        seed: The seed of the trials.
    """
    exact = evaluate(rows)
    far = np.zeros(exact.shape)
    textures = tuple(_filtered(launch))
    if not textures:
        return far
    rng = np.random.default_rng([seed, 14])
    for _ in range(tol.FILTER_TRIES):
        near = rows.copy()
        for start, end, count in textures:
            texels = rows[:, start:end].reshape(len(rows), count, -1)
            other = texels[:, _others(count, rng)]
            near[:, start:end] += tol.FILTER_SHARE * (other - texels).reshape(len(rows), -1)
        moved = np.abs(evaluate(near) - exact)
        far = np.fmax(far, np.where(np.isfinite(moved), moved, 0.0))
    return tol.FILTER_SAFETY * far


def _filtered(launch: LaunchRunner) -> Iterator[tuple[int, int, int]]:
    """Yield the columns of each texture that hardware filters, and its number of texels."""
    for param in launch.kernel.params:
        if param.memory is Memory.TEXTURE2D and isinstance(param.type, Texture) and param.type.filter == "bilinear":
            count = math.prod(launch.extents.shapes[param.name])
            if count > 1:
                yield (*launch.inputs.stretches[param.name, ()], count)


def _others(count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return for each texel the index of another one."""
    return (np.arange(count) + rng.integers(1, count, count)) % count
