import slangad as sa


@sa.struct
class A:
    x: float = 1.0
    y: float
