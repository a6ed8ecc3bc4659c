"""The definitions of a YAML description by name, for look-ups of bodies and types.

A struct is made at its first use, so that structs may have any order. Functions get their signatures
before any body is lowered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slangad.compiler.frontends.lowering.context import Constants
from slangad.compiler.frontends.lowering.entities import ValueEntity
from slangad.compiler.frontends.python.world import PythonWorld
from slangad.compiler.frontends.reading.signatures import MISSING, CallSignature
from slangad.compiler.frontends.yaml import words
from slangad.compiler.frontends.yaml.literals import typed_value
from slangad.compiler.frontends.yaml.locations import TextLocations, text_locations
from slangad.compiler.frontends.yaml.names import good_name
from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode, entries_of
from slangad.compiler.frontends.yaml.type_words import UnusableType, read_type
from slangad.compiler.ir.types import Field, Struct, Type
from slangad.compiler.lang.decorators.struct import described_struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.frontends.yaml.nodes import Document, Node
    from slangad.compiler.ir.nodes import Range


@dataclass(frozen=True, slots=True)
class Routine:
    """A function, method or kernel of the document.

    Attributes:
        key: The node of its name.
        node: The node of its definition.
        signature: Its signature.
        ranges: The ranges of samples.
    """

    key: ScalarNode
    node: MappingNode
    signature: CallSignature
    ranges: tuple[Range, ...] = ()


@dataclass(slots=True)
class StructEntry:
    """A struct. Its type is None before ``done`` and if it was refused; its state is ``open`` while fields are read."""

    name: str
    key: ScalarNode
    node: MappingNode
    type: Type | None = None
    state: Literal["new", "open", "done"] = "new"
    defaults: dict[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class YamlWorld:
    """One description.

    Attributes:
        document: The file.
        problems: Receives errors.
        constants: Values by name.
        structs: Structs by name, in order.
        layers: Struct classes and functions of ``sa.nn`` by name; None for one that was refused.
        functions: Functions by name; None for one whose signature was refused.
        methods: Methods by the name of their struct and their own.
        kernels: Names of kernels and pipelines.
        used: Constants and powers that bodies use.
        bound: Constants that were used, name to text.
        in_slang: Keys of constants that raw bodies name.
        library: The parts of ``sa.nn`` that bodies reach. They are described in Python.
    """

    document: Document
    problems: Problems
    constants: dict[str, object] = field(default_factory=dict)
    structs: dict[str, StructEntry] = field(default_factory=dict)
    layers: dict[str, object | None] = field(default_factory=dict)
    functions: dict[str, Routine | None] = field(default_factory=dict)
    methods: dict[tuple[str, str], Routine | None] = field(default_factory=dict)
    kernels: dict[str, ScalarNode] = field(default_factory=dict)
    used: Constants = field(default_factory=Constants)
    bound: dict[str, str] = field(default_factory=dict)
    in_slang: set[str] = field(default_factory=set)
    library: PythonWorld = field(init=False)

    def __post_init__(self) -> None:
        self.library = PythonWorld(self.file, self.problems, constants=self.used)

    @property
    def file(self) -> str:
        """The describing file."""
        return self.document.source.file

    def key(self, name: str) -> str:
        """Return the key of one of the description's own definitions."""
        return f"{self.file}:{name}"

    def locations(self, node: ScalarNode) -> TextLocations:
        """Return the locations of a scalar's text."""
        return text_locations(self.document.source, node)

    def named_type(self, name: str) -> Type | None:
        """Return the type of a name, the user's definitions first; None if it names none.

        Raises:
            UnusableType: if it names a struct that was refused or is not complete.
        """
        entry = self.structs.get(name)
        if entry is not None:
            return struct_type(self, entry)
        if name in self.layers:
            return self._layer_type(name)
        return None if self._is_own(name) else words.types().get(name)

    def type_names(self) -> Sequence[str]:
        """Return the names of types."""
        layers = [name for name, layer in self.layers.items() if described_struct(layer) is not None]
        return [*self.structs, *layers, *words.types()]

    def length(self, name: str) -> int | None:
        """Return the value of an integer constant."""
        value = self.constants.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _layer_type(self, name: str) -> Type | None:
        layer = self.layers[name]
        if layer is None:
            raise UnusableType("")
        record = described_struct(layer)  # its methods are reached when a body uses it, as in Python
        return None if record is None else record.type

    def _is_own(self, name: str) -> bool:
        return name in self.constants or name in self.functions or name in self.kernels

    def constant(self, name: str) -> ValueEntity:
        """Return a constant for a body and record its use."""
        value = self.constants[name]
        self.bound[name] = repr(value)
        return ValueEntity(value, name, self.key(name))


def struct_type(world: YamlWorld, entry: StructEntry) -> Type:
    """Return the type of a struct.

    Raises:
        UnusableType: if it was refused, or contains itself.
    """
    if entry.state == "open":
        raise UnusableType(f"'{entry.name}' contains itself")
    if entry.state == "new":
        entry.state = "open"
        entry.type = _make(world, entry)
        entry.state = "done"
    if entry.type is None:
        raise UnusableType("")
    return entry.type


def _make(world: YamlWorld, entry: StructEntry) -> Struct | None:
    before = len(world.problems)
    fields: list[Field] = []
    for key, value in entries_of(entry.node.get("fields")):
        made = _field(world, entry, key, value)
        if made is not None and any(f.name == made.name for f in fields):
            world.problems.error("SA057", key.span, f"there are two fields '{made.name}'")
        elif made is not None:
            fields.append(made)
    if len(world.problems) != before:
        return None
    return Struct(world.key(entry.name), entry.name, tuple(fields))


def _field(world: YamlWorld, entry: StructEntry, key: ScalarNode, value: Node) -> Field | None:
    name = good_name(key, world.problems)
    text = value.get("type") if isinstance(value, MappingNode) else value
    words = read_type(world.locations(text), world, world.problems) if isinstance(text, ScalarNode) else None
    if name is None or words is None or text is None:
        return None
    if words.memory is not None:
        world.problems.error("SA058", text.span, f"field '{name}' declares memory", help="write the type only")
        return None
    entry.defaults[name] = _default(world, entry, key, value, words.type)
    return Field(name, words.type, words.no_diff)


def _default(world: YamlWorld, entry: StructEntry, key: ScalarNode, value: Node, type_: Type) -> object:
    node = value.get("default") if isinstance(value, MappingNode) else None
    if node is None:
        if any(default is not MISSING for default in entry.defaults.values()):
            world.problems.error(
                "SA061", key.span, f"field '{key.text}' has no default but follows one that has", help="put it first"
            )
        return MISSING
    default = typed_value(node, type_, world.problems)
    return MISSING if default is None else default
