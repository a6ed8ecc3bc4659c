"""Names and types in bodies: the description's own definitions first, then words of the language."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering.entities import (
    ArrayEntity,
    Entity,
    FunctionEntity,
    NamespaceEntity,
    RefusedEntity,
    TypeEntity,
    ValueEntity,
)
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.frontends.reading.signatures import MISSING
from slangad.compiler.frontends.yaml import words
from slangad.compiler.frontends.yaml.networks import FUNCTIONS, function_of
from slangad.compiler.frontends.yaml.type_words import MAX_ENTRIES, UnusableType, entries_of_type
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.frontends.reading.locations import SourceLocations
    from slangad.compiler.frontends.yaml.world import YamlWorld


@dataclass(slots=True)
class YamlScope:
    """The names that one body sees."""

    world: YamlWorld
    locations: SourceLocations

    def lookup(self, name: str) -> Entity | None:
        """Return the meaning of a free name: the user's definitions first, then words of the language."""
        world = self.world
        if name in world.constants:
            return world.constant(name)
        if name in world.structs:
            return self._struct(name)
        if name in world.layers:
            layer = world.layers[name]
            return _reported(name) if layer is None else world.library.entity(layer, "", "")
        if name in world.functions:
            function = world.functions[name]
            return _reported(name) if function is None else FunctionEntity(function.signature)
        if name in world.kernels:
            return RefusedEntity(
                f"'{name}' is a kernel and can't be called here", "move the shared part into a function"
            )
        return words.words().get(name) or words.refused_builtin(name)

    def _struct(self, name: str) -> Entity:
        try:
            type_ = self.world.named_type(name)
        except UnusableType:
            type_ = None
        return _reported(name) if type_ is None else TypeEntity(type_)

    def names(self) -> Sequence[str]:
        """Return the names to suggest."""
        world = self.world
        return [*world.constants, *world.structs, *world.layers, *world.functions, *words.words()]

    def attribute(self, namespace: NamespaceEntity, name: str) -> Entity | None:
        """Return the meaning of ``sa.name`` or ``math.name``."""
        if namespace is words.NETWORKS:
            return function_of(self.world.library, name)
        return words.attribute(namespace, name)

    def attribute_names(self, namespace: NamespaceEntity) -> Sequence[str]:
        """Return the names to suggest."""
        return [*FUNCTIONS] if namespace is words.NETWORKS else words.attribute_names(namespace)

    def method(self, struct: types.Struct, name: str) -> FunctionEntity | RefusedEntity | None:
        """Return a method of a struct."""
        if self.world.library.record(struct) is not None:
            return self.world.library.method(struct, name)
        if (struct.name, name) not in self.world.methods:
            return None
        routine = self.world.methods[struct.name, name]
        return _reported(name) if routine is None else FunctionEntity(routine.signature)

    def defaults(self, struct: types.Struct) -> Mapping[str, object]:
        """Return the defaults of a struct's fields."""
        if self.world.library.record(struct) is not None:
            return self.world.library.defaults(struct)
        entry = self.world.structs.get(struct.name)
        known = entry.defaults if entry is not None else {}
        return {f.name: known.get(f.name, MISSING) for f in struct.fields}

    def annotation(self, node: object) -> types.Type | None:
        """Return a type named inside a body."""
        return body_type(self, node) if isinstance(node, ast.expr) else None


def _reported(name: str) -> RefusedEntity:
    return RefusedEntity(f"'{name}' was refused", reported=True)


def body_type(scope: YamlScope, node: ast.expr) -> types.Type | None:
    """Return the type that an expression names; None after a report."""
    entity = _entity(scope, node.value if isinstance(node, ast.Subscript) else node)
    if isinstance(entity, RefusedEntity) and entity.reported:
        return None
    if isinstance(entity, ArrayEntity) and isinstance(node, ast.Subscript):
        return _array(scope, node)
    if isinstance(entity, TypeEntity) and not isinstance(node, ast.Subscript):
        return entity.type
    span = scope.locations.span(node)
    if entity is None and isinstance(node, ast.Name):
        near = did_you_mean(node.id[:64], scope.world.type_names()) or "define it under structs"
        scope.world.problems.error("SA010", span, f"unknown name '{node.id}'", label="not defined", help=near)
    else:
        scope.world.problems.error("SA017", span, "this is not a type", help="for example float3 or Array[float, 4]")
    return None


def _entity(scope: YamlScope, node: ast.expr) -> Entity | None:
    match node:
        case ast.Name(id=name):
            return scope.lookup(name)
        case ast.Attribute(value=value, attr=name):
            owner = _entity(scope, value)
            return scope.attribute(owner, name) if isinstance(owner, NamespaceEntity) else None
        case _:
            return None


def _array(scope: YamlScope, node: ast.Subscript) -> types.Type | None:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if len(parts) != 2:
        scope.world.problems.error(
            "SA017", scope.locations.span(node), "Array needs a type and a length", help="Array[float, 4]"
        )
        return None
    element = body_type(scope, parts[0])
    size = _length(scope, parts[1])
    if element is None or size is None:
        return None
    stored = isinstance(element, (types.Scalar, types.Vector, types.Matrix, types.Array, types.Struct))
    if not stored or size < 1 or size * entries_of_type(element) > MAX_ENTRIES:
        scope.world.problems.error(
            "SA017",
            scope.locations.span(node),
            "there can't be such an array",
            help=f"1 to {MAX_ENTRIES} numbers in all",
        )
        return None
    return types.Array(element, size)


def _length(scope: YamlScope, node: ast.expr) -> int | None:
    value: object = node.value if isinstance(node, ast.Constant) else None
    if isinstance(node, ast.Name):
        entity = scope.lookup(node.id)
        value = entity.value if isinstance(entity, ValueEntity) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    scope.world.problems.error(
        "SA017",
        scope.locations.span(node),
        "the length of an Array is an integer",
        help="a number, or a constant that is one",
    )
    return None
