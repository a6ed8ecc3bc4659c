import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    async def g(y):
        return y

    return x
