"""Samples for rows of the intrinsics table: argument types, and arguments inside a row's domain away from its kinks."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.ir import types as ir
from slangad.compiler.lang.intrinsics import Interval

if TYPE_CHECKING:
    from slangad.compiler.lang.intrinsics import IntrinsicRow

FLOAT2, FLOAT3 = ir.Vector(ir.FLOAT, 2), ir.Vector(ir.FLOAT, 3)
BOOL3, MATRIX, SQUARE = ir.Vector(ir.BOOL, 3), ir.Matrix(ir.FLOAT, 2, 3), ir.Matrix(ir.FLOAT, 3, 3)
SHAPES: dict[str, tuple[ir.Type, ...]] = {
    "dot": (FLOAT3, FLOAT3), "cross": (FLOAT3, FLOAT3), "length": (FLOAT3,), "distance": (FLOAT3, FLOAT3),
    "normalize": (FLOAT3,), "reflect": (FLOAT3, FLOAT3), "refract": (FLOAT3, FLOAT3, ir.FLOAT), "sum": (FLOAT3,),
    "transpose": (MATRIX,), "determinant": (SQUARE,), "mul": (MATRIX, FLOAT3), "select": (ir.BOOL, ir.FLOAT, ir.FLOAT),
    "any": (BOOL3,), "all": (BOOL3,), "asfloat": (ir.INT,), "asint": (ir.FLOAT,), "asuint": (ir.FLOAT,),
}  # fmt: skip
"""Argument types of rows that don't take plain floats."""


def types_of(row: IntrinsicRow) -> tuple[ir.Type, ...]:
    return SHAPES.get(row.name, (ir.FLOAT,) * len(row.params))


def sample(interval: Interval, random_: random.Random) -> float:
    low, high = max(interval.low, -3.0), min(interval.high, 3.0)
    width = high - low
    return random_.uniform(low + 0.1 * width, high - 0.1 * width)


def arguments(row: IntrinsicRow, seed: int) -> list[np.ndarray]:
    """float64 arguments inside the domain of a row, away from its kinks."""
    random_ = random.Random(f"{row.name} {seed}")
    while True:
        values = []
        for i, type_ in enumerate(types_of(row)):
            shape = (type_.size,) if isinstance(type_, ir.Vector) else ()
            shape = (type_.rows, type_.columns) if isinstance(type_, ir.Matrix) else shape
            element = ir.element_of(type_)
            interval = row.interval(i) if element != ir.BOOL else Interval(0.0, 1.0)
            drawn = [sample(interval, random_) for _ in range(math.prod(shape))]
            numbers = np.array(drawn).reshape(shape)
            numbers = numbers > 0.5 if element == ir.BOOL else numbers
            values.append(numbers.astype({"bool": bool, "int": np.int32}.get(element.name, np.float64))[()])
        near = any(np.any(np.asarray(k.distance(np, *values)) < 0.05) for k in row.kinks)
        if not near and (row.valid is None or np.all(row.valid(np, *values))):
            return values
