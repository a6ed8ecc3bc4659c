"""The operators that vectors and matrices share. Each calls ``operators`` with its Python symbol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

S = TypeVar("S")
M = TypeVar("M")


def _binary(symbol: str, a: object, b: object) -> object:
    from slangad.compiler.lang.types.operators import binary

    return binary(symbol, a, b)


def _unary(symbol: str, a: object) -> object:
    from slangad.compiler.lang.types.operators import unary

    return unary(symbol, a)


# mypy: disable-error-code="return-value"
# (the operators return the type of their operands, which only their tables know)


class Arithmetic(Generic[S, M]):
    """Operators by component. ``S`` is the scalar that mixes with values, ``M`` the type of comparisons."""

    __slots__ = ()
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # values are mutable and == goes by component

    def __add__(self, other: Self | S) -> Self:
        return _binary("+", self, other)

    def __radd__(self, other: S) -> Self:
        return _binary("+", other, self)

    def __sub__(self, other: Self | S) -> Self:
        return _binary("-", self, other)

    def __rsub__(self, other: S) -> Self:
        return _binary("-", other, self)

    def __mul__(self, other: Self | S) -> Self:
        return _binary("*", self, other)

    def __rmul__(self, other: S) -> Self:
        return _binary("*", other, self)

    def __truediv__(self, other: Self | S) -> Self:
        return _binary("/", self, other)

    def __rtruediv__(self, other: S) -> Self:
        return _binary("/", other, self)

    def __floordiv__(self, other: Self | S) -> Self:
        return _binary("//", self, other)

    def __rfloordiv__(self, other: S) -> Self:
        return _binary("//", other, self)

    def __mod__(self, other: Self | S) -> Self:
        return _binary("%", self, other)

    def __rmod__(self, other: S) -> Self:
        return _binary("%", other, self)

    def __pow__(self, other: Self | S) -> Self:
        return _binary("**", self, other)

    def __rpow__(self, other: S) -> Self:
        return _binary("**", other, self)

    def __and__(self, other: Self | S) -> Self:
        return _binary("&", self, other)

    def __rand__(self, other: S) -> Self:
        return _binary("&", other, self)

    def __or__(self, other: Self | S) -> Self:
        return _binary("|", self, other)

    def __ror__(self, other: S) -> Self:
        return _binary("|", other, self)

    def __xor__(self, other: Self | S) -> Self:
        return _binary("^", self, other)

    def __rxor__(self, other: S) -> Self:
        return _binary("^", other, self)

    def __lshift__(self, other: Self | S) -> Self:
        return _binary("<<", self, other)

    def __rshift__(self, other: Self | S) -> Self:
        return _binary(">>", self, other)

    def __neg__(self) -> Self:
        return _unary("-", self)

    def __pos__(self) -> Self:
        return _unary("+", self)

    def __invert__(self) -> Self:
        return _unary("~", self)

    def __abs__(self) -> Self:
        from slangad.compiler.lang.types.operators import call_intrinsic

        return call_intrinsic("abs", (self,))

    def __eq__(self, other: object) -> M:  # type: ignore[override]  # by component, as in the language
        return _binary("==", self, other)

    def __ne__(self, other: object) -> M:  # type: ignore[override]  # by component, as in the language
        return _binary("!=", self, other)

    def __lt__(self, other: Self | S) -> M:
        return _binary("<", self, other)

    def __le__(self, other: Self | S) -> M:
        return _binary("<=", self, other)

    def __gt__(self, other: Self | S) -> M:
        return _binary(">", self, other)

    def __ge__(self, other: Self | S) -> M:
        return _binary(">=", self, other)

    def __bool__(self) -> bool:
        raise TypeError(f"a {type(self).__name__} is not a condition: write sa.any(...) or sa.all(...)")


__all__ = ["Arithmetic"]
