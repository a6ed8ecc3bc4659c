import slangad as sa
from slangad import Each, OutTensor


@sa.kernel
def both(x: Each[float], out: OutTensor[float, 1]):
    i = sa.thread_id()
    if x > 0.0:
        out[i] = x
    else:
        out[i] += x
