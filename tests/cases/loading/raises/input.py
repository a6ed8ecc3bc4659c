import slangad as sa

TABLE = {"a": 1}
SIZE = TABLE["b"]


@sa.differentiable
def f(x: float) -> float:
    return x * SIZE
