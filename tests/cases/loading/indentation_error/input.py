import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    y = x
      return y
