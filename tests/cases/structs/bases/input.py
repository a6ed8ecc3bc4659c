import slangad as sa


@sa.struct
class A:
    x: float


@sa.struct
class B(A):
    y: float
