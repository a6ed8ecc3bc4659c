import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y = await x
    async for i in x:
        pass
    async with x:
        pass
    return y
