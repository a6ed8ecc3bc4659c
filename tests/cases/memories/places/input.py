import slangad as sa
from slangad import Array, Each, InOutTensor, Mean, NoDiff, OutTensor, Param, Sum, Tensor, Texture2D, float3


@sa.struct
class Pair:
    a: float
    b: float


@sa.kernel
def elements(
    a: Tensor[Pair, 1], b: OutTensor[Array[Pair, 2], 1], c: Texture2D[int], d: Texture2D[sa.double],
    e: Texture2D[Array[float, 2]], f: Sum[float], g: NoDiff[Mean[float]],
) -> Each[float]:
    return 1.0


@sa.kernel
def sums(x: Each[float]) -> tuple[Sum[bool], Mean[int], Sum[Pair], Sum[Array[Pair, 2]], Param[float]]:
    return True, 1, Pair(x, x), Pair(x, x), x


@sa.kernel
def nowhere(x: Each[float], w: Tensor[float, 1]) -> None:
    y = x * w[0]


@sa.function
def writer(v: InOutTensor[float, 1], w: OutTensor[float3, 1], x: Each[float], s: Param[float]) -> float:
    v[0] = 1.0
    return 1.0


@sa.function
def structs(v: Tensor[Pair, 1], t: Texture2D[int]) -> Tensor[float, 1]:
    return v


@sa.function
def defaults(x: float, v: Tensor[float, 1] = 1.0) -> float:
    return x
