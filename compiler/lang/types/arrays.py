"""``Array[T, N]``: one class for each element type and length, made at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from slangad.compiler.lang.errors import AnnotationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy.typing as npt
    from typing_extensions import Self

_CLASSES: dict[tuple[object, int], type[ArrayValue]] = {}


class ArrayValue:
    """A fixed number of values of one type; ``items`` owns them."""

    __slots__ = ("items",)
    __hash__ = None  # type: ignore[assignment]  # values are mutable
    element: ClassVar[object]
    size: ClassVar[int]
    items: list[object]

    def __init__(self, *items: object) -> None:
        from slangad.compiler.lang.types.construct import array_items

        self.items = array_items(type(self), items)

    @classmethod
    def of(cls, items: list[object]) -> Self:
        """Return a value that owns these items."""
        self = cls.__new__(cls)
        self.items = items
        return self

    def __len__(self) -> int:
        return self.size

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of an array of arrays, as numpy has them."""
        inner = self.items[0]
        return (self.size, *(inner.shape if isinstance(inner, ArrayValue) else ()))

    def __iter__(self) -> Iterator[object]:
        return iter(self.items)

    def __getitem__(self, index: int) -> object:
        from slangad.compiler.lang.types.parts import position

        return self.items[position(index, self.size)]

    def __setitem__(self, index: int, value: object) -> None:
        from slangad.compiler.lang.types.parts import set_item

        set_item(self, index, value)

    def __eq__(self, other: object) -> bool:
        from slangad.compiler.lang.types.parts import same

        return same(self, other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.items))})"

    def __copy__(self) -> Self:
        from slangad.compiler.lang.types.values import copy

        return type(self).of([copy(item) for item in self.items])


def array_class(element: object, size: object) -> type[ArrayValue]:
    """Return the class for an element annotation and a length, the same one each time.

    Raises:
        AnnotationError: when the length is not a positive integer.
    """
    count = _length(size)
    made = _CLASSES.get((element, count))
    if made is None:
        name = f"Array[{getattr(element, '__name__', element)}, {count}]"
        made = type(name, (ArrayValue,), {"__slots__": (), "element": element, "size": count})
        _CLASSES[element, count] = made
    return made


def _length(size: object) -> int:
    values: tuple[object, ...] = getattr(size, "__args__", (size,))
    try:
        count = int(values[0].__index__())  # type: ignore[attr-defined]  # checked by the except
    except (AttributeError, TypeError):
        raise AnnotationError(f"the length of an Array is {size!r}, not an integer", "write Array[float, 4]") from None
    if count < 1 or isinstance(values[0], bool):
        raise AnnotationError(f"the length of an Array is {size!r}, not at least 1", "write Array[float, 4]")
    return count


if TYPE_CHECKING:
    T = TypeVar("T")

    class ArrayOf(Generic[T]):
        """The elements of an ``Array``."""

        shape: tuple[int, ...]

        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[T]: ...
        def __getitem__(self, index: int) -> T: ...
        def __setitem__(self, index: int, value: T) -> None: ...

        # as of vectors: fields of structs take arrays and sequences too
        def __get__(self, owner: object, kind: type[Any] | None = None) -> Self: ...
        def __set__(self, owner: object, value: ArrayOf[T] | npt.NDArray[Any] | Sequence[Any]) -> None: ...

    MYPY = False  # mypy takes it as True
    if MYPY:
        # mypy accepts numbers as arguments of a type only where the type is a variable without a type, or has a plugin
        Array: Any
    else:

        class Array(ArrayOf[Any]):
            """``Array[T, N]``: N values of type T."""

            def __class_getitem__(cls, parts: Any) -> Any: ...  # noqa: ANN401  (numbers are no types)
            def __init__(self, *items: Any) -> None: ...  # noqa: ANN401

else:

    class Array:
        """``Array[T, N]``: N values of type T."""

        def __class_getitem__(cls, parts: object) -> type[ArrayValue]:
            if not isinstance(parts, tuple) or len(parts) != 2:
                raise AnnotationError("Array needs an element type and a length", "write Array[float, 4]")
            return array_class(*parts)

        def __new__(cls, *_: object) -> Array:  # noqa: D102  (refuses)
            raise AnnotationError("Array needs an element type and a length", "write Array[float, 2](x, y)")


__all__ = ["Array"]
