import slangad as sa


@sa.differentiable
def f(größe: float, 名前: float) -> float:
    größe = größe + 名前 * unbekannt
    return größe + 名前.x
