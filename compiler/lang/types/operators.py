"""Operators and intrinsics on values. Operands convert to a common type; results have the type that Slang gives them.

``float`` is rounded to 32 bits after every operation. ``int`` overflow raises, ``uint`` wraps. Two Python numbers are
literals and stay Python's.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    FLOATING,
    INT,
    UINT,
    Array,
    Matrix,
    Type,
    Vector,
    element_of,
    is_integral,
    join,
    show,
    strengthen,
    with_element,
)
from slangad.compiler.lang.errors import TypeRuleError
from slangad.compiler.lang.intrinsics import INTRINSICS, IntrinsicRow, IntrinsicSignature
from slangad.compiler.lang.types.tracing import (
    ADD,
    DIVIDE,
    MULTIPLY,
    NEGATE,
    SUBTRACT,
    Primitive,
    Traced,
    apply,
    bottom,
    converted,
)
from slangad.compiler.lang.types.values import DTYPES, LIMITS, adapted, joined, shown, type_of, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ARITHMETIC: Final = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}
_ROWS: Final = {"//": "floor_div", "%": "mod"}
_BITS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LITERALS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **_BITS,
    **_COMPARISONS,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def binary(symbol: str, a: object, b: object) -> object:
    """Return ``a symbol b``.

    Raises:
        TypeError: when the operands do not mix or do not take the operator.
        OverflowError: when an ``int`` result does not fit.
        ZeroDivisionError: for ``//`` and ``%`` of integers by zero.
    """
    quick = _QUICK.get(symbol)
    if quick is not None and type(a) is np.float32 and (type(b) is np.float32 or type(b) is float):
        return quick(a, np.float32(b))
    if _is_literal(a) and _is_literal(b):
        return _literals(symbol, a, b)
    if symbol == "@":
        return call_intrinsic("mul", (a, b))
    if symbol == "**":
        return power(a, b)
    if symbol in _COMPARISONS:
        return _compare(symbol, a, b)
    met = _meet(symbol, a, b)
    if symbol in _BITS:
        return _bits(symbol, a, b, met)
    if symbol in _ROWS:
        return call_intrinsic(_ROWS[symbol], (a, b))
    if is_integral(met):
        if symbol != "/":
            return _integers(symbol, a, b, met)
        met = with_element(met, FLOAT)
    return wrapped(apply(_ARITHMETIC[symbol], adapted(a, met), adapted(b, met)), met)


_QUICK: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
}
"""Operators on two floats, by far the most frequent case. The general way gives the same results."""


def _is_literal(value: object) -> bool:
    return type(value) in (int, float)


def _literals(symbol: str, a: Any, b: Any) -> object:  # noqa: ANN401  (Python's numbers)
    """Return the arithmetic of two Python numbers; floats follow IEEE."""
    try:
        value = _LITERALS[symbol](a, b)
    except KeyError:
        raise TypeError(f"{symbol!r} does not take two numbers") from None
    except ZeroDivisionError:
        if symbol == "/" or isinstance(a, float) or isinstance(b, float):
            with np.errstate(all="ignore"):
                return float(_LITERALS[symbol](np.float64(a), np.float64(b)))
        raise
    except OverflowError:
        return math.inf
    return math.nan if isinstance(value, complex) else value


def _meet(symbol: str, a: object, b: object) -> Type:
    """Return the type that both operands convert to."""
    return _met(symbol, type_of(a), type_of(b))


@lru_cache(maxsize=4096)
def _met(symbol: str, first: Type, second: Type) -> Type:
    for type_ in (first, second):
        element = element_of(type_)
        if element is None or element == BOOL:
            raise TypeError(f"{symbol!r} does not take {show(type_)}")
    met = join(first, second)
    if met is None:
        raise TypeError(f"{symbol!r} of {show(first)} and {show(second)}: convert one of them")
    return strengthen(met)


def _integers(symbol: str, a: object, b: object, met: Type) -> object:
    """Return ``+ - *`` of ints or uints."""
    left, right = _wide(a, met), _wide(b, met)
    return _integral_result(_LITERALS[symbol](left, right), met)


def _wide(value: object, type_: Type) -> Any:  # noqa: ANN401  (integers)
    data = bottom(adapted(value, type_))
    return int(data) if data.ndim == 0 else data.astype(object)


def _integral_result(result: Any, type_: Type) -> object:  # noqa: ANN401  (exact integers)
    """Return exact integers as a value: ``uint`` wraps, ``int`` must fit."""
    element = element_of(type_)
    assert element is not None  # noqa: S101  (checked by the caller)
    if element == UINT:
        result = result & 0xFFFFFFFF
    low, high = LIMITS[element.name]
    for number in [result] if isinstance(result, int) else result.ravel().tolist():
        if not low <= number <= high:
            raise OverflowError(f"{number} does not fit {element.name}")
    dtype = DTYPES[element.name]
    return wrapped(np.asarray(result).astype(dtype)[()], type_)


def _bits(symbol: str, a: object, b: object, met: Type) -> object:
    if not is_integral(met):
        raise TypeError(f"{symbol!r} takes ints and uints, not {show(met)}")
    left, right = _wide(a, met), _wide(b, met)
    if symbol in ("<<", ">>"):
        counts = [right] if isinstance(right, int) else right.ravel().tolist()
        if not all(0 <= n < 32 for n in counts):
            raise OverflowError(f"a shift count is outside 0 to 31: {right}")
    return _integral_result(_BITS[symbol](left, right), met)


def _compare(symbol: str, a: object, b: object) -> object:
    first, second = type_of(a), type_of(b)
    if BOOL in (element_of(first), element_of(second)):
        return _compare_bools(symbol, a, b)
    met = _meet(symbol, a, b)
    if isinstance(met, Matrix):
        raise TypeError(f"{symbol!r} does not take matrices: compare their rows")
    with np.errstate(all="ignore"):
        result = _COMPARISONS[symbol](bottom(adapted(a, met)), bottom(adapted(b, met)))
    return wrapped(result, with_element(met, BOOL))


def _compare_bools(symbol: str, a: object, b: object) -> object:
    first, second = type_of(a), type_of(b)
    if symbol not in ("==", "!=") or join(first, second) is None:
        raise TypeError(f"{symbol!r} of {show(first)} and {show(second)}")
    met = second if isinstance(second, Vector) else first
    return wrapped(_COMPARISONS[symbol](bottom(adapted(a, met)), bottom(adapted(b, met))), met)


def unary(symbol: str, a: object) -> object:
    """Return ``-a``, ``+a`` or ``~a``.

    Raises:
        TypeError: when the operand does not take the operator.
    """
    if _is_literal(a) and not (symbol == "~" and isinstance(a, float)):
        return {"-": operator.neg, "+": operator.pos, "~": operator.invert}[symbol](a)  # type: ignore[operator]  # a number
    type_ = type_of(a)
    element = element_of(type_)
    if element is None or element == BOOL or (symbol == "~" and not is_integral(type_)):
        raise TypeError(f"{symbol!r} does not take {show(type_)}")
    if symbol == "+":
        return a
    if is_integral(type_):
        in_double = _wide(a, type_)
        return _integral_result(~in_double if symbol == "~" else -in_double, type_)
    return wrapped(apply(NEGATE, adapted(a, type_)), type_)


def power(a: object, b: object) -> object:
    """Return ``a ** b``: a product for integer constants, ``pow`` for floating exponents.

    Raises:
        TypeError: for a run-time integer exponent, unless the base is a positive floating constant.
    """
    if type(b) is int or (type(b) is float and b.is_integer()):
        return _product(a, int(b), floating=type(b) is float)
    if is_integral(type_of(b)):
        if type(a) is float and a > 0.0 and element_of(type_of(b)) == INT:
            return call_intrinsic("exp2", (b,)) if a == 2.0 else call_intrinsic("pow", (a, b))
        raise TypeError("the exponent must be a constant or floating: write the product, or float(…) around it")
    return call_intrinsic("pow", (a, b))


def _product(a: object, count: int, *, floating: bool) -> object:
    _meet("**", a, 1)
    if isinstance(type_of(a), Matrix):
        raise TypeError("'**' does not take a matrix: write m * m or m @ m")
    if floating or count < 0:
        a = binary("*", a, 1.0)
    result = joined(1, type_of(a)) if count == 0 else a
    for _ in range(abs(count) - 1):
        result = binary("*", result, a)
    return binary("/", 1.0, result) if count < 0 else result


# --- intrinsics ------------------------------------------------------------------------------------------------------


def call_intrinsic(name: str, args: Sequence[object]) -> object:
    """Call an intrinsic on values.

    Raises:
        TypeError: when its rule refuses the arguments.
    """
    row = INTRINSICS[name]
    if name == "pow" and len(args) == 2 and type(args[1]) in (int, float) and not _is_literal(args[0]):
        exponent: Any = args[1]
        if float(exponent).is_integer():
            return power(args[0], exponent)
    signature = _signature(name, tuple(type_of(a) for a in args))
    if name == "mul" and isinstance(signature.result, Array):
        return _product_of_arrays(args[0], args[1], signature.result)
    if is_integral(signature.result) and is_integral(signature.params[0]):
        return _integral_call(row, args, signature)
    data = [adapted(a, t) for a, t in zip(args, signature.params, strict=True)]
    result = _folded(row, data)
    return _result(row, result, signature.result)


def _product_of_arrays(matrix: Any, vector: Any, type_: Array) -> object:  # noqa: ANN401  (arrays of any numbers)
    """Return the product of an array of rows and an array, added up in their order as devices do."""
    from slangad.compiler.lang.types.construct import zero

    result: Any = zero(type_)
    for i in range(type_.size):
        total = result[i]
        for j in range(len(vector)):
            entry = wrapped(adapted(matrix[i][j], type_.element), type_.element)
            total = binary("+", total, binary("*", entry, vector[j]))
        result[i] = total
    return result


@lru_cache(maxsize=4096)
def _signature(name: str, types: tuple[Type, ...]) -> IntrinsicSignature:
    try:
        return INTRINSICS[name].rule(types)
    except TypeRuleError as error:
        where = "" if error.argument is None else f", argument {error.argument + 1}"
        raise TypeError(f"{name}{where}: {error}") from None


def _folded(row: IntrinsicRow | Primitive, data: Sequence[Any]) -> Any:  # noqa: ANN401  (numbers or traced)
    if not (isinstance(row, IntrinsicRow) and row.variadic):
        return apply(row, *data)
    result = data[0]
    for operand in data[1:]:
        result = apply(row, result, operand)
    return result


def _result(row: IntrinsicRow, data: Any, type_: Type) -> object:  # noqa: ANN401  (numbers or traced)
    if row.cast_of:
        return _rounded(row, bottom(data), type_)
    element = element_of(type_)
    if element is not None and element.name in FLOATING and data.dtype != DTYPES[element.name]:
        data = converted(data, DTYPES[element.name])
    return wrapped(np.asarray(data) if not isinstance(data, Traced) and isinstance(type_, Vector) else data, type_)


def _rounded(row: IntrinsicRow, numbers: Any, type_: Type) -> object:  # noqa: ANN401  (floating numbers)
    """Return floating-point numbers without a fraction as ints."""
    if not np.all(np.isfinite(numbers)):
        raise OverflowError(f"{row.name} of {numbers}")
    exact = int(numbers) if numbers.ndim == 0 else np.array([int(n) for n in numbers.tolist()], object)
    return _integral_result(exact, type_)


def _integral_call(row: IntrinsicRow, args: Sequence[object], signature: IntrinsicSignature) -> object:
    """Return an intrinsic of integers, computed in 64 bits and then checked like arithmetic."""
    data = [np.asarray(bottom(adapted(a, t))) for a, t in zip(args, signature.params, strict=True)]
    if row.differentiable:
        data = [d.astype(np.int64) for d in data]
    if row.name in _ROWS.values() and not np.all(data[1]):
        raise ZeroDivisionError(f"{shown(args[0])} by zero")
    result = np.asarray(_folded(row, data))
    if not row.differentiable:
        return wrapped(result[()], signature.result)
    return _integral_result(int(result) if result.ndim == 0 else result.astype(object), signature.result)
