"""The objects that a description reaches: entities, and functions with signatures that wait to be lowered."""

from __future__ import annotations

import ast
import builtins
import contextlib
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.lowering import vocabulary
from slangad.compiler.frontends.lowering.constants import check_default
from slangad.compiler.frontends.lowering.context import Constants
from slangad.compiler.frontends.lowering.entities import (
    Entity,
    FunctionEntity,
    GenericEntity,
    NamespaceEntity,
    RefusedEntity,
    TypeEntity,
    ValueEntity,
)
from slangad.compiler.frontends.python.annotations import Annotations, report_fields
from slangad.compiler.frontends.python.externals import declare_external
from slangad.compiler.frontends.python.live import NameRead, current_in
from slangad.compiler.frontends.python.signatures import DescribedSource, declare
from slangad.compiler.frontends.reading.fence import factory_in_body
from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.frontends.reading.signatures import MISSING, CallSignature
from slangad.compiler.lang.decorators.external import ExternalFunction
from slangad.compiler.lang.decorators.functions import DescribedFunction, describe
from slangad.compiler.lang.decorators.generic import GenericFunction
from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject
from slangad.compiler.lang.decorators.resolve import closure_of
from slangad.compiler.lang.decorators.source import definition_of
from slangad.compiler.lang.decorators.struct import DescribedStruct, described_struct
from slangad.compiler.lang.errors import DescriptionError, FieldError
from slangad.compiler.lang.types.records import CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.types import Struct, Type
    from slangad.compiler.lang.types.records import FieldRecord


