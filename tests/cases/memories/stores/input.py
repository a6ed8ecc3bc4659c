import slangad as sa
from slangad import Each, OutTensor, Tensor, Texture2D, float3


@sa.kernel
def writes(w: Tensor[float, 2], out: OutTensor[float3, 1], t: Texture2D[float3], x: Each[float]):
    w[0, 0] = x
    t[0, 0] = float3(x)
    out[0].x = x
    out[0][1] = x
    out[0] += float3(x)
    out[0] = x
    out[0, 0] = float3(x)
    w.shape = 3
    w.shape[0] = 3
    out = float3(x)
    w += x
