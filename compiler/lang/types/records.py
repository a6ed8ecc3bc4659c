"""The records that struct classes carry: fields with their types and defaults.

``@sa.struct`` in ``decorators`` makes the records. Values read them through ``record_of``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from slangad.compiler.ir.types import Field, Struct

if TYPE_CHECKING:
    from slangad.compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class DefaultValue:
    """The default of a field: a value, or a function that makes one."""

    value: object = None
    factory: object = None

    def make(self) -> object:
        """Return the default; a factory is called each time."""
        return self.factory() if callable(self.factory) else self.value


@dataclass(frozen=True, slots=True)
class FieldRecord:
    """One field of a struct; ``default`` is None if the field has no default."""

    name: str
    annotation: object
    type: Type
    no_diff: bool
    default: DefaultValue | None


class StructRecord(ABC):
    """A struct class with its name and key.

    Attributes:
        cls: The class.
        name: Its name in the Slang, with the factory's arguments.
        key: Unique among the structs of a program.
    """

    def __init__(self, cls: type, name: str, key: str) -> None:
        self.cls = cls
        self.name = name
        self.key = key
        self._type: Struct | None = None

    @property
    @abstractmethod
    def fields(self) -> tuple[FieldRecord, ...]:
        """The fields in order.

        Raises:
            FieldError: if an annotation names no type.
        """

    @property
    def type(self) -> Struct:
        """The type in the IR."""
        if self._type is None:
            self._type = Struct(self.key, self.name, tuple(Field(f.name, f.type, f.no_diff) for f in self.fields))
            CLASSES[self._type] = self.cls
        return self._type


CLASSES: Final[WeakValueDictionary[Struct, type]] = WeakValueDictionary()
"""The class of a struct type."""


def record_of(cls: object) -> StructRecord | None:
    """Return the record of a struct class, None for anything else."""
    record = cls.__dict__.get("__slangad_struct__") if isinstance(cls, type) else None
    return record if isinstance(record, StructRecord) else None
