from slangad import differentiable


@differentiable
def deep(x: float) -> float:
    return x * x
