"""Fit a decay with Gauss-Newton: the product with the transposed Jacobian times the Jacobian needs no matrix."""

import numpy as np

import slangad as sa
from slangad import Each, NoDiff, Param


@sa.struct
class Decay:
    """A curve that falls to a floor."""

    height: float
    rate: float
    floor: float


@sa.kernel(ranges={"time": (0.0, 3.0), "decay.rate": (0.5, 2.0)})
def residual(decay: Param[Decay], time: NoDiff[Each[float]], seen: NoDiff[Each[float]]) -> Each[float]:
    """The error of each measurement."""
    return decay.height * sa.exp(-decay.rate * time) + decay.floor - seen


def step(values: np.ndarray, time: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, float]:
    """Return better values, and the squared error of the given ones."""
    names = ("height", "rate", "floor")
    decay = dict(zip(names, values, strict=True))
    errors = residual.forward(decay, time, seen, device="cpu").result
    grad = residual.backward(decay, time, seen, cotangent=errors, device="cpu").grad.decay
    columns = []
    for name in names:
        unit = {other: float(other == name) for other in names}
        product = residual.jtjvp(decay, time, seen, tangent={"decay": unit}, device="cpu").grad.decay
        columns.append([float(product[other]) for other in names])
    change = np.linalg.solve(np.array(columns), [float(grad[name]) for name in names])
    return values - change, float((errors**2).sum())


if __name__ == "__main__":
    time = np.linspace(0.0, 3.0, 40, dtype=np.float32)
    seen = (2.0 * np.exp(-1.3 * time) + 0.4).astype(np.float32)
    values = np.array([1.0, 0.7, 0.0])
    for number in range(6):
        values, error = step(values, time, seen)
        print(f"step {number}: error {error:.1e}")
    print("height, rate, floor:", np.round(values, 4))
