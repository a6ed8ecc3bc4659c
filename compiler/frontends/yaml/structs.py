"""Structs of a description: fields and their defaults become a type; methods are read by ``signatures``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering.entities import MISSING
from slangad.compiler.frontends.yaml.literals import typed_value
from slangad.compiler.frontends.yaml.names import good_name
from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode, entries_of
from slangad.compiler.frontends.yaml.type_words import UnusableType, read_type
from slangad.compiler.ir.types import Field, Struct, Type

if TYPE_CHECKING:
    from slangad.compiler.frontends.yaml.nodes import Node
    from slangad.compiler.frontends.yaml.world import StructEntry, World


def struct_type(world: World, entry: StructEntry) -> Type:
    """The type of a struct.

    Raises:
        UnusableType: when it was refused, or is asked for inside itself.
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


def _make(world: World, entry: StructEntry) -> Struct | None:
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


def _field(world: World, entry: StructEntry, key: ScalarNode, value: Node) -> Field | None:
    name = good_name(key, world.problems)
    text = value.get("type") if isinstance(value, MappingNode) else value
    words = read_type(world.places(text), world, world.problems) if isinstance(text, ScalarNode) else None
    if name is None or words is None or text is None:
        return None
    if words.memory is not None:
        world.problems.error("SA058", text.span, f"field '{name}' declares memory", help="write the type only")
        return None
    entry.defaults[name] = _default(world, entry, key, value, words.type)
    return Field(name, words.type, words.no_diff)


def _default(world: World, entry: StructEntry, key: ScalarNode, value: Node, type_: Type) -> object:
    node = value.get("default") if isinstance(value, MappingNode) else None
    if node is None:
        if any(default is not MISSING for default in entry.defaults.values()):
            world.problems.error(
                "SA061", key.span, f"field '{key.text}' has no default but follows one that has", help="put it first"
            )
        return MISSING
    default = typed_value(node, type_, world.problems)
    return MISSING if default is None else default
