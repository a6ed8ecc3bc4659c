import slangad as sa


@sa.differentiable
def f(x: float, n: int, u: sa.uint) -> float:
    n = 2147483647
    n = -2147483648
    n = -(2**31)
    n = 0x7FFFFFFF
    n = 1_000_000
    n = 2**31 - 1
    n = 7 // 2 + 7 % 3 - (-7) // 2
    u = 4294967295
    u = 2**32 - 1
    u = 1 << 31
    x = 2**40
    x = 10**20
    x = 16777217
    m = n & 0xFF
    m = ~n
    m = 3 if n > 2 else 4
    x = 3 / 2 + n / 2
    return x * m * n * float(u)
