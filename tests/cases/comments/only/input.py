import slangad as sa


@sa.differentiable
def f(x: float) -> float:
    # Only this.
    return x


@sa.differentiable
def g(x: float) -> float: return x  # On one line.


@sa.differentiable
def h(
    # About x.
    x: float,
) -> float:
    '''Single quotes.'''
    return x; y = x
