import slangad as sa
from slangad import Each, Uniform


@sa.kernel
def branch(x: Each[float]) -> Each[float]:
    if x > 0.0:
        x /= sa.group_sum(x)
    return x


@sa.kernel(group_size=(64,))
def half(x: Each[float]) -> Each[float]:
    if sa.thread_id() // 32 == 1:
        sa.barrier()
    return x


@sa.kernel
def leaving(x: Each[float], n: Uniform[int]) -> Each[float]:
    for k in sa.range(n, max_iters=8):
        x = 0.5 * x + sa.group_scan(x)
        if x > 100.0:
            break
    return x


@sa.kernel
def either(x: Each[float]) -> Each[float]:
    return x if x > 0.0 else sa.group_max(x)


@sa.kernel
def nested(x: Each[float], n: Uniform[int]) -> Each[float]:
    if n > 2:
        row = sa.Shared[float, 64]()
        row[0] = x
    return x
