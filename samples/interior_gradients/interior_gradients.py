"""The gradient of a value in the middle of a kernel: a probe records it."""

import slangad as sa
from slangad import Each, NoDiff, Param, Sum, float2


@sa.kernel(ranges={"x": (-1.0, 1.0), "seen": (-1.0, 1.0), "scale": (0.5, 2.0)})
def fit(x: NoDiff[Each[float2]], seen: NoDiff[Each[float]], scale: Param[float2]) -> Sum[float]:
    """A squared error; grad of ``bent`` appears beside that of ``scale``."""
    bent = sa.probe("bent", sa.tanh(sa.dot(x, scale)))
    return (bent - seen) ** 2


if __name__ == "__main__":
    found = fit.backward(x=[[0.5, 1.0], [1.0, -1.0]], seen=[0.2, 0.1], scale=[1.0, 0.5], device="cpu")
    print(found)
