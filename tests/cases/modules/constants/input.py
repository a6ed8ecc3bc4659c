import math
import math as m
from math import pi, sin

import settings

import slangad
import slangad as sa


@slangad.differentiable
def f(x: float) -> float:
    return sin(x) * pi + m.cos(x) + math.sqrt(settings.GAIN) * settings.OFFSETS[1] + abs(settings.nested.DEPTH)


@sa.differentiable
def g(x: float) -> float:
    return math.exp(x) + math.log(x) + math.pow(x, 2) + math.floor(x) + math.fabs(x) + math.inf
