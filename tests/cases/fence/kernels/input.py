import slangad as sa


@sa.kernel
def k(x: sa.Each[float]) -> sa.Each[float]:
    y = [x]
    return y[0]
