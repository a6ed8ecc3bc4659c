import slangad as sa


@sa.struct
class A:
    x: float

    def __add__(self, other):
        return A(self.x + other.x)
