import slangad as sa
from slangad import Each, InOutTensor, OutTensor, Param, Sum, Tensor, Texture2D, Uniform

COUNT = 3


@sa.kernel
def k(x: Each[float], p: Param[float], u: Uniform[float]) -> Sum[float]:
    return x * p * u


@sa.kernel(dims=2)
def wide(x: Each[float], w: Tensor[float, 1]) -> Each[float]:
    return x * w[0]


@sa.kernel
def write(x: Tensor[float, 1], out: OutTensor[float, 1]):
    out[sa.thread_id(0)] = x[sa.thread_id(0)]


@sa.kernel
def look(t: Texture2D[float], v: Each[int]) -> Each[float]:
    return t.load(0, v)


@sa.pipeline
def counts(x: Tensor[float, 1], p: Param[float]) -> Sum[float]:
    k(x, p)
    k(x, p, 1.0, 2.0)
    k(x, p, u=1.0, q=2)
    k(x, p, 1.0, x=x)
    return k(x, p, 1.0)


@sa.pipeline
def memories(x: Tensor[float, 1], y: Tensor[int, 1], p: Param[float], u: Uniform[float]) -> Sum[float]:
    k(x, u, u)
    k(x, p, p)
    k(p, p, u)
    k(y, p, u)
    k(x, 1.0, u)
    k(x, p, COUNT > 2)
    k(x, p, "a")
    look(x, y)
    wide(x, x)
    k(unknown, p, u)
    return k(x, p, COUNT)


@sa.pipeline
def written(x: Tensor[float, 1], out: OutTensor[float, 1], v: InOutTensor[float, 1]):
    write(x, x)
    write(v, v)
    write(v, out)
