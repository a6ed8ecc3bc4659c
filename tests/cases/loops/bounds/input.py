import slangad as sa

COUNT = 5


@sa.differentiable
def f(x: float, n: int) -> float:
    for i in range(n):
        x += 1.0
    while x < 10.0:
        x += 1.0
    for i in sa.range(n, max_iters=n):
        x += 1.0
    for i in sa.range(n, max_iters=0):
        x += 1.0
    for i in range(n, max_iters=3):
        x += 1.0
    for i in sa.range(8, max_iters=4):
        x += 1.0
    for i in range(0, 10, 0):
        x += 1.0
    for i in range(0, 10, n):
        x += 1.0
    for i in range():
        x += 1.0
    for i in range(1, 2, 3, 4):
        x += 1.0
    for i in range(x):
        x += 1.0
    for i in range(2.0):
        x += 1.0
    while x < 10.0 and sa.max_iters(3):
        x += 1.0
    while sa.max_iters(n) and x < 3.0:
        x += 1.0
    while sa.max_iters() and x < 3.0:
        x += 1.0
    while sa.max_iters(-1) and x < 3.0:
        x += 1.0
    while True:
        x += 1.0
    for i in reversed(sa.range(0, n, 2, max_iters=8)):
        x += 1.0
    for i, j in enumerate(sa.range(n, max_iters=8)):
        x += 1.0
    return x
