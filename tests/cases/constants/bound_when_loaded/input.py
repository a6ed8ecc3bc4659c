import slangad as sa

STEP = 1.0


def make(scale):
    bias = scale * 2.0

    @sa.differentiable
    def f(x: float) -> float:
        return x * scale + bias + STEP

    return f


small = make(0.5)
large = make(-3)
STEP = 2.0
