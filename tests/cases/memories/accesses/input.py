import slangad as sa
from slangad import Each, OutTensor, Sum, Tensor, Texture2D, float2, float3


@sa.kernel
def reads(w: Tensor[float, 2], out: OutTensor[float3, 1], t: Texture2D[float3], x: Each[float]) -> Sum[float]:
    a = out[0]
    b = w[0]
    c = w[0, 0, 0]
    d = w[0, x]
    e = t[0, 0]
    f = w.size
    g = t.shape
    h = t.sample(x)
    i = t.sample()
    j = t.load(0)
    k = t.load(x, 0)
    l = w.shape[2]
    m = w.shape[int(x)]
    n = w.sample(float2(x))
    o = t.sampel(float2(x))
    p = t.size()
    q = t.sample
    return x
