"""Describe inputs and results of a launch as rows of numbers, one column for each scalar of each element.

Columns have the order of the launch's buffers: all elements of one part are neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from slangad.compiler.check.model.columns import Column, ColumnTable
from slangad.compiler.check.model.columns import columns_of as columns_of_leaf
from slangad.compiler.emit.memory.buffers import buffer_leaves
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.types import Tensor, Texture

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.ir.nodes import Kernel
    from slangad.compiler.ir.types import Type

    Shape = tuple[int, ...]

_ONCE = (Memory.PARAM, Memory.UNIFORM, Memory.SUM, Memory.MEAN)


@dataclass(frozen=True, slots=True)
class Extents:
    """The size of a launch: the shapes of the domain and of every tensor and texture."""

    domain: Shape
    shapes: Mapping[str, Shape]

    def of(self, name: str, memory: Memory) -> Shape:
        """Return the shape of a parameter or result before the axes of its type."""
        return () if memory in _ONCE else self.shapes.get(name, self.domain)


def launch_inputs(kernel: Kernel, extents: Extents) -> ColumnTable:
    """Return the columns that a launch reads; parameters that it only writes start as zeros."""
    return _table(
        tuple(
            (p.name, _element(p.type), extents.of(p.name, p.memory), p.no_diff or p.memory is Memory.UNIFORM)
            for p in kernel.params
            if p.memory is not Memory.OUT_TENSOR
        )
    )


def launch_results(kernel: Kernel, extents: Extents) -> ColumnTable:
    """Return the columns that a launch writes."""
    written = [p for p in kernel.params if p.memory.is_written]
    return _table(
        (
            *((r.name, r.type, extents.of(r.name, r.memory), False) for r in kernel.results),
            *((p.name, _element(p.type), extents.of(p.name, p.memory), p.no_diff) for p in written),
        )
    )


def anywhere_table(kernel: Kernel) -> ColumnTable:
    """Return the inputs as columns, one for all elements of a part: the paths that ranges may name."""
    return _table(tuple((p.name, _element(p.type), (), p.no_diff) for p in kernel.params))


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, (Tensor, Texture)) else type_


@lru_cache(maxsize=64)
def _table(values: tuple[tuple[str, Type, Shape, bool], ...]) -> ColumnTable:
    columns: list[Column] = []
    stretches: dict[tuple[str, tuple[str | int, ...]], tuple[int, int]] = {}
    for value in values:
        for path, buffer in _buffers(value):
            start = len(columns)
            columns += buffer
            stretches[value[0], path] = (start, len(columns))
    return ColumnTable(tuple(columns), stretches)


@lru_cache(maxsize=64)
def _buffers(
    value: tuple[str, Type, Shape, bool],
) -> tuple[tuple[tuple[str | int, ...], tuple[Column, ...]], ...]:
    """Return the columns of each buffer of a value; tables of several sizes share those of large parameters."""
    name, type_, shape, passive = value
    buffers: list[tuple[tuple[str | int, ...], tuple[Column, ...]]] = []
    for leaf in buffer_leaves(type_):
        columns: list[Column] = []
        plain = [column.path.removeprefix(name) for column in columns_of_leaf(name, leaf, passive=passive)]
        for index in _indices(shape):
            leaf_columns = columns_of_leaf(f"{name}{index}", leaf, passive=passive)
            columns += (
                Column(c.path, c.scalar, c.differentiable, c.group, f"{name}{rest}" if index else "")
                for c, rest in zip(leaf_columns, plain, strict=True)
            )
        buffers.append((leaf.path, tuple(columns)))
    return tuple(buffers)


def _indices(shape: Shape) -> Iterator[str]:
    """Yield the indices of an array as users write them, in order; nothing for a single value."""
    if not shape:
        yield ""
        return
    for index in product(*(range(extent) for extent in shape)):
        yield f"[{', '.join(str(k) for k in index)}]"
