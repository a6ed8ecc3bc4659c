import slangad as sa
from slangad import Each, Sum, Tensor

SIZES = (2.0, 3.0)


@sa.kernel(dims=2)
def ramp(w: Tensor[float, 1]) -> Each[float]:
    return w[sa.thread_id(0)]


@sa.kernel(dims=2)
def total(x: Each[float]) -> Sum[float]:
    return x


@sa.pipeline
def p(w: Tensor[float, 1]) -> Sum[float]:
    ramp(w)
    ramp(w, domain=4)
    ramp(w, domain=(4, 4, 4))
    ramp(w, domain=(w.shape[1], 4))
    ramp(w, domain=w.shape)
    ramp(w, domain=(4, -1))
    ramp(w, domain=(4, 2 / 1))
    ramp(w, domain=SIZES)
    ramp(w, domain=(4, total))
    return total(ramp(w, domain=(4, 4)))
