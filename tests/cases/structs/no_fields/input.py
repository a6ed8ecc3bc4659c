import slangad as sa


@sa.struct
class A:
    def f(self) -> float:
        return 1.0
