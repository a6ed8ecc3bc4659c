from typing import Any

import slangad as sa


def untyped(x: float) -> Any:
    return 2.0 * x


def nested(x: float) -> float:
    def square(y: float) -> float:
        return y * y

    return square(x)


@sa.differentiable
def f(x: float) -> float:
    return untyped(x) + nested(x)