@dataclass(slots=True)
class PythonWorld:
    """The objects that one description reaches.

    Attributes:
        file: The describing file.
        problems: Receives errors.
        functions: Functions by key, in the order of their first use.
        externals: Slang functions by key.
        structs: Struct records by key.
        constants: Module constants that bodies use.
        bound: Constants and closures, name to text.
        reads: The names that bodies use, with their values.
    """

    file: str
    problems: Problems
    functions: dict[str, DescribedSource] = field(default_factory=dict)
    externals: dict[str, tuple[ExternalFunction, CallSignature]] = field(default_factory=dict)
    structs: dict[str, DescribedStruct] = field(default_factory=dict)
    constants: Constants = field(default_factory=Constants)
    bound: dict[str, str] = field(default_factory=dict)
    reads: list[NameRead] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    _keys: dict[int, str] = field(default_factory=dict)
    _refused: dict[int, RefusedEntity] = field(default_factory=dict)
    _kept: list[object] = field(default_factory=list)

    def entity(self, value: object, name: str, key: str) -> Entity:
        """Return the meaning of an object in a body; ``name`` and ``key`` are those of a module constant, or empty."""
        known = vocabulary.meaning_of(value)
        if known is not None:
            return known
        match value:
            case DescribedFunction():
                return self.function(value)
            case GenericFunction():
                return GenericEntity(value.name, lambda types, named: self._instance(value, types, named), value.bounds)
            case ExternalFunction():
                return self.external(value)
            case KernelObject() | PipelineObject():
                return RefusedEntity(
                    f"'{value.name}' is a kernel and can't be called here", "move the shared part into a function"
                )
            case ModuleType():
                return NamespaceEntity(value, value.__name__)
            case FunctionType():
                return vocabulary.refusal(value) or _factory(value, self.problems) or self.function(describe(value))
            case _:
                return self._struct_or_value(value, name, key)

    def _instance(
        self, value: GenericFunction, types: Sequence[Type], named: Mapping[str, Type]
    ) -> FunctionEntity | RefusedEntity:
        described = self.function(value.instance(types, named))
        assert isinstance(described, (FunctionEntity, RefusedEntity))  # noqa: S101  (functions are nothing else)
        return described

    def _struct_or_value(self, value: object, name: str, key: str) -> Entity:
        record = described_struct(value)
        if record is not None:
            return self.struct(record)
        return self._other(value, name, key)

    def _other(self, value: object, name: str, key: str) -> Entity:
        if isinstance(value, type):
            type_ = Annotations.type_of(value)
            if type_ is not None:
                return TypeEntity(type_)
        refused = vocabulary.refusal(value)
        if refused is not None:
            return refused
        if name:
            self.bound[name] = vocabulary.constant_text(value)
        return ValueEntity(value, name, key)

    def struct(self, record: DescribedStruct) -> Entity:
        """Return a struct class as a type."""
        try:
            type_ = record.type
        except FieldError:
            report_fields(record, self.problems)
            return RefusedEntity(f"'{record.name}' has a field that was refused", reported=True)
        if record.key not in self.structs:
            fitting = [self._fitting_default(record, f) for f in record.fields]
            if not all(fitting):
                return RefusedEntity(f"'{record.name}' has a default that was refused", reported=True)
            self.structs[record.key] = record
            self.sources.add(record.file)
            self._refuse_changes_of_self(record)
        return TypeEntity(type_)

    def _refuse_changes_of_self(self, record: DescribedStruct) -> None:
        """Reach the methods of a struct, because every method is lowered with it."""
        for method in record.methods.values():
            self.function(method)

    def _fitting_default(self, record: DescribedStruct, field: FieldRecord) -> bool:
        if field.default is None:
            return True
        span = self.struct_span(record)
        with contextlib.suppress(DescriptionError):
            definition = record.definition
            locations = SourceLocations(definition.path, definition.text)
            for stmt in definition.tree.body:
                if (
                    isinstance(stmt, ast.AnnAssign)
                    and ast.unparse(stmt.target) == field.name
                    and stmt.value is not None
                ):
                    span = locations.span(stmt.value)
        try:
            value = field.default.make()
        except Exception as error:  # whatever the user's factory raises
            self.problems.error("SA003", span, f"the default of '{field.name}' raised {type(error).__name__}: {error}")
            return False
        return check_default(self.problems, field.name, value, field.type, span)

    def record(self, struct: Struct) -> DescribedStruct | None:
        """Return the record of a struct type."""
        if struct.key not in self.structs:
            described = described_struct(CLASSES.get(struct))
            if described is not None:
                self.struct(described)
        return self.structs.get(struct.key)

    def method(self, struct: Struct, name: str) -> FunctionEntity | RefusedEntity | None:
        """Return a method of a struct."""
        record = self.record(struct)
        if record is None or name not in record.methods:
            return None
        entity = self.function(record.methods[name])
        return entity if isinstance(entity, (FunctionEntity, RefusedEntity)) else None

    def defaults(self, struct: Struct) -> Mapping[str, object]:
        """Return the defaults of a struct's fields."""
        record = self.record(struct)
        fields = record.fields if record is not None else ()
        return {f.name: f.default.make() if f.default is not None else MISSING for f in fields}

    def struct_span(self, record: DescribedStruct) -> Span:
        """Return the location of a struct's name."""
        try:
            definition = record.definition
        except DescriptionError:
            return Span(record.file, record.line, 1, record.line, 2)
        locations = SourceLocations(definition.path, definition.text)
        return locations.name_span(definition.tree)

    def report(self, error: DescriptionError, span: Span, code: str = "SA017") -> None:
        """Report a description error."""
        self.problems.error(code, span, error.message, help=error.help)

    def function(self, value: DescribedFunction[..., object]) -> Entity:
        """Return a described function with its signature; its body is lowered later."""
        identity = id(value)
        if identity in self._refused:
            return self._refused[identity]
        if identity in self._keys:
            return FunctionEntity(self.functions[self._keys[identity]].signature)
        self._kept.append(value)
        try:
            definition = definition_of(value.python)
        except DescriptionError as error:
            self._refused[identity] = RefusedEntity(error.message, error.help, code="SA038")
            return self._refused[identity]
        declared = declare(self.problems, value, definition, self._owner(value))
        if declared is None:
            self._refused[identity] = RefusedEntity(f"'{value.name}' was refused", reported=True)
            return self._refused[identity]
        self._keys[identity] = declared.signature.key
        self.functions[declared.signature.key] = declared
        self.waiting.append(declared.signature.key)
        self.sources.add(definition.path)
        return FunctionEntity(declared.signature)

    def _owner(self, value: DescribedFunction[..., object]) -> Struct | None:
        """Return the struct that a method belongs to, None for other functions."""
        record = described_struct(value.owner)
        if record is None:
            return None
        self.struct(record)
        return record.type

    def external(self, value: ExternalFunction) -> Entity:
        """Return a function in a Slang file."""
        for known, signature in self.externals.values():
            if known is value:
                return FunctionEntity(signature)
        declared = declare_external(self.problems, value)
        if declared is None:
            return RefusedEntity(f"'{value.name}' was refused", reported=True)
        self.externals[declared.key] = (value, declared)
        return FunctionEntity(declared)


