import slangad as sa


@sa.differentiable
def f(x: float, n: int) -> float:
    if a > 0.0:
        x = b
    elif c:
        x = d
    else:
        x = e
    for i in range(g):
        x = h
    while sa.max_iters(3) and j:
        x = k
    while l:
        x = m
    for q in n:
        x = o
    return p
