import slangad as sa
from slangad import Each

phase = sa.extern("henyey", "phase.slang", "(cosine: float, g: no_diff float) -> float", differentiable=True)
bucket = sa.extern("bucket", "phase.slang", "(x: float) -> int")


@sa.kernel
def run(x: Each[float]) -> Each[float]:
    return phase(x, 0.3) * sa.no_diff(bucket(x))
