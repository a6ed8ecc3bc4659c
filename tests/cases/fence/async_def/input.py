import slangad as sa


@sa.differentiable
async def f(x: float) -> float:
    return x
