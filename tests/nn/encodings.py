"""Kernels with encodings and losses of ``sa.nn``, for ``test_encodings.py``."""

import slangad as sa
from slangad import Array, Each, NoDiff, Param, float2, float3

Hash2 = sa.nn.HashGrid(4, 2, 64, 3, 1.7)
Hash3 = sa.nn.HashGrid(3, 3, 100, 2, 2.0, dims=3, storage=sa.half)
Dense2 = sa.nn.DenseGrid(3, 2, 3, 1.5)
Single = sa.nn.HashGrid(2, 1, 50, 4, 1.6)
Many = sa.nn.DenseGrid(2, 6, 2, 1.6, storage=sa.half)
frequency = sa.nn.Frequency(3)
blob = sa.nn.OneBlob(5)
harmonics = sa.nn.SphericalHarmonics(4)


@sa.kernel
def hash2(x: Each[float2], grid: Param[Hash2]) -> Each[Array[float, 8]]:
    return grid(x)


@sa.kernel
def hash3(x: Each[float3], grid: Param[Hash3]) -> Each[Array[float, 9]]:
    return grid(x)


@sa.kernel
def dense2(x: Each[float2], grid: Param[Dense2]) -> Each[Array[float, 6]]:
    return grid(x)


@sa.kernel
def single(x: Each[float2], grid: Param[Single]) -> Each[Array[float, 2]]:
    return grid(x)


@sa.kernel
def many(x: Each[float2], grid: Param[Many]) -> Each[Array[float, 12]]:
    return grid(x)


@sa.kernel
def fixed(x: Each[float2]) -> tuple[Each[Array[float, 12]], Each[Array[float, 10]]]:
    return frequency(x), blob(x)


@sa.kernel
def sphere(d: Each[float3]) -> Each[Array[float, 16]]:
    return harmonics(d)


@sa.kernel
def losses(y: Each[Array[float, 7]], t: NoDiff[Each[Array[float, 7]]]) -> Each[float3]:
    return float3(sa.nn.l2(y, t), sa.nn.relative_l2(y, t), sa.nn.huber(y, t, delta=0.5))
