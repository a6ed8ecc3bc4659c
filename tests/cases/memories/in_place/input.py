import slangad as sa
from slangad import Each, InOutTensor, Tensor, Uniform


@sa.kernel
def twice(v: InOutTensor[float, 1], x: Each[float]):
    i = sa.thread_id()
    v[i] = x
    v[i] += x


@sa.kernel
def around(v: InOutTensor[float, 1], x: Each[float]):
    i = sa.thread_id()
    for _ in range(3):
        v[i] += x


@sa.kernel
def one_path(v: InOutTensor[float, 1], x: Each[float]) -> Each[float]:
    i = sa.thread_id()
    if x > 0.0:
        v[i] = x
    return v[i]


@sa.kernel
def another_path(v: InOutTensor[float, 1], x: Each[float]) -> Each[float]:
    i = sa.thread_id()
    if x > 0.0:
        v[i] = x
        return x
    return v[i]


@sa.kernel
def left_at_once(v: InOutTensor[float, 1], x: Each[float]):
    i = sa.thread_id()
    for k in range(3):
        if v[i] > x:
            v[i] = x
            break


@sa.kernel
def went_on(v: InOutTensor[float, 1], x: Each[float]):
    i = sa.thread_id()
    for k in range(3):
        if v[i] > x:
            v[i] = x
            continue


@sa.kernel
def neighbour(v: InOutTensor[float, 1], x: Each[float]):
    i = sa.thread_id()
    v[i] = v[i + 1] + x


@sa.kernel
def gathered(v: InOutTensor[float, 1], k: Each[int]):
    v[k] = 2.0 * v[k]


@sa.kernel(dims=2)
def row(v: InOutTensor[float, 1]):
    v[sa.thread_id(0)] += 1.0


@sa.kernel(dims=2)
def transposed(v: InOutTensor[float, 2]):
    v[sa.thread_id(0), sa.thread_id(1)] = v[sa.thread_id(1), sa.thread_id(0)]


@sa.kernel
def counted(v: InOutTensor[float, 1], x: Each[float]):
    i = sa.thread_id()
    i += 1
    v[i] += x


@sa.kernel
def own(v: InOutTensor[float, 2], w: InOutTensor[float, 1], u: InOutTensor[float, 1], x: Each[float], n: Uniform[int]):
    i = sa.thread_id()
    last = sa.thread_count() - 1 - i
    v[i, 0] = v[i, 1] * x
    w[last] = 0.5 * w[last]
    u[2 * i + n] += x
