from typing import Optional

import numpy as np

import slangad as sa
from slangad import Array, Each, Tensor


class Plain:
    x: float


@sa.differentiable
def f(
    a: str, b: list, c: Optional[float], d: np.ndarray, e: Plain, g: 3, h: Array, i: dict[str, int], j: complex, k: tuple
) -> object:
    return a


@sa.differentiable
def each(a: Each[float], b: Tensor[float, 2], c: sa.Param[float], d: sa.Sum[float]) -> Each[float]:
    return a


@sa.differentiable
def bare(a: Each, b: sa.NoDiff, d: float | int) -> float:
    return 0.0
