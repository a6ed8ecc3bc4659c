"""Every row of the intrinsics table, as emitted: its value is the table's meaning, its gradient that of differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import Checker, build

from slangad.compiler.emit import Mode
from slangad.compiler.ir.nodes import (
    Function,
    Intrinsic,
    Kernel,
    KernelParam,
    KernelResult,
    Memory,
    Module,
    Param,
    Return,
    Var,
)
from slangad.compiler.ir.types import BOOL, FLOAT, INT, UINT, Matrix, Scalar, Type, Vector, element_of
from slangad.compiler.lang.errors import TypeRuleError
from slangad.compiler.lang.intrinsics import INTRINSICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.lang.intrinsics import IntrinsicRow as Row

pytestmark = pytest.mark.toolchain
COUNT = 16
VECTOR, SQUARE = Vector(FLOAT, 3), Matrix(FLOAT, 3, 3)
SAME: tuple[Type, ...] = (FLOAT, VECTOR, SQUARE, INT, UINT, Vector(INT, 2), Vector(BOOL, 3))
MIXED = [(VECTOR, SQUARE), (SQUARE, VECTOR), (VECTOR, VECTOR, FLOAT), (Vector(BOOL, 3), VECTOR, VECTOR)]


@dataclass(frozen=True)
class Sample:
    """One row with one list of argument types."""

    row: Row
    types: tuple[Type, ...]
    result: Type

    @property
    def name(self) -> str:
        return f"{self.row.name}_{SAME.index(self.types[0]) if self.types[0] in SAME else 9}_{len(set(self.types))}"


def samples() -> Iterator[Sample]:
    for row in INTRINSICS.values():
        if row.cast_of:
            continue
        for types in [(t,) * len(row.params) for t in SAME] + MIXED:
            try:
                signature = row.rule(types)
            except (TypeRuleError, IndexError):
                continue
            if signature.params == types:
                yield Sample(row, types, signature.result)


SAMPLES = list(samples())
SMOOTH = [s for s in SAMPLES if s.row.differentiable and FLOAT in map(element_of, s.types)]


def module(of: list[Sample]) -> Module:
    functions, kernels = [], []
    for sample in of:
        names = [f"a{i}" for i in range(len(sample.types))]
        value = Intrinsic(
            sample.row.name, tuple(Var(n, t) for n, t in zip(names, sample.types, strict=True)), sample.result
        )
        params = tuple(Param(n, t) for n, t in zip(names, sample.types, strict=True))
        functions.append(Function(sample.name, sample.name, params, sample.result, (Return(value),)))
        each = tuple(KernelParam(p.name, Memory.EACH, p.type) for p in params)
        result = KernelResult("result", Memory.EACH, sample.result)
        kernels.append(Kernel(sample.name, sample.name, each, (result,)))
    return Module("rows", "rows.py", functions=tuple(functions), kernels=tuple(kernels))


@pytest.fixture(scope="module")
def rows() -> Checker:
    return Checker(build(module(SAMPLES)), build(module(SMOOTH), wide=True))


def values(sample: Sample, index: int, rng: np.random.Generator) -> np.ndarray:
    type_ = sample.types[index]
    shape = (COUNT, *{Scalar: (), Vector: (3,), Matrix: (3, 3)}[type(type_)])
    if isinstance(type_, Vector):
        shape = (COUNT, type_.size)
    match element_of(type_):
        case Scalar("bool"):
            return rng.integers(0, 2, shape).astype(np.uint32)
        case Scalar("int"):
            return rng.integers(-9, 9, shape).astype(np.int32) * 2 + 1
        case Scalar("uint"):
            return rng.integers(1, 9, shape).astype(np.uint32)
        case _:
            interval = sample.row.interval(index)
            low, high = max(interval.low, -1.9), min(interval.high, 1.9)
            return (low + (high - low) * rng.uniform(0.06, 0.94, shape)).astype(np.float32)


def given(sample: Sample) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    made = {f"a{i}": values(sample, i, rng) for i in range(len(sample.types))}
    if sample.row.name == "smoothstep":
        made["a0"], made["a1"] = made["a0"] - 3.0, made["a1"] + 3.0
    if sample.row.name == "refract":
        made["a2"] = np.abs(made["a2"]) * 0.3 + 0.1
        made |= {n: made[n] / np.linalg.norm(made[n], axis=-1, keepdims=True) for n in ("a0", "a1")}
    return made


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_emitted_intrinsic__value__is_the_meaning(rows: Checker, sample: Sample) -> None:
    arguments = given(sample)
    found = rows.program.run(sample.name, Mode.FORWARD, arguments, (COUNT,))["result"]
    typed = [
        v.astype(bool) if element_of(t) == BOOL else v for v, t in zip(arguments.values(), sample.types, strict=True)
    ]
    wanted = [np.asarray(sample.row.meaning(np, *element)) for element in zip(*typed, strict=True)]
    np.testing.assert_allclose(found, np.array(wanted), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("sample", SMOOTH, ids=lambda s: s.name)
def test_emitted_intrinsic__gradient__is_that_of_differences(rows: Checker, sample: Sample) -> None:
    rows.check(sample.name, given(sample), tolerance=1e-3)
