"""``sa.copy`` and ``sa.zeros``, without loading numpy before they are called."""

from __future__ import annotations

from typing import TypeVar, cast

T = TypeVar("T")


def copy(value: T) -> T:
    """Return an equal value that shares nothing with this one."""
    from slangad.compiler.lang.types.values import copy as copy_value

    return cast("T", copy_value(value))


def zeros(type: type[T]) -> T:  # noqa: A002  (what users would call it)
    """Return the value of a type whose numbers are all 0 and bools all false.

    Raises:
        AnnotationError: if it is not a type of the language.
    """
    from slangad.compiler.lang.types.construct import zeros as zero_value

    return cast("T", zero_value(type))


__all__ = ["copy", "zeros"]
