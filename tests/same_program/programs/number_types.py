import slangad as sa
from slangad import Each, double, half, uint

MASK = 0xFF
SCALE = 1.0e-3


@sa.function
def integers(a: int, b: int, u: uint) -> int:
    q = a // b + a % b
    bits = (u & uint(MASK)) << uint(2) | u >> uint(1)
    return q * -3 + int(bits) + ~a + int(a / b)


@sa.differentiable
def mixed(h: half, x: float, d: double) -> float:
    y = x % 2.0 + x // 3.0
    n = round(x)
    return float(h * 0.5) * y + float(d) * SCALE + n**2 + x**-2 + x**0.5


@sa.kernel
def run(a: Each[int], u: Each[uint], h: Each[half], x: Each[float]) -> Each[float]:
    return mixed(h, x, double(x)) + sa.no_diff(integers(a, 7, u))
