"""Uses a module beside it."""

import lib
import lib as other
from lib import SCALE, Ball, area as area_of
from package import inner
from package.inner import deep

import slangad as sa
from slangad import Each


@sa.differentiable
def f(x: float) -> float:
    b = Ball(x)
    c = lib.Ball(2.0)
    return area_of(b) + other.area(c) * SCALE * lib.SCALE + lib.plain(x) + inner.deep(x) + deep(x) * inner.COUNT


@sa.kernel
def k(b: Each[lib.Ball]) -> Each[float]:
    return f(b.radius)
