"""Grids of trained features: positions become the interpolated features of the cells around them."""

from __future__ import annotations

import math
from typing import Any

import slangad as sa
from slangad import Array, float2, float3, float4
from slangad.compiler.nn.arguments import GROWTH, MOST, check_number, check_size, refuse, storage_of

LIMIT = 1e-4
"""Features start between minus and plus this, as in instant-ngp."""


def HashGrid(
    levels: int, features: int, table: int, base: int, growth: float, dims: int = 2, storage: object = float
) -> Any:
    """Grids of growing resolution, each in a table of ``table`` entries (Müller and others, 2022).

    Args:
        levels: The number of grids.
        features: The numbers of an entry.
        table: The entries of each grid's table. A grid with at most so many vertices has an entry for each; those of a
            finer grid are hashed.
        base: The resolution of the coarsest grid.
        growth: The ratio of the resolutions of neighbouring grids, at least 1.
        dims: 2 or 3, for positions of float2 or float3.
        storage: ``float``, or ``sa.half`` to keep features in half. Sums and cotangents are always in float.

    Raises:
        ArgumentError: for numbers that do not fit.
    """
    check_size("HashGrid", "table", 2, table)
    _check("HashGrid", levels, features, base, growth, dims, (0, 1, 3, 4, 5))
    return _hash_grid(levels, features, table, base, growth, dims, storage_of("HashGrid", 6, storage))


def DenseGrid(
    levels: int, features: int, base: int, growth: float = 2.0, dims: int = 2, storage: object = float
) -> Any:
    """Grids of growing resolution with an entry for each vertex. The arguments are those of ``HashGrid``.

    Raises:
        ArgumentError: for numbers that do not fit, and too many vertices.
    """
    _check("DenseGrid", levels, features, base, growth, dims, (0, 1, 2, 3, 4))
    entries = sum(vertices(base, growth, level) ** dims for level in range(levels))
    if entries > MOST:
        help_ = "fewer levels, or a HashGrid"
        raise refuse("DenseGrid", "levels", 0, f"the grids of DenseGrid have {entries} vertices", help_)
    return _dense_grid(levels, features, base, growth, dims, storage_of("DenseGrid", 5, storage))


def _check(callee: str, levels: int, features: int, base: int, growth: float, dims: int, at: tuple[int, ...]) -> None:
    check_size(callee, "levels", at[0], levels, high=32)
    check_size(callee, "features", at[1], features, high=64)
    check_size(callee, "base", at[2], base)
    check_number(callee, "growth", at[3], growth, GROWTH)
    check_size(callee, "dims", at[4], dims, low=2, high=3)
    if math.log2(base) + (levels - 1) * math.log2(growth) >= 31:
        message = f"the finest grid of {callee} has 2^31 cells or more along an axis"
        raise refuse(callee, "growth", at[3], message, "a smaller growth, or fewer levels")


def scale(base: int, growth: float, level: int) -> float:
    """Return the cells of a level along an axis, less one: base · growth^level - 1."""
    return base * growth**level - 1.0


def vertices(base: int, growth: float, level: int) -> int:
    """Return the vertices of a level along an axis: positions 0 to 1 use numbers 0 to this less one."""
    return math.floor(scale(base, growth, level) + 0.5) + 2


def _corners(dims):
    """Return two functions of the corners of a cell: the weight of one, and its vertex."""
    position, vertex = (float2, sa.int2) if dims == 2 else (float3, sa.int3)

    @sa.differentiable
    def corner_weight(within: position, corner: int) -> float:
        """The weight of a corner: bit ``axis`` of its number is set on the far side of the axis."""
        weight = 1.0
        for axis in sa.range(dims, unroll=True):
            if ((corner >> axis) & 1) == 1:
                weight *= within[axis]
            else:
                weight *= 1.0 - within[axis]
        return weight

    @sa.function
    def corner_vertex(cell: position, corner: int) -> vertex:
        """The vertex of a corner."""
        at = vertex(cell)
        for axis in sa.range(dims, unroll=True):
            at[axis] += (corner >> axis) & 1
        return at

    return corner_weight, corner_vertex


def _rows(features, storage):
    """Return the type of an entry and of a level's features: vectors up to four numbers, read and added to whole."""
    if not 2 <= features <= 4:
        return Array[storage, features], Array[float, features]
    vectors = {float: (float2, float3, float4), sa.half: (sa.half2, sa.half3, sa.half4)}
    return vectors[storage][features - 2], vectors[float][features - 2]


def _added(features, row, entry):
    """Return a function that adds an entry, times its weight, to a level's features."""
    whole = 2 <= features <= 4

    @sa.differentiable
    def added(total: row, weight: float, found: entry) -> row:
        """The features with those of one more corner."""
        if whole:
            return total + weight * found
        result = sa.copy(total)
        for k in range(features):
            result[k] += weight * float(found[k])
        return result

    return added


