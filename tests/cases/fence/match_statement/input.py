import slangad as sa


@sa.differentiable
def f(x: float, n: int) -> float:
    match n:
        case 0:
            return x
        case _:
            return 2.0 * x
