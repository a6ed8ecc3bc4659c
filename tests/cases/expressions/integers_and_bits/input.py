import slangad as sa
from slangad import int3, uint2


@sa.function
def f(n: int, m: int, u: sa.uint, v: int3, w: uint2) -> int:
    a = n & m | n ^ 3
    b = ~n << 2 >> 1
    c = u >> 3 | u << 4
    d = v & 7
    e = w ^ 3
    g = abs(n) + max(n, m, 3) + min(n, 0) - sa.clamp(n, 0, 5)
    h = -n % 5 + n // -3
    i = int(c) + int(True)
    j = sa.uint(n) + 1
    k = v // 2 + v % 3 - v * 2
    return a + b + d.x + int(e.x) + g + h + i + int(j) + k.z
