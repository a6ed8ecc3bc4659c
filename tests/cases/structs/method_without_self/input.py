import slangad as sa


@sa.struct
class A:
    x: float

    def f() -> float:
        return 1.0

    def g(x: float) -> float:
        return x
