import slangad as sa
import no_such_module_anywhere


@sa.differentiable
def f(x: float) -> float:
    return x
