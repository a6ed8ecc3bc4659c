"""A polynomial over arrays: one value and one gradient for each sample."""

import slangad as sa


@sa.differentiable
def polynomial(x: float, a: float, b: float, c: float) -> float:
    """A parabola."""
    return a * x**2 + b * x + c


if __name__ == "__main__":
    x = [1.0, 2.0, 3.0, 4.0]
    print(polynomial.map(x, 2.0, 8.0, -1.0, device="cpu"))
    print(polynomial.grad(x, 2.0, 8.0, -1.0, device="cpu"))
