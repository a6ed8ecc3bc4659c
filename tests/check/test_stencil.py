"""Stencils: exact for the polynomials that they fit, and the same bits on every processor."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.reference.stencil import Stencil, central, confirming, one_sided, scattered

STENCILS = {
    "central": (central(), tol.CENTRAL_DEGREE),
    "confirming": (confirming(), tol.CONFIRM_DEGREE),
    "one-sided": (one_sided(1), tol.SIDE_DEGREE),
    "scattered": (scattered(-1), tol.SCATTER_DEGREE),
}
FITTED = """
import numpy as np
from slangad.compiler.check.reference.stencil import central, one_sided
for stencil in central(), one_sided(-1):
    values = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 7, 3, len(stencil.nodes)))
    print([part.tobytes().hex() for part in (*stencil.fit(values), stencil.value)])
"""


@pytest.mark.parametrize(("stencil", "degree"), STENCILS.values(), ids=STENCILS)
def test_stencil__of_a_polynomial__gives_its_value_slope_and_points(stencil: Stencil, degree: int) -> None:
    polynomial = np.polynomial.Polynomial(np.random.default_rng(degree).uniform(-1.0, 1.0, degree + 1))
    values = polynomial(stencil.nodes)
    rounding = 4.0 * np.finfo(np.float64).eps
    for weights, exact in (
        (stencil.value, polynomial(0.0)),
        (stencil.slope, polynomial.deriv()(0.0)),
        *zip(stencil.smooth, values, strict=True),
    ):
        assert abs(weights @ values - exact) <= rounding * np.abs(weights).sum() * np.abs(values).max()


def test_stencil__with_other_kernels_of_linear_algebra__gives_the_same_bits() -> None:
    kernels = ("Prescott", "Haswell", "SkylakeX")  # OpenBLAS takes one that the processor has
    printed = {
        subprocess.run(
            [sys.executable, "-c", FITTED],
            env={**os.environ, "OPENBLAS_CORETYPE": kernel},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kernel in kernels
    }
    assert len(printed) == 1
