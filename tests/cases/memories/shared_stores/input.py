import slangad as sa
from slangad import Each, InOutTensor, OutTensor, Param, Tensor, Uniform

LAST = 3


@sa.kernel
def constant(out: OutTensor[float, 1], x: Each[float]):
    out[0] = x


@sa.kernel
def named(out: OutTensor[float, 2], x: Each[float], n: Uniform[int]):
    k = n + 1
    if x > 0.0:
        out[LAST, 0] = x
    out[LAST, k] = x


@sa.kernel(dims=2)
def row(out: OutTensor[float, 1], w: Tensor[float, 2]):
    i = sa.thread_id(0)
    out[i] = w[i, sa.thread_id(1)]


@sa.kernel
def counted(out: InOutTensor[float, 1], w: Tensor[float, 2]):
    for k in range(3):
        out[k] = w[sa.thread_id(), k]


@sa.kernel
def own(out: OutTensor[float, 1], pair: OutTensor[float, 2], shifted: OutTensor[float, 1], x: Each[float]):
    i = sa.thread_id()
    out[i] = x
    for k in range(2):
        pair[k, i] = x
    shifted[sa.thread_count() - 1 - i] = x


@sa.kernel
def may_meet(half: OutTensor[float, 1], told: OutTensor[float, 1], x: Each[float], place: Each[int]):
    half[sa.thread_id() // 2] = x
    told[place] = x


@sa.kernel
def one_thread(out: OutTensor[float, 1], x: Each[float]):
    if sa.thread_id() == 0:
        out[0] = x


@sa.kernel
def first_only(out: OutTensor[float, 1], x: Each[float]):
    if sa.thread_id() > 0:
        return
    out[0] = x


@sa.kernel
def the_same_everywhere(out: OutTensor[float, 1], p: Param[float]):
    out[0] = p * p
