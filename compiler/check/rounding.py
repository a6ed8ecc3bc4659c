"""What rounding makes of derivatives: how they are computed goes in, how far they may be off comes out.

Inputs that move by units in the last place show the conditioning. Cotangents and directions that do show how large the
terms are that cancel out, since derivatives are linear in them: nothing changes but how each term is rounded. So what
is left of terms that cancel to zero is told from a mistake, which stays as large as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

ULP16: Final = 2.0**-10
ULP32: Final = 2.0**-23
ULP64: Final = 2.0**-52
UNITS: Final = 1024
"""How far cotangents and directions move: 2e-13 in float64, so what is not linear in them shows no more than that."""
_TRIES: Final = 12


def moved(
    evaluate: Callable[[Floats], Floats],
    rows: Floats,
    base: Floats,
    inputs: list[int],
    unit: float,
    rng: np.random.Generator,
    tries: int = 4,
) -> Floats:
    """How far something moves when the inputs move by units in the last place."""
    far = np.zeros(base.shape)
    for _ in range(tries):
        near = rows.copy()
        near[:, inputs] *= 1.0 + rng.integers(-1, 2, (len(rows), len(inputs))) * unit
        far = np.fmax(far, _apart(evaluate(near), base))
    return far


def rounded(
    evaluate: Callable[[Floats], Floats], weights: Floats, unit: float, rng: np.random.Generator, tries: int = _TRIES
) -> Floats:
    """How far a derivative moves when its cotangents, or directions, move by units in the last place."""
    base = evaluate(weights)
    far = np.zeros(base.shape)
    for _ in range(tries):
        steps = rng.integers(1, UNITS + 1, weights.shape) * rng.choice((-1, 1), weights.shape)
        far = np.fmax(far, _apart(evaluate(weights * (1.0 + steps * unit)), base))
    return far


def terms(jacobian: Callable[[Floats], Floats], shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """How large what is added up to the entries of a float64 Jacobian is, by what rounding leaves of it.

    Args:
        jacobian: Divided by the sizes of the cotangents or directions that it takes.
        shape: Of these sizes.
        rng: Draws them. They are anything from 1 to 2, so it must be sure that the derivative is linear in them.
    """
    base = jacobian(np.ones(shape))
    far = np.zeros(base.shape)
    for _ in range(_TRIES):
        far = np.fmax(far, _apart(jacobian(rng.uniform(1.0, 2.0, shape)), base))
    return far / ULP64


def _apart(one: Floats, other: Floats) -> Floats:
    """How far apart, where that is finite."""
    gap = np.abs(one - other)
    return np.where(np.isfinite(gap), gap, 0.0)
