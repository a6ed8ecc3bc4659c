"""A kernel that scatters to more tensors than a group can tell apart."""

import slangad as sa
from slangad import Each, Tensor, float3


@sa.kernel
def many(
    i: Each[int],
    w0: Tensor[float, 1],
    w1: Tensor[float, 1],
    w2: Tensor[float, 1],
    w3: Tensor[float3, 1],
    w4: Tensor[float, 1],
    w5: Tensor[float, 1],
    w6: Tensor[float, 1],
    w7: Tensor[float, 1],
    w8: Tensor[float3, 1],
    w9: Tensor[float, 1],
    w10: Tensor[float, 1],
    w11: Tensor[float, 1],
    w12: Tensor[float, 1],
    w13: Tensor[float3, 1],
    w14: Tensor[float, 1],
    w15: Tensor[float, 1],
    w16: Tensor[float, 1],
) -> Each[float]:
    y = 0.0
    y += 1.0 * w0[i]
    y += 2.0 * w1[i]
    y += 3.0 * w2[i]
    y += 4.0 * w3[i].y
    y += 5.0 * w4[i]
    y += 6.0 * w5[i]
    y += 7.0 * w6[i]
    y += 8.0 * w7[i]
    y += 9.0 * w8[i].y
    y += 10.0 * w9[i]
    y += 11.0 * w10[i]
    y += 12.0 * w11[i]
    y += 13.0 * w12[i]
    y += 14.0 * w13[i].y
    y += 15.0 * w14[i]
    y += 16.0 * w15[i]
    y += 17.0 * w16[i]
    return y