def _hash_grid(levels, features, table, base, growth, dims=2, storage=float):  # noqa: C901  (one struct)
    position, vertex = (float2, sa.int2) if dims == 2 else (float3, sa.int3)
    corner_weight, corner_vertex = _corners(dims)
    entry_type, row = _rows(features, storage)
    whole = 2 <= features <= 4
    added = _added(features, row, row if whole else entry_type)
    scales = tuple(scale(base, growth, level) for level in range(levels))
    sides = tuple(vertices(base, growth, level) for level in range(levels))
    strides = tuple(side if side**dims <= table else 0 for side in sides)  # 0: hashed
    entries, outputs, corners = table, levels * features, 1 << dims

    @sa.function
    def grid_entry(level: int, at: vertex) -> int:
        """The entry of a vertex: its number, or its hash (Teschner and others, 2003)."""
        stride = strides[level]
        if stride > 0:
            index = at[dims - 1]
            for axis in sa.range(dims - 1, unroll=True):
                index = index * stride + at[dims - 2 - axis]
            return index
        mixed = sa.uint(at[0]) ^ (sa.uint(at[1]) * sa.uint(2654435761))
        if dims == 3:
            mixed = mixed ^ (sa.uint(at[dims - 1]) * sa.uint(805459861))
        return int(mixed % sa.uint(entries))

    @sa.struct(initial={"table": (-LIMIT, LIMIT)})
    class HashGrid:
        """Grids of growing resolution; vertices of the finer ones share entries by a hash."""

        table: Array[Array[entry_type, entries], levels]

        @sa.differentiable
        def at_level(self, x: position, level: int) -> row:
            """The features of one grid: those of the corners of its cell, by weight."""
            at = sa.saturate(x) * scales[level] + 0.5
            cell = sa.floor(at)
            total = row()
            for corner in sa.range(corners, unroll=True):
                entry = grid_entry(level, corner_vertex(sa.no_diff(cell), corner))
                if whole:  # converted where it is read: the cotangent of a half is float then
                    total = added(total, corner_weight(at - cell, corner), row(self.table[level][entry]))
                else:
                    total = added(total, corner_weight(at - cell, corner), self.table[level][entry])
            return total

        def __call__(self, x: position) -> Array[float, outputs]:
            y = Array[float, outputs]()
            for level in range(levels):
                found = self.at_level(x, level)
                for k in sa.range(features, unroll=features <= 4):
                    y[level * features + k] = found[k]
            return y

    return HashGrid


def _dense_grid(levels, features, base, growth, dims=2, storage=float):
    position, vertex = (float2, sa.int2) if dims == 2 else (float3, sa.int3)
    corner_weight, corner_vertex = _corners(dims)
    entry_type, row = _rows(features, storage)
    whole = 2 <= features <= 4
    added = _added(features, row, row if whole else entry_type)
    scales = tuple(scale(base, growth, level) for level in range(levels))
    sides = tuple(vertices(base, growth, level) for level in range(levels))
    starts = tuple(sum(side**dims for side in sides[:level]) for level in range(levels))
    entries, outputs, corners = sum(side**dims for side in sides), levels * features, 1 << dims

    @sa.function
    def grid_entry(level: int, at: vertex) -> int:
        """The entry of a vertex."""
        index = at[dims - 1]
        for axis in sa.range(dims - 1, unroll=True):
            index = index * sides[level] + at[dims - 2 - axis]
        return starts[level] + index

    @sa.struct(initial={"table": (-LIMIT, LIMIT)})
    class DenseGrid:
        """Grids of growing resolution with an entry for each vertex, one after the other."""

        table: Array[entry_type, entries]

        @sa.differentiable
        def at_level(self, x: position, level: int) -> row:
            """The features of one grid: those of the corners of its cell, by weight."""
            at = sa.saturate(x) * scales[level] + 0.5
            cell = sa.floor(at)
            total = row()
            for corner in sa.range(corners, unroll=True):
                entry = grid_entry(level, corner_vertex(sa.no_diff(cell), corner))
                if whole:  # converted where it is read: the cotangent of a half is float then
                    total = added(total, corner_weight(at - cell, corner), row(self.table[entry]))
                else:
                    total = added(total, corner_weight(at - cell, corner), self.table[entry])
            return total

        def __call__(self, x: position) -> Array[float, outputs]:
            y = Array[float, outputs]()
            for level in range(levels):
                found = self.at_level(x, level)
                for k in sa.range(features, unroll=features <= 4):
                    y[level * features + k] = found[k]
            return y

    return DenseGrid
