"""Initialisers: the module has their distributions, the names of structs have their names."""

import slangad as sa
from slangad import Array, Each, Param

Wave = sa.nn.MLP([4, 9, 9, 9], "sine", init="siren")
Small = sa.nn.MLP([4, 9], init=sa.nn.normal(0.02))
Normal = sa.nn.Linear(9, 9, init="he_normal")
Constant = sa.nn.Linear(9, 9, bias=False, init=(0.25, 0.25))


@sa.kernel
def layers(
    x: Each[Array[float, 4]], wave: Param[Wave], small: Param[Small], normal: Param[Normal], constant: Param[Constant]
) -> Each[Array[float, 9]]:
    y = wave(x)
    z = normal(small(x))
    for i in range(9):
        y[i] = y[i] + z[i]
    return constant(y)
