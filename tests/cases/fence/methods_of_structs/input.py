import slangad as sa


@sa.struct
class Ball:
    radius: float

    def area(self) -> float:
        total = [self.radius]
        return total[0]