def _factory(value: FunctionType, problems: Problems) -> RefusedEntity | None:
    """Return the reason why a body can't call a factory."""
    try:
        tree = definition_of(value).tree
    except DescriptionError:
        return None
    returns_any = value.__annotations__.get("return") in (Any, "Any")
    if not _hands_on_definition(tree) and not (returns_any and _returns_names_and_calls(tree)):
        return None
    return RefusedEntity(*factory_in_body(value.__name__, problems))


def _hands_on_definition(tree: ast.FunctionDef) -> bool:
    """Return True if a function defines another, or a class, and does more than to call that."""
    nodes = [n for stmt in tree.body for n in ast.walk(stmt)]
    names = {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    return any(isinstance(n, ast.Name) and n.id in names and id(n) not in called for n in nodes)


def _returns_names_and_calls(tree: ast.FunctionDef) -> bool:
    """Return True if what a function returns may be a function: arithmetic gives none."""
    values = [n.value for stmt in tree.body for n in ast.walk(stmt) if isinstance(n, ast.Return)]
    return all(isinstance(one, (ast.Name, ast.Call)) for one in values)


@dataclass(slots=True)
class PythonScope:
    """The names that one function sees: its closure, its module, Python's own."""

    world: PythonWorld
    function: FunctionType
    locations: SourceLocations
    annotations: Annotations

    def lookup(self, name: str) -> Entity | None:
        """Return the meaning of a free name."""
        closure = closure_of(self.function)
        if name in closure:
            value = closure[name]
            self.world.reads.append(NameRead.now(lambda: closure_of(self.function).get(name, MISSING)))
            named = isinstance(value, (int, float))
            entity = self.world.entity(value, "" if named else name, "")
            if named:
                self.world.bound[name] = vocabulary.constant_text(value)
            return entity
        module = self.function.__globals__
        self.world.reads.append(NameRead.now(current_in(module, name)))
        if name in module:
            return self.world.entity(module[name], name, f"{module.get('__name__', '')}:{name}")
        if hasattr(builtins, name):
            return self.world.entity(getattr(builtins, name), "", "")
        return None

    def names(self) -> Sequence[str]:
        """Return the names to suggest."""
        return [*closure_of(self.function), *self.function.__globals__, *vocabulary.builtin_names()]

    def attribute(self, namespace: NamespaceEntity, name: str) -> Entity | None:
        """Return the meaning of ``module.name``."""
        if not hasattr(namespace.value, name):
            return None
        value = getattr(namespace.value, name)
        self.world.reads.append(NameRead.now(current_in(vars(namespace.value), name)))
        public = namespace.name in ("math", "slangad")
        return self.world.entity(value, "" if public else name, "" if public else f"{namespace.name}:{name}")

    def attribute_names(self, namespace: NamespaceEntity) -> Sequence[str]:
        """Return the names to suggest."""
        names = getattr(namespace.value, "__all__", None) or dir(namespace.value)
        return [n for n in names if not n.startswith("_")]

    def method(self, struct: Struct, name: str) -> FunctionEntity | RefusedEntity | None:
        """Return a method of a struct."""
        return self.world.method(struct, name)

    def defaults(self, struct: Struct) -> Mapping[str, object]:
        """Return the defaults of a struct's fields."""
        return self.world.defaults(struct)

    def annotation(self, node: object) -> Type | None:
        """Return a type named inside a body."""
        return self.annotations.body_type(node) if isinstance(node, ast.expr) else None
