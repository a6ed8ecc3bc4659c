"""``sa.copy`` and ``sa.zeros``, without loading numpy before they are called."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def copy(value: T) -> T:
    """A value of its own, equal to this one."""
    from slangad.compiler.lang import values

    return values.copy(value)  # type: ignore[return-value]  # of the same type


def zeros(type: type[T]) -> T:  # noqa: A002  (what users would call it)
    """The value of a type whose numbers are all 0 and bools all false.

    Raises:
        AnnotationError: when it is no type of the language.
    """
    from slangad.compiler.lang import construct

    return construct.zeros(type)  # type: ignore[return-value]  # of the type asked for


__all__ = ["copy", "zeros"]
