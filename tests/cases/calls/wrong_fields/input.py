import slangad as sa
from slangad import float3


@sa.struct
class Ball:
    center: float3
    radius: float = 1.0

    def scaled(self, factor: float) -> float:
        return self.radius * factor

    @staticmethod
    def unit(radius: float) -> float:
        return radius


@sa.differentiable
def f(x: float, v: float3, ball: Ball) -> float:
    k = Ball()
    l = Ball(v, v)
    m = Ball(center=x)
    o = Ball(v, radus=x)
    p = ball.scaled()
    q = ball.scaled(v)
    r = Ball.unit(v)
    s = Ball.scaled(x)
    t = Ball(v, x, x)
    u = Ball(v, center=v)
    w = ball.unit(x, x)
    y = ball.radius()
    return x
