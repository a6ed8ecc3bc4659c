"""What the threads of a group compute together: ``sa.group_sum`` and others, with their meaning in Python."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from slangad.compiler.lang.decorators.python_execution import python_execution

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def group_sum(value: T) -> T:
    """Return the sum of the values of all threads of the group."""
    return cast("T", reduce(_plus, _meet("group_sum", value)[0]))


def group_scan(value: T) -> T:
    """Return the sum of the values of the threads of the group up to this one, which is included."""
    values, own = _meet("group_scan", value)
    return cast("T", reduce(_plus, values[: own + 1]))


def group_max(value: T) -> T:
    """Return the largest of the values of all threads of the group, by component."""
    return cast("T", reduce(_chosen("max"), _meet("group_max", value)[0]))


def group_min(value: T) -> T:
    """Return the smallest of the values of all threads of the group, by component."""
    return cast("T", reduce(_chosen("min"), _meet("group_min", value)[0]))


def _meet(word: str, value: object) -> tuple[list[object], int]:
    """Return what all threads of the group give to ``sa.word``, and the own place among them."""
    from slangad.compiler.lang import activation

    return activation.meet(word, value)


def _plus(a: object, b: object) -> object:
    from slangad.compiler.lang.types.operators import binary

    return binary("+", a, b)


def _chosen(name: str) -> Callable[[object, object], object]:
    from slangad.compiler.lang.types.operators import call_intrinsic

    return lambda a, b: call_intrinsic(name, (a, b))


if TYPE_CHECKING:
    MYPY = False  # mypy takes it as True
    if MYPY:
        Shared: Any  # as of Array: numbers are no types
    else:

        class Shared:
            """``Shared[T, n]()``: n values of type T that the threads of a group share."""

            def __class_getitem__(cls, parts: Any) -> Any: ...  # noqa: ANN401  (numbers are no types)

else:

    class Shared:
        """``Shared[T, n]()``: n values of type T that the threads of a group share; zeros until a thread stores one."""

        def __class_getitem__(cls, parts: object) -> Callable[[], object]:
            return lambda: _meet("Shared", python_execution().group_memory(parts))[0][0]


def barrier() -> None:
    """Wait until all threads of the group have come here: then they see what the others have stored in ``Shared``."""
    _meet("barrier", None)


GROUP_OPERATIONS: Final = {f.__name__: f for f in (group_max, group_min, group_scan, group_sum)}
"""All of them by name."""

__all__ = ["Shared", "barrier", "group_max", "group_min", "group_scan", "group_sum"]
