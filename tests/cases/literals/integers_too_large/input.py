import slangad as sa

BIG = 2**40


@sa.differentiable
def f(x: float, n: int, u: sa.uint) -> float:
    a = 2147483648
    b = -2147483649
    c = 2**40
    d = n + 3000000000
    e = u + 4294967296
    g = u - -1
    h = BIG
    i = sa.uint(-1)
    j = int(1e10)
    k = n << 32
    l = n < 3000000000
    m = sa.int3(1, 2, 2**35)
    o: int = 2**31
    p = x + 10**400
    q = int(2**31)
    if n == 2**33:
        return 0.0
    return x
