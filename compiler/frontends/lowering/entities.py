"""The meanings of names in bodies. Front ends return them from look-ups; lowering doesn't know their source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slangad.compiler.frontends.reading.signatures import CallSignature
    from slangad.compiler.ir.bounds import Bounds
    from slangad.compiler.ir.types import Struct, Type
    from slangad.compiler.lang.intrinsics import IntrinsicRow


@dataclass(frozen=True, slots=True)
class FunctionEntity:
    """A described function."""

    signature: CallSignature


@dataclass(frozen=True, slots=True)
class GenericEntity:
    """A generic function.

    Attributes:
        name: Its name.
        instance: It returns the function for the types of positional and named arguments. It raises
            ``DescriptionError`` for types that do not fit.
        bounds: The numbers that parameters take, by name.
    """

    name: str
    instance: Callable[[Sequence[Type], Mapping[str, Type]], FunctionEntity | RefusedEntity]
    bounds: Mapping[str, Bounds]


@dataclass(frozen=True, slots=True)
class IntrinsicEntity:
    """A row of the intrinsics table."""

    row: IntrinsicRow


@dataclass(frozen=True, slots=True)
class TypeEntity:
    """A type: calling it constructs or converts."""

    type: Type


@dataclass(frozen=True, slots=True)
class ArrayEntity:
    """``Array`` before its subscript."""


@dataclass(frozen=True, slots=True)
class ValueEntity:
    """A Python value bound when the file was loaded; ``name`` is set for module constants worth a name in the Slang."""

    value: object
    name: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A bound value that knows its type; ``scalars`` are its numbers in memory order."""

    type: Type
    scalars: tuple[int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class NamespaceEntity:
    """A module: attributes are looked up by ``BodyScope.attribute``."""

    value: object
    name: str


@dataclass(frozen=True, slots=True)
class FormEntity:
    """A construct with special rules (``sa.no_diff``, ``range``, ``sa.bwd_diff``, ``len``), by name."""

    name: str


@dataclass(frozen=True, slots=True)
class RefusedEntity:
    """Something that exists and can't be used in a described function; ``reported`` if an error says that already."""

    message: str
    help: str = ""
    reported: bool = False
    code: str = "SA026"


Entity = (
    FunctionEntity
    | GenericEntity
    | IntrinsicEntity
    | TypeEntity
    | ArrayEntity
    | ValueEntity
    | NamespaceEntity
    | FormEntity
    | RefusedEntity
)


class BodyScope(Protocol):
    """Name look-up for one body. Answers stay the same while the body is lowered."""

    def lookup(self, name: str) -> Entity | None:
        """Return the meaning of a free name; None if it is unknown."""

    def names(self) -> Sequence[str]:
        """Return the names to suggest for a misspelt one."""

    def attribute(self, namespace: NamespaceEntity, name: str) -> Entity | None:
        """Return the meaning of ``module.name``."""

    def attribute_names(self, namespace: NamespaceEntity) -> Sequence[str]:
        """Return the names to suggest for a misspelt attribute."""

    def method(self, struct: Struct, name: str) -> FunctionEntity | RefusedEntity | None:
        """Return a method of a struct."""

    def defaults(self, struct: Struct) -> Mapping[str, object]:
        """Return the default values of a struct's fields."""

    def annotation(self, node: object) -> Type | None:
        """Return the type that an annotation inside a body names; None after a report."""
