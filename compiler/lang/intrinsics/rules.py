"""Type rules of rows: functions that map argument types to a signature or raise ``TypeRuleError``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    FLOATING,
    HALF,
    Array,
    Matrix,
    Scalar,
    Type,
    Vector,
    Weak,
    element_of,
    element_of_weak,
    join,
    show,
    with_element,
)
from slangad.compiler.lang.errors import TypeRuleError
from slangad.compiler.lang.intrinsics.model import IntrinsicSignature, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard


def meet(types: Sequence[Type], *, first: int = 0) -> Type:
    """Return the type that all arguments convert to; ``first`` is the index of the first one, for messages."""
    met = types[0]
    for index, type_ in enumerate(types):
        _require_numbers(type_, first + index)
        joined = join(met, type_)
        if joined is None:
            raise TypeRuleError(first + index, f"{show(type_)} does not mix with {show(met)}", _mixing(met, type_))
        met = joined
    return met


def _mixing(a: Type, b: Type) -> str:
    ea, eb = element_of(a), element_of(b)
    if ea is not None and eb is not None and ea != eb:
        return f"convert one of them, for example with {show(with_element(b, ea))}(...)"
    return "both need the same number of components"


def _require_numbers(type_: Type, index: int) -> None:
    if isinstance(type_, Matrix):
        raise TypeRuleError(index, f"{show(type_)} is a matrix", "apply it to the rows: m[0], m[1], …")
    element = element_of(type_)
    if element is None or element == BOOL:
        raise TypeRuleError(index, f"{show(type_)} is not a number or a vector of numbers")


def as_floating(type_: Type, index: int) -> Type:
    """Return the floating type a number converts to by itself: literals and ints become ``float``."""
    element = element_of_weak(type_)
    if isinstance(element, Weak) or (element is not None and element.name == "int"):
        return with_element(type_, FLOAT)
    if element is not None and element.name == "uint":
        wanted = show(with_element(type_, FLOAT))
        raise TypeRuleError(index, f"{show(type_)} does not become a float by itself", f"write {wanted}(...)")
    return type_


def floating(types: Sequence[Type]) -> IntrinsicSignature:
    """Take arguments of one floating type, scalar or vector; the result has that type."""
    met = as_floating(meet(types), 0)
    return IntrinsicSignature((met,) * len(types), met)


def number(types: Sequence[Type]) -> IntrinsicSignature:
    """Take arguments of one type of numbers; the result has that type. Literals take their default type."""
    met = meet(types)
    strong = Scalar(met.name) if isinstance(met, Weak) else met
    return IntrinsicSignature((strong,) * len(types), strong)


def integral(types: Sequence[Type]) -> IntrinsicSignature:
    """Take one floating argument; the result has ``int`` components."""
    met = as_floating(meet(types), 0)
    return IntrinsicSignature((met,), with_element(met, Scalar("int")))


def classify(types: Sequence[Type]) -> IntrinsicSignature:
    """Take one floating argument; the result has ``bool`` components."""
    met = as_floating(meet(types), 0)
    return IntrinsicSignature((met,), with_element(met, BOOL))


def reduce_bools(types: Sequence[Type]) -> IntrinsicSignature:
    """Take a bool vector; the result is a bool."""
    (type_,) = types
    if not isinstance(type_, Vector) or type_.element != BOOL:
        raise TypeRuleError(0, f"{show(type_)} is not a bool vector", "compare first: any(v > 0.0)")
    return IntrinsicSignature((type_,), BOOL)


def reduce_numbers(types: Sequence[Type]) -> IntrinsicSignature:
    """Take a vector of numbers; the result is a number of its element type."""
    (type_,) = types
    if not isinstance(type_, Vector) or type_.element == BOOL:
        raise TypeRuleError(0, f"{show(type_)} is not a vector of numbers", "add the entries of an array in a loop")
    return IntrinsicSignature((type_,), type_.element)


def choose(types: Sequence[Type]) -> IntrinsicSignature:
    """Take a bool or bool vector and two values of one type; the result has that type."""
    condition, *values = types
    if element_of(condition) != BOOL:
        raise TypeRuleError(0, f"the condition is {show(condition)}, not bool", "compare: x > 0.0")
    if all(element_of(v) == BOOL for v in values):
        met: Type = values[0]
        if values[0] != values[1]:
            raise TypeRuleError(2, f"{show(values[1])} does not mix with {show(values[0])}")
    else:
        met = meet(values, first=1)
    met = Scalar(met.name) if isinstance(met, Weak) else met
    if isinstance(condition, Vector):
        met = _spread(met, condition.size)
    return IntrinsicSignature((condition, met, met), met)


def _spread(type_: Type, size: int) -> Type:
    if isinstance(type_, Scalar):
        return Vector(type_, size)
    if not isinstance(type_, Vector) or type_.size != size:
        raise TypeRuleError(0, f"a condition of {size} components does not fit {show(type_)}")
    return type_


def vectors(count: int, result: str, *, sizes: tuple[int, ...] = (2, 3, 4), scalars: int = 0) -> Rule:
    """Take ``count`` floating vectors of one type, then ``scalars`` scalars; ``result`` is ``vector`` or ``scalar``."""

    def rule(types: Sequence[Type]) -> IntrinsicSignature:
        for index, type_ in enumerate(types[:count]):
            if not isinstance(type_, Vector) or type_.size not in sizes:
                wanted = " or ".join(f"{n}" for n in sizes)
                raise TypeRuleError(index, f"{show(type_)} is not a vector of {wanted} components")
        vector = as_floating(meet(types[:count]), 0)
        assert isinstance(vector, Vector)  # noqa: S101  (all arguments are vectors)
        params = (vector,) * count + (vector.element,) * scalars
        for index in range(count, count + scalars):
            _require_scalar(types[index], vector.element, index)
        return IntrinsicSignature(params, vector if result == "vector" else vector.element)

    return rule


def _require_scalar(type_: Type, wanted: Scalar, index: int) -> None:
    if join(type_, wanted) != wanted:
        raise TypeRuleError(index, f"{show(type_)} is not a {wanted.name}")


def _matrix(type_: Type, index: int) -> Matrix:
    if not isinstance(type_, Matrix):
        raise TypeRuleError(index, f"{show(type_)} is not a matrix")
    return type_


def transposed(types: Sequence[Type]) -> IntrinsicSignature:
    """Take a matrix; the result has rows and columns swapped."""
    matrix = _matrix(types[0], 0)
    return IntrinsicSignature((matrix,), Matrix(matrix.element, matrix.columns, matrix.rows))


def square(types: Sequence[Type]) -> IntrinsicSignature:
    """Take a square matrix; the result is a scalar."""
    matrix = _matrix(types[0], 0)
    if matrix.rows != matrix.columns:
        raise TypeRuleError(0, f"{show(matrix)} is not square")
    return IntrinsicSignature((matrix,), matrix.element)


def product(types: Sequence[Type]) -> IntrinsicSignature:
    """Take matrix and matrix, matrix and vector, or vector (a row) and matrix; or an array of arrays and an array."""
    if any(isinstance(t, Array) for t in types):
        return _product_of_arrays(types[0], types[1])
    left, right = (_as_factor(t, i) for i, t in enumerate(types))
    if isinstance(left, Vector) and isinstance(right, Vector):
        raise TypeRuleError(1, "two vectors have no matrix product", "use sa.dot(a, b), or a * b by component")
    left, right = _one_element(left, right)
    inner = left.size if isinstance(left, Vector) else left.columns
    outer = right.size if isinstance(right, Vector) else right.rows
    if inner != outer:
        raise TypeRuleError(1, f"{show(left)} by {show(right)} does not fit: {inner} columns, {outer} rows")
    return IntrinsicSignature((left, right), _product_type(left, right))


def _product_of_arrays(left: Type, right: Type) -> IntrinsicSignature:
    """Take a matrix as an array of rows, and an array; a matrix of halfs multiplies an array of floats too."""
    help_ = "multiply an Array[Array[float, m], n] by an Array[float, m]"
    if not isinstance(left, Array) or not isinstance(left.element, Array) or not _is_floating(left.element.element):
        raise TypeRuleError(0, f"{show(left)} is not an array of arrays of floats", help_)
    if not isinstance(right, Array) or not _is_floating(right.element):
        raise TypeRuleError(1, f"{show(right)} is not an array of floats", help_)
    rows, columns, element = left.size, left.element.size, left.element.element
    if element not in (right.element, HALF) or right.element not in (element, FLOAT):
        raise TypeRuleError(1, f"{show(right)} does not mix with {show(left)}", "convert the entries of one of them")
    if columns != right.size:
        message = f"{show(left)} by {show(right)} does not fit: {columns} columns, {right.size} rows"
        raise TypeRuleError(1, message, f"multiply by an Array[{right.element.name}, {columns}]")
    return IntrinsicSignature((left, right), Array(right.element, rows))


def _is_floating(type_: Type) -> TypeGuard[Scalar]:
    return isinstance(type_, Scalar) and type_.name in FLOATING


def _product_type(left: Vector | Matrix, right: Vector | Matrix) -> Type:
    if isinstance(left, Matrix) and isinstance(right, Matrix):
        return Matrix(left.element, left.rows, right.columns)
    if isinstance(left, Matrix):
        return Vector(left.element, left.rows)
    assert isinstance(right, Matrix)  # noqa: S101  (two vectors were refused)
    return Vector(left.element, right.columns)


def _as_factor(type_: Type, index: int) -> Vector | Matrix:
    if isinstance(type_, (Vector, Matrix)) and element_of(type_) != BOOL:
        return type_
    remedy = "use * to scale by a number" if isinstance(type_, (Scalar, Weak)) else "multiply matrices and vectors"
    raise TypeRuleError(index, f"{show(type_)} is not a matrix or vector", remedy)


def _one_element(left: Vector | Matrix, right: Vector | Matrix) -> tuple[Vector | Matrix, Vector | Matrix]:
    """Convert an int vector to the matrix' floating type; other elements must agree."""
    if left.element == right.element:
        return left, right
    met = join(left.element, right.element)
    if not isinstance(met, Scalar) or met.name not in FLOATING:
        raise TypeRuleError(1, f"{show(right)} does not mix with {show(left)}", _mixing(left, right))
    return _with(left, met), _with(right, met)


def _with(type_: Vector | Matrix, element: Scalar) -> Vector | Matrix:
    if isinstance(type_, Vector):
        return Vector(element, type_.size)
    return Matrix(element, type_.rows, type_.columns)


def bits(result: Scalar, sources: tuple[str, ...]) -> Rule:
    """Take values of 32 bits; the result reinterprets each component."""

    def rule(types: Sequence[Type]) -> IntrinsicSignature:
        (type_,) = types
        strong = Scalar(type_.name) if isinstance(type_, Weak) else type_
        element = element_of(strong)
        if element is None or isinstance(strong, Matrix) or element.name not in sources:
            raise TypeRuleError(0, f"{show(type_)} has no bits to reinterpret as {result.name}")
        return IntrinsicSignature((strong,), with_element(strong, result))

    return rule
