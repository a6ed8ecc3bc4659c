import slangad as sa


@sa.differentiable
def größe(x: float) -> float:
    return x * unbekannt
