import slangad as sa
from slangad import Array, Each

WEIGHTS = (0.25, 0.5, 0.25)
GRID = ((1, 2), (3, 4))
FLAGS = (True, False)


@sa.differentiable
def blur(a: Array[float, 3]) -> Array[float, 3]:
    out = Array[float, 3]()
    for i in range(len(a)):
        for j in range(3):
            out[i] += WEIGHTS[(i + j) % 3] * a[j]
    return out


@sa.differentiable
def pick(a: Array[float, 3], i: int) -> float:
    two = Array[float, 2](a[0], a[-1])
    nested = sa.zeros(Array[Array[float, 2], 2])
    nested[1] = two
    return nested[i][0] * GRID[i][1] if FLAGS[0] else 0.0


@sa.kernel
def run(a: Each[Array[float, 3]], i: Each[int]) -> Each[float]:
    return pick(blur(a), i)
