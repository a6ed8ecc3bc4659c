"""Vectors, arrays and numbers in place of each other, and names of other libraries: the help has what to write."""

from typing import Annotated, Any

import slangad as sa
from slangad import Array, Each, Param, float3

Net = Annotated[Any, sa.nn.MLP([3, 8, 3])]
Line = Annotated[Any, sa.nn.Linear(1, 1)]


@sa.kernel
def vector_for_array(x: Each[float3], net: Param[Net]) -> Each[float]:
    return net(x)[0]


@sa.kernel
def number_for_array(x: Each[float], line: Param[Line]) -> Each[float]:
    return line(x)[0]


@sa.kernel
def array_for_vector(x: Each[Array[float, 3]], net: Param[Net]) -> Each[float3]:
    return net(x)


@sa.kernel
def array_for_number(x: Each[Array[float, 1]], line: Param[Line]) -> Each[float]:
    return line(x)


@sa.kernel
def other_sizes(x: Each[float3], line: Param[Line]) -> Each[float]:
    return line(x)[0]


@sa.kernel
def method_of_torch(x: Each[Array[float, 3]], net: Param[Net]) -> Each[float]:
    return net.forward(x)[0]


@sa.kernel
def field(x: Each[Array[float, 3]], net: Param[Net]) -> Each[float]:
    return net.l3(x)[0]


@sa.kernel
def softmax(x: Each[Array[float, 3]]) -> Each[float]:
    return sa.nn.softmax(x)[0]


@sa.kernel
def unknown(x: Each[Array[float, 3]]) -> Each[float]:
    return sa.nn.layer(x)[0]
