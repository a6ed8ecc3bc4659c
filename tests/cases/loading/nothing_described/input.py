import slangad as sa


def f(x: float) -> float:
    return x
