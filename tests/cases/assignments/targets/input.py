import slangad as sa
from slangad import Array, float3

TABLE = (1.0, 2.0)
VECTOR = 3.0


@sa.struct
class Ball:
    center: float3
    radius: float

    def grow(self) -> float:
        self.radius = 2.0
        self.center.x = 1.0
        self.center[1] += 1.0
        return self.radius


@sa.differentiable
def f(x: float, v: float3) -> float:
    w = float3(x)
    w.xx = w.yz
    w.q = x
    w[3] = x
    TABLE[0] = x
    sa.zeros = x
    f.x = x
    float3(x).x = x
    a, b = x
    a, b = x, x, x
    (a, b), c = (x, x), x
    a.y = x
    w.xy = x
    w.x = w
    a += w
    a[0] = 1.0
    w.x.y = 1.0
    a = b = 1.0
    w.x = w.y = 2.0
    return x
