"""Describe inputs and results of a kernel as rows of numbers, one column for each scalar.

Columns have the order of the kernel's buffers, so a buffer is a range of neighbouring columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.emit.memory.buffers import buffer_leaves, scalar_of
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from slangad.compiler.emit.memory.buffers import BufferLeaf
    from slangad.compiler.ir.nodes import Kernel

    Buffer = tuple[str, tuple[str | int, ...]]
    """A parameter's or result's name and the path to the part that the buffer holds."""


@dataclass(frozen=True, slots=True)
class Column:
    """One scalar.

    Attributes:
        path: The path as users write it: ``m.albedo[1]``, ``v.x``.
        scalar: ``float``, ``half``, ``double``, ``int``, ``uint`` or ``bool``.
        differentiable: It carries a gradient.
        group: The path of the value that it is a component of: ``v`` of ``v.x``.
        anywhere: The path without the index of an element: ``light.x`` of ``light[3].x``; empty without index.
    """

    path: str
    scalar: str
    differentiable: bool
    group: str = ""
    anywhere: str = ""

    @property
    def floating(self) -> bool:
        """Return True if it holds a floating-point number."""
        return self.scalar in types.FLOATING


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """The columns of all inputs or all results of a kernel, and the stretch of each buffer."""

    columns: tuple[Column, ...]
    stretches: dict[Buffer, tuple[int, int]]

    @property
    def differentiable(self) -> list[int]:
        """Return the columns that carry a gradient."""
        return [index for index, column in enumerate(self.columns) if column.differentiable]

    @property
    def owners(self) -> npt.NDArray[np.str_]:
        """Return the parameter or result of every column."""
        names = [owner_of(name) for name, _ in self.stretches]
        return np.repeat(np.array(names, np.str_), [end - start for start, end in self.stretches.values()])


def input_table(kernel: Kernel) -> ColumnTable:
    """Return the columns of a kernel's inputs."""
    return _table((p.name, p.type, p.no_diff) for p in kernel.params)


def result_table(kernel: Kernel) -> ColumnTable:
    """Return the columns of a kernel's results."""
    return _table((r.name, r.type, False) for r in kernel.results)


def _table(values: Iterator[tuple[str, types.Type, bool]]) -> ColumnTable:
    columns: list[Column] = []
    stretches: dict[Buffer, tuple[int, int]] = {}
    for name, type_, passive in values:
        for leaf in buffer_leaves(type_):
            start = len(columns)
            columns += columns_of(name, leaf, passive=passive)
            stretches[name, leaf.path] = (start, len(columns))
    return ColumnTable(tuple(columns), stretches)


@lru_cache(maxsize=4096)
def owner_of(path: str) -> str:
    """Return the parameter or result of a path: ``m`` of ``m.albedo[1]``, ``result.0`` of ``result.0[3].x``."""
    owner = re.match(r"result\.\d+|[^.\[]+", path)
    return owner[0] if owner else path


def columns_of(name: str, leaf: BufferLeaf, *, passive: bool) -> Iterator[Column]:
    """Yield the columns of a part of a value that has a separate buffer."""
    flows = not passive and not leaf.no_diff and types.carries_gradient(leaf.type)
    scalar = scalar_of(leaf.type).name
    for outer in product(*(range(extent) for extent in leaf.outer)):
        counters = iter(outer)
        way = "".join(f"[{next(counters)}]" if step is None else f".{step}" for step in leaf.steps)
        for inside in _entries(leaf.type):
            yield Column(f"{name}{way}{inside}", scalar, flows, f"{name}{way}")


def _entries(type_: types.Type) -> Iterator[str]:
    """Yield the paths of the scalars in a value."""
    match type_:
        case types.Vector(size=size):
            yield from (f".{'xyzw'[k]}" for k in range(size))
        case types.Matrix(rows=rows, columns=columns):
            yield from (f"[{row}][{column}]" for row in range(rows) for column in range(columns))
        case types.Array(element, size):
            yield from (f"[{k}]{rest}" for k in range(size) for rest in _entries(element))
        case _:
            yield ""
