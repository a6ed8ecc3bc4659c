"""Pairs of kernels with parameters in half and in float, for ``test_half_storage.py``."""

import slangad as sa
from slangad import Array, Each, Mean, NoDiff, Param, Tensor, float2, float3

HalfNet = sa.nn.MLP([4, 16, 4], "tanh", storage=sa.half)
FloatNet = sa.nn.MLP([4, 16, 4], "tanh")
HalfSmall = sa.nn.MLP([2, 4, 1], "tanh", storage=sa.half)
FloatSmall = sa.nn.MLP([2, 4, 1], "tanh")
HalfHash = sa.nn.HashGrid(levels=4, features=2, table=512, base=4, growth=1.8, storage=sa.half)
FloatHash = sa.nn.HashGrid(levels=4, features=2, table=512, base=4, growth=1.8)
HalfDense = sa.nn.DenseGrid(levels=2, features=1, base=3, storage=sa.half)
FloatDense = sa.nn.DenseGrid(levels=2, features=1, base=3)


@sa.struct
class HalfParts:
    a: sa.half
    v: sa.half3
    m: Array[sa.half3, 2]
    f: float


@sa.struct
class FloatParts:
    a: float
    v: float3
    m: Array[float3, 2]
    f: float


@sa.kernel
def mlp_half(x: NoDiff[Each[Array[float, 4]]], t: NoDiff[Each[Array[float, 4]]], p: Param[HalfNet]) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def mlp_float(x: NoDiff[Each[Array[float, 4]]], t: NoDiff[Each[Array[float, 4]]], p: Param[FloatNet]) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def small_half(x: NoDiff[Each[Array[float, 2]]], t: NoDiff[Each[Array[float, 1]]], p: Param[HalfSmall]) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def small_float(
    x: NoDiff[Each[Array[float, 2]]], t: NoDiff[Each[Array[float, 1]]], p: Param[FloatSmall]
) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def hash_half(x: NoDiff[Each[float2]], t: NoDiff[Each[Array[float, 8]]], p: Param[HalfHash]) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def hash_float(x: NoDiff[Each[float2]], t: NoDiff[Each[Array[float, 8]]], p: Param[FloatHash]) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def dense_half(x: NoDiff[Each[float2]], t: NoDiff[Each[Array[float, 2]]], p: Param[HalfDense]) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def dense_float(x: NoDiff[Each[float2]], t: NoDiff[Each[Array[float, 2]]], p: Param[FloatDense]) -> Mean[float]:
    return sa.nn.l2(p(x), t)


@sa.kernel
def reads_half(
    x: NoDiff[Each[float]],
    s: Param[HalfParts],
    p: Param[sa.half],
    v: Param[sa.half3],
    w: Tensor[Array[sa.half, 3], 1],
    q: Tensor[sa.half3, 1],
) -> Mean[float]:
    y = float(s.a) + float(s.v.x) * x + s.f * float(p) * float(v[1]) + sa.dot(float3(s.m[1]), float3(q[0])) * x
    for i in range(3):
        y += float(w[1][i]) * sa.sin(x + i) + float(q[1].y)
    return y * y


@sa.kernel
def reads_float(
    x: NoDiff[Each[float]],
    s: Param[FloatParts],
    p: Param[float],
    v: Param[float3],
    w: Tensor[Array[float, 3], 1],
    q: Tensor[float3, 1],
) -> Mean[float]:
    y = float(s.a) + float(s.v.x) * x + s.f * float(p) * float(v[1]) + sa.dot(float3(s.m[1]), float3(q[0])) * x
    for i in range(3):
        y += float(w[1][i]) * sa.sin(x + i) + float(q[1].y)
    return y * y


@sa.kernel
def own_half(x: NoDiff[Each[float]], w: Tensor[sa.half2, 1]) -> Each[float]:
    i = sa.thread_id()
    y = 0.0
    for k in range(16):
        y += float(w[i].x) * (x + k) * float(w[i].y)
    return y


@sa.kernel
def own_float(x: NoDiff[Each[float]], w: Tensor[float2, 1]) -> Each[float]:
    i = sa.thread_id()
    y = 0.0
    for k in range(16):
        y += float(w[i].x) * (x + k) * float(w[i].y)
    return y
