"""Everything a YAML description defines, by name: what bodies and types look up while they are read.

Structs are made when they are first asked for, so that they may stand in any order; functions have their signatures
before any body is lowered.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slangad.compiler.frontends.lowering.context import Constants
from slangad.compiler.frontends.lowering.entities import (
    MISSING,
    Entity,
    FunctionEntity,
    NamespaceEntity,
    Refused,
    Signature,
    TypeEntity,
    ValueEntity,
)
from slangad.compiler.frontends.yaml import words
from slangad.compiler.frontends.yaml.body_types import body_type
from slangad.compiler.frontends.yaml.locations import TextPlaces, text_places
from slangad.compiler.frontends.yaml.structs import struct_type
from slangad.compiler.frontends.yaml.type_words import UnusableType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.frontends.reading.locations import Places
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.frontends.yaml.nodes import Document, MappingNode, ScalarNode
    from slangad.compiler.ir.nodes import Range
    from slangad.compiler.ir.types import Struct, Type


@dataclass(frozen=True, slots=True)
class Routine:
    """A function, method or kernel as it stands in the document.

    Attributes:
        key: Where its name stands.
        node: What is said of it.
        signature: How it is called.
        ranges: Where to draw samples.
    """

    key: ScalarNode
    node: MappingNode
    signature: Signature
    ranges: tuple[Range, ...] = ()


@dataclass(slots=True)
class StructEntry:
    """A struct: its type once that is ``done``, None when it was refused; ``open`` while its fields are read."""

    name: str
    key: ScalarNode
    node: MappingNode
    type: Type | None = None
    state: Literal["new", "open", "done"] = "new"
    defaults: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    """One description.

    Attributes:
        document: The file.
        problems: Where errors go.
        constants: Values by name.
        structs: Structs by name, in order.
        functions: Functions by name; None for one whose signature was refused.
        methods: Methods by the name of their struct and their own.
        kernels: Names of kernels and pipelines.
        used: What bodies refer to: constants and powers.
        bound: Constants that were used, name to text.
        in_slang: Keys of constants that raw bodies name.
    """

    document: Document
    problems: Problems
    constants: dict[str, object] = field(default_factory=dict)
    structs: dict[str, StructEntry] = field(default_factory=dict)
    functions: dict[str, Routine | None] = field(default_factory=dict)
    methods: dict[tuple[str, str], Routine | None] = field(default_factory=dict)
    kernels: dict[str, ScalarNode] = field(default_factory=dict)
    used: Constants = field(default_factory=Constants)
    bound: dict[str, str] = field(default_factory=dict)
    in_slang: set[str] = field(default_factory=set)

    @property
    def file(self) -> str:
        """The describing file."""
        return self.document.source.file

    def key(self, name: str) -> str:
        """The key of one of the description's own definitions."""
        return f"{self.file}:{name}"

    def places(self, node: ScalarNode) -> TextPlaces:
        """The places of a scalar's text."""
        return text_places(self.document.source, node)

    def named_type(self, name: str) -> Type | None:
        """The type of a name: the user's own first; None when it names none.

        Raises:
            UnusableType: when it names a struct that was refused or is not complete.
        """
        entry = self.structs.get(name)
        if entry is not None:
            return struct_type(self, entry)
        return None if self._is_own(name) else words.types().get(name)

    def type_names(self) -> Sequence[str]:
        """Names of types."""
        return [*self.structs, *words.types()]

    def length(self, name: str) -> int | None:
        """The value of an integer constant."""
        value = self.constants.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _is_own(self, name: str) -> bool:
        return name in self.constants or name in self.functions or name in self.kernels

    def constant(self, name: str) -> ValueEntity:
        """A constant as bodies see it; it counts as used."""
        value = self.constants[name]
        self.bound[name] = repr(value)
        return ValueEntity(value, name, self.key(name))


@dataclass(slots=True)
class YamlScope:
    """Names as one body sees them."""

    world: World
    places: Places

    def lookup(self, name: str) -> Entity | None:
        """What a free name means: the user's own definitions first, then words of the language."""
        world = self.world
        if name in world.constants:
            return world.constant(name)
        if name in world.structs:
            return self._struct(name)
        if name in world.functions:
            found = world.functions[name]
            return Refused(f"'{name}' was refused", reported=True) if found is None else FunctionEntity(found.signature)
        if name in world.kernels:
            return Refused(f"'{name}' is a kernel and can't be called here", "move the shared part into a function")
        return words.words().get(name) or words.refused_builtin(name)

    def _struct(self, name: str) -> Entity:
        try:
            type_ = self.world.named_type(name)
        except UnusableType:
            type_ = None
        return Refused(f"'{name}' was refused", reported=True) if type_ is None else TypeEntity(type_)

    def names(self) -> Sequence[str]:
        """Names worth suggesting."""
        world = self.world
        return [*world.constants, *world.structs, *world.functions, *words.words()]

    def attribute(self, namespace: NamespaceEntity, name: str) -> Entity | None:
        """``sa.name``, ``math.name``."""
        return words.attribute(namespace, name)

    def attribute_names(self, namespace: NamespaceEntity) -> Sequence[str]:
        """Names worth suggesting."""
        return words.attribute_names(namespace)

    def method(self, struct: Struct, name: str) -> FunctionEntity | Refused | None:
        """A method of a struct."""
        if (struct.name, name) not in self.world.methods:
            return None
        found = self.world.methods[struct.name, name]
        return Refused(f"'{name}' was refused", reported=True) if found is None else FunctionEntity(found.signature)

    def defaults(self, struct: Struct) -> Mapping[str, object]:
        """Defaults of a struct's fields."""
        entry = self.world.structs.get(struct.name)
        known = entry.defaults if entry is not None else {}
        return {f.name: known.get(f.name, MISSING) for f in struct.fields}

    def annotation(self, node: object) -> Type | None:
        """A type named inside a body."""
        return body_type(self, node) if isinstance(node, ast.expr) else None
