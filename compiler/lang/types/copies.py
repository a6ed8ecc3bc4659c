"""``sa.copy`` and ``sa.zeros``, without loading numpy before they are called."""

from __future__ import annotations

from typing import Any, TypeVar, cast, overload

T = TypeVar("T")


def copy(value: T) -> T:
    """Return an equal value that shares nothing with this one."""
    from slangad.compiler.lang.types.values import copy as copy_value

    return cast("T", copy_value(value))


@overload
def zeros(type: type[T]) -> T: ...
@overload
def zeros(type: Any) -> Any: ...  # noqa: ANN401  (a type that checkers can't follow, such as a factory's)
def zeros(type: Any) -> Any:  # noqa: A002
    """Return the value of a type whose numbers are all 0 and bools all false.

    Raises:
        AnnotationError: if it is not a type of the language.
    """
    from slangad.compiler.lang.types.construct import zeros as zero_value

    return zero_value(type)


__all__ = ["copy", "zeros"]
