import slangad as sa
from slangad import Array, float2x2, float3

BASE = sa.float3(1.0, 2.0, 3.0)


@sa.struct
class Ball:
    center: float3
    radius: float


@sa.differentiable
def bound(v: float) -> float:
    a = float3(v)
    b = a
    b.x = 1.0
    return a.x + b.x


@sa.differentiable
def original_written(v: float) -> float:
    a = float3(v)
    b = a
    a.x = 1.0
    return b.x


@sa.differentiable
def parameter(v: float3) -> float:
    v.x = 0.0
    return v.y


@sa.differentiable
def alias_of_parameter(v: float3) -> float:
    w = v
    w.x = 0.0
    return w.y


@sa.differentiable
def field(ball: float) -> float:
    b = Ball(float3(ball), 1.0)
    c = b.center
    c.x = 2.0
    return b.center.x


@sa.differentiable
def row(x: float) -> float:
    m = float2x2(x)
    r = m[0]
    r.x = 2.0
    return m[0, 0]


@sa.differentiable
def entry(x: float) -> float:
    a = Array[float3, 2](float3(x), float3(x))
    e = a[0]
    a[0].y = 2.0
    return e.y


@sa.differentiable
def chained(x: float) -> float:
    a = b = float3(x)
    a.x = 2.0
    return b.x


@sa.differentiable
def either(x: float) -> float:
    a = float3(x)
    b = float3(2.0)
    c = a if x > 0.0 else b
    c.x = 3.0
    return a.x + b.x


@sa.differentiable
def in_loop(x: float) -> float:
    a = float3(x)
    b = float3(x)
    for i in range(3):
        b.x += 1.0
        b = a
    return a.x + b.x


@sa.differentiable
def loop_variable(x: float) -> float:
    a = Array[float3, 2](float3(x), float3(x))
    s = 0.0
    for v in a:
        v.x = 2.0
        s += v.x
    return s + a[0].x


@sa.differentiable
def constant(x: float) -> float:
    v = BASE
    v.x = x
    return v.x


@sa.differentiable
def swapped(x: float) -> float:
    a = float3(x)
    b = float3(2.0)
    a, b = b, a
    c, d = a, b
    c.x = 5.0
    return a.x + b.x + d.x


@sa.differentiable
def one_branch(x: float) -> float:
    a = float3(x)
    if x > 0.0:
        b = a
    else:
        b = float3(2.0)
    b.x = 1.0
    return a.x


@sa.differentiable
def before_break(x: float) -> float:
    a = float3(x)
    b = float3(x)
    for i in range(3):
        if x > i:
            b = a
            break
        b = float3(1.0)
    b.x = 1.0
    return a.x


@sa.differentiable
def next_turn(x: float) -> float:
    a = float3(x)
    b = float3(2.0)
    s = 0.0
    for i in range(3):
        s += a.x
        b.x = s
        b = a
    return s
