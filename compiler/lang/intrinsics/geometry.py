"""Rows for vectors and matrices. Their derivatives come from ``composed`` definitions.

Values of a row have their vector or matrix axes last, so that a ``meaning`` also takes a batch. Only ``mul`` tells
vectors from matrices by their number of axes.
"""

from __future__ import annotations

import math

from slangad.compiler.lang.intrinsics.model import IntrinsicRow as Row
from slangad.compiler.lang.intrinsics.rules import product, reduce_numbers, square, transposed, vectors

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN202  (the parameters are numpy arrays or traced values, distinguished at run time)


def _dot(f, a, b):
    return f.sum(a * b)


def _cross(f, a, b):
    ax, ay, az = (f.take(a, i) for i in range(3))
    bx, by, bz = (f.take(b, i) for i in range(3))
    return f.stack(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def _length(f, v):
    squared = f.sum(v * v)
    return f.where(squared == 0.0, 0.0, f.sqrt(f.where(squared == 0.0, 1.0, squared)))


def _normalize(f, v):
    squared = f.sum(v * v)
    size = f.where(squared == 0.0, math.inf, f.sqrt(f.where(squared == 0.0, 1.0, squared)))
    return v / f.spread(size, v)


def _reflect(f, i, n):
    return i - n * f.spread(2.0 * _dot(f, n, i), n)


def _refract(f, i, n, eta):
    d = _dot(f, n, i)
    k = 1.0 - eta * eta * (1.0 - d * d)
    bent = i * f.spread(eta, i) - n * f.spread(eta * d + f.sqrt(f.where(k < 0.0, 1.0, k)), n)
    return f.where(f.spread(k, bent) < 0.0, 0.0, bent)


def _refract_value(np, i, n, eta):
    d = np.sum(n * i, axis=-1)
    k = 1 - eta * eta * (1 - d * d)
    bent = i * np.expand_dims(eta, -1) - n * np.expand_dims(eta * d + np.sqrt(np.where(k < 0, 0, k)), -1)
    return np.where(np.expand_dims(k, -1) < 0, 0, bent).astype(i.dtype)


def _normalize_value(np, v):
    promoted = v.astype(np.promote_types(v.dtype, np.float32))
    largest = np.max(np.abs(promoted), axis=-1, keepdims=True)
    scaled = promoted / np.where(largest == 0, 1, largest)
    size = np.sqrt(np.sum(scaled * scaled, axis=-1, keepdims=True))
    return (scaled / np.where(size == 0, 1, size)).astype(v.dtype)


def _length_value(np, v):
    in_double = v.astype(np.float64)
    return np.sqrt(np.sum(in_double * in_double, axis=-1)).astype(v.dtype)


def _cross_value(np, a, b):
    rolled = (np.roll(a, -1, -1), np.roll(b, -2, -1), np.roll(a, -2, -1), np.roll(b, -1, -1))
    return rolled[0] * rolled[1] - rolled[2] * rolled[3]


def _determinant(f, m):
    size = m.shape[-1]
    return _minor(f, m, tuple(range(size)), tuple(range(size)))


def _minor(f, m, rows, columns):
    if len(rows) == 1:
        return f.take(f.take(m, rows[0], -2), columns[0])
    total = None
    for position, column in enumerate(columns):
        rest = tuple(c for c in columns if c != column)
        term = f.take(f.take(m, rows[0], -2), column) * _minor(f, m, rows[1:], rest)
        total = term if total is None else (total - term if position % 2 else total + term)
    return total


def _determinant_value(np, m):
    return np.linalg.det(m.astype(np.float64)).astype(m.dtype)


def _mul(f, a, b):
    if len(b.shape) == 1:
        return f.sum(a * f.spread_rows(b, a.shape[0]))
    if len(a.shape) == 1:
        return _mul(f, f.transpose(b), a)
    columns = f.transpose(b)
    return f.stack(*(_mul(f, columns, f.take(a, row, -2)) for row in range(a.shape[0])), axis=0)


ROWS = (
    Row("dot", ("a", "b"), vectors(2, "scalar"), lambda np, a, b: np.sum(a * b, axis=-1, dtype=a.dtype), "dot",
        "The sum of the products of components.", composed=_dot,
        typed="(a: _Vector[_S], b: _Vector[_S]) -> _S"),
    Row("cross", ("a", "b"), vectors(2, "vector", sizes=(3,)), _cross_value, "cross",
        "The vector at right angles to both.", composed=_cross,
        typed="(a: _V3, b: _V3) -> _V3"),
    Row("length", ("v",), vectors(1, "scalar"), _length_value, "sa::length",
        "The Euclidean length; the gradient at the zero vector is 0.", composed=_length,
        valid=lambda np, v: np.any(v != 0, axis=-1),
        typed="(v: _Vector[_S]) -> _S"),
    Row("distance", ("a", "b"), vectors(2, "scalar"), lambda np, a, b: _length_value(np, a - b), "sa::distance",
        "length(a - b).", composed=lambda f, a, b: _length(f, a - b),
        valid=lambda np, a, b: np.any(a != b, axis=-1),
        typed="(a: _Vector[_S], b: _Vector[_S]) -> _S"),
    Row("normalize", ("v",), vectors(1, "vector"), _normalize_value, "sa::normalize",
        "v scaled to length 1; the zero vector stays zero.", composed=_normalize,
        valid=lambda np, v: np.any(v != 0, axis=-1),
        typed="(v: _V) -> _V"),
    Row("reflect", ("i", "n"), vectors(2, "vector"),
        lambda np, i, n: (i - n * (2 * np.sum(n * i, axis=-1, keepdims=True))).astype(i.dtype), "reflect",
        "The incident vector i mirrored at a surface with unit normal n.", composed=_reflect,
        typed="(i: _V, n: _V) -> _V"),
    Row("refract", ("i", "n", "eta"), vectors(2, "vector", scalars=1), _refract_value, "sa::refract",
        "i bent at a surface with unit normal n; zero where it is reflected totally.", composed=_refract,
        typed="(i: _V, n: _V, eta: float) -> _V"),
    Row("sum", ("v",), reduce_numbers, lambda np, v: np.sum(v, axis=-1, dtype=v.dtype), "sa::sum",
        "The sum of a vector's components.", composed=lambda f, v: f.sum(v),
        typed="(v: _Vector[_S]) -> _S"),
    Row("transpose", ("m",), transposed, lambda np, m: np.swapaxes(m, -1, -2), "transpose",
        "Rows and columns swapped.", composed=lambda f, m: f.transpose(m),
        typed="(m: MatrixValue[Any, Any]) -> Any"),
    Row("determinant", ("m",), square, _determinant_value, "determinant",
        "The determinant of a square matrix.", composed=_determinant,
        typed="(m: MatrixValue[_S, Any]) -> _S"),
    Row("mul", ("a", "b"), product, lambda np, a, b: np.matmul(a, b), "mul",
        "The matrix product; a vector on the left is a row, on the right a column. An `Array[Array[float, m], n]` "
        "multiplies an `Array[float, m]`.", composed=_mul),
)  # fmt: skip
