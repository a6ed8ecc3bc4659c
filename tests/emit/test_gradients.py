"""Every way Slang is known to give a wrong gradient: emitted code gives the right one, in reverse and forward mode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import Checker, checker

from slangad.compiler.frontends import load

if TYPE_CHECKING:
    from slangad.compiler.emit import EntryParameter

DESCRIBED = Path(__file__).parent / "described"
COUNT = 12


def kernels_of(name: str) -> list[str]:
    text = (DESCRIBED / f"{name}.py").read_text()
    return [part.split("(")[0] for part in text.split("@sa.kernel\ndef ")[1:]]


@pytest.fixture(scope="module")
def checkers() -> dict[str, Checker]:
    return {}


def values(parameter: EntryParameter, domain: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    shape = parameter.shape if parameter.access == "value" else (*domain, *parameter.shape)
    if parameter.scalar.name in ("int", "uint"):
        return rng.integers(0, 3 if parameter.scalar.name == "int" else 2, shape)
    return rng.uniform(0.4, 1.6, shape) * rng.choice([-1.0, 1.0], shape)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("name", "kernel"), [(f.stem, k) for f in sorted(DESCRIBED.glob("*.py")) for k in kernels_of(f.stem)]
)
def test_gradient__of_described_kernel__is_that_of_differences(
    checkers: dict[str, Checker], name: str, kernel: str
) -> None:
    if name not in checkers:
        checkers[name] = checker(load(DESCRIBED / f"{name}.py"))
    rng = np.random.default_rng(7)
    entry = next(e for e in checkers[name].program.emitted.entry_points if e.kernel == kernel)
    domain = (COUNT,) if entry.dims == 1 else (3, 5)
    given = {p.name: values(p, domain, rng) for p in entry.parameters if p.role.value in ("input", "uniform")}
    checkers[name].check(kernel, given)
