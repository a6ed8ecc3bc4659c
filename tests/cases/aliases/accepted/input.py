import slangad as sa
from slangad import Array, float3


@sa.struct
class Ball:
    center: float3
    radius: float


@sa.differentiable
def copied(v: float3) -> float:
    w = sa.copy(v)
    w.x = 0.0
    u = w
    u = u * 2.0
    u.y = 1.0
    return v.x + w.x + u.y


@sa.differentiable
def rebound(v: float3) -> float:
    w = v
    w += 1.0
    w.x = 0.0
    v = v * 2.0
    v.x = 1.0
    return v.x + w.x


@sa.differentiable
def dead(x: float) -> float:
    a = float3(x)
    b = a
    b.x = 1.0
    return b.x


@sa.differentiable
def read_before(x: float) -> float:
    a = float3(x)
    b = a
    s = a.x
    b.x = 1.0
    a = float3(2.0)
    return b.x + s + a.x


@sa.differentiable
def other_parts(x: float) -> float:
    ball = Ball(float3(x), 1.0)
    r = ball.radius
    ball.radius = 2.0
    c = ball.center.x
    ball.center.x = 3.0
    return r + c + ball.radius


@sa.differentiable
def swizzles_are_new(x: float) -> float:
    a = float3(x, 1.0, 2.0)
    b = a.xyz
    b.x = 5.0
    c = float3(a)
    c.x = 6.0
    return a.x + b.x + c.x


@sa.differentiable
def only_read(x: float) -> float:
    a = float3(x)
    b = a
    c = b
    return a.x + b.y + c.z


@sa.differentiable
def fresh_each_turn(x: float) -> float:
    s = 0.0
    for i in range(3):
        v = float3(x)
        v.x = i
        s += v.x
    return s


@sa.differentiable
def passed_on(x: float) -> float:
    v = float3(x)
    s = total(v)
    v.x = 2.0
    return s + v.x


@sa.differentiable
def total(v: float3) -> float:
    return v.x + v.y + v.z


@sa.differentiable
def stored(x: float) -> float:
    v = float3(x)
    b = Ball(v, 1.0)
    v.x = 2.0
    b.center = v
    v.y = 3.0
    return b.center.x + v.x


@sa.differentiable
def rebound_in_loop(x: float) -> float:
    a = float3(x)
    s = 0.0
    for i in range(3):
        b = a
        a = float3(i)
        a.x = s
        s += b.x + a.y
    return s


@sa.differentiable
def other_branch(x: float) -> float:
    a = float3(x)
    b = float3(1.0)
    if x > 0.0:
        b = a
        return b.x
    else:
        b.x = x
    return a.x + b.x
