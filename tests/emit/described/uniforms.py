"""Uniforms that do not reach every target as they are: bools, arrays, structs that hold them."""

import slangad as sa
from slangad import Each, Uniform, float3


@sa.struct
class Lamp:
    on: bool
    bits: sa.Array[bool, 3]
    gains: sa.Array[sa.Array[float, 2], 3]


@sa.struct
class Room:
    lamps: sa.Array[Lamp, 2]
    scale: float


@sa.struct
class Weights:
    a: sa.Array[float, 4]
    b: sa.Array[float3, 2]
    k: int


@sa.kernel
def flags(x: Each[float], w: Uniform[bool], v: Uniform[sa.bool3], f: Uniform[sa.Array[sa.bool2, 2]]) -> Each[float]:
    y = x * x if w else -x
    z = y * 3.0 if v.y else y
    return z * x if f[1].x else z


@sa.kernel
def arrays(x: Each[float], w: Uniform[sa.Array[float, 3]], i: Each[int]) -> Each[float]:
    return x * w[1] + x * x * w[i]


@sa.kernel
def nested(x: Each[float], w: Uniform[sa.Array[sa.Array[float3, 2], 3]], s: Uniform[Weights]) -> Each[float]:
    return x * w[2][1].y * s.a[1] + s.b[1].z * x * x * s.k


@sa.kernel
def structs(x: Each[float], room: Uniform[Room], i: Each[int]) -> Each[float]:
    y = x * room.lamps[1].gains[2][1] + x * x * room.lamps[0].gains[i][1]
    return y * room.scale if room.lamps[1].bits[i] and room.lamps[0].on else -y
