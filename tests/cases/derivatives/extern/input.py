import slangad as sa
from slangad import Each

noise = sa.extern("noise", "noise.slang", "(x: float, k: no_diff float) -> float", differentiable=True)
table = sa.extern("table", "noise.slang", "(n: int) -> float")


@sa.kernel
def k(x: Each[float]) -> Each[float]:
    return noise(x, 2.0) * table(3)
