import slangad as sa


@sa.function
def soft(x: float) -> float:
    return x * x


@sa.differentiable(derivative=sa.clip_gradient(1.0, of=sa.surrogate(soft)))
def hard(x: float) -> float:
    return sa.floor(x)
