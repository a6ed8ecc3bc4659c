import slangad as sa


@sa.struct
class A:
    x: float

    @property
    def twice(self) -> float:
        return self.x * 2.0
