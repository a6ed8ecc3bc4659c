"""One Jacobian from both sides: columns by forward mode (JVP), rows by reverse mode (VJP)."""

import numpy as np

import slangad as sa
from slangad import float2


@sa.differentiable(ranges={"p": (0.5, 2.0)})
def polar(p: float2) -> float2:
    """Radius and angle of a point."""
    return float2(sa.length(p), sa.atan2(p.y, p.x))


if __name__ == "__main__":
    point = np.array([[3.0, 4.0]], np.float32)
    for direction in ([1.0, 0.0], [0.0, 1.0]):
        change = polar.jvp(point, tangent={"p": np.array([direction], np.float32)}, device="cpu").jvp.result
        print("column:", change[0])
    for weight in ([1.0, 0.0], [0.0, 1.0]):
        gradient = polar.grad(point, cotangent=np.array([weight], np.float32), device="cpu").grad.p
        print("row:", gradient[0])
