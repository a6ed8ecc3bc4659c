"""Annotations of functions as types or memories, with errors at the annotation."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.lang.decorators.resolve import resolve
from slangad.compiler.lang.decorators.struct import DescribedStruct
from slangad.compiler.lang.errors import AnnotationError, DescriptionError, FieldError, UndefinedNameError
from slangad.compiler.lang.types.annotations import Memory, ir_type, memory_annotation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.types import Type


def report_annotation(error: DescriptionError, node: ast.AST, locations: SourceLocations, problems: Problems) -> None:
    """Report the error of an annotation; an unknown name at the name."""
    if not isinstance(error, UndefinedNameError):
        problems.error("SA017", locations.span(node), error.message, help=error.help)
        return
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id == error.name:
            span = locations.span(inner)
            break
        if isinstance(inner, ast.Attribute) and inner.attr == error.name:
            span = locations.after(inner.value, len(inner.attr))
            break
    else:
        span = locations.span(node)
    problems.error("SA010", span, error.message, label="not defined", help=error.help)


def report_fields(struct: object, problems: Problems) -> None:
    """Report every field of a struct whose annotation names no type."""
    assert isinstance(struct, DescribedStruct)  # noqa: S101  (the only structs there are)
    for problem in struct.field_errors():
        owner = problem.struct
        assert isinstance(owner, DescribedStruct)  # noqa: S101  (as above)
        definition = owner.definition
        locations = SourceLocations(definition.path, definition.text)
        fields = (s for s in definition.tree.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name))
        nodes = {s.target.id: s.annotation for s in fields if isinstance(s.target, ast.Name)}
        report_annotation(problem.error, nodes.get(problem.parameter, definition.tree), locations, problems)


@dataclass(frozen=True, slots=True)
class Annotations:
    """The scope in which annotations of one function are evaluated."""

    locations: SourceLocations
    problems: Problems
    module: dict[str, object]
    names: Mapping[str, object]

    def evaluated(self, raw: object, node: ast.AST, parameter: str = "") -> object | None:
        """Return the object of an annotation; ``None`` after a report (``type(None)`` for the annotation ``None``)."""
        try:
            value = resolve(raw, self.module, self.names, parameter)
        except DescriptionError as error:
            self._report(error, node)
            return None
        return type(None) if value is None else value

    def memory(self, raw: object, node: ast.AST, parameter: str) -> tuple[Memory, Type] | None:
        """Return the memory and type of a parameter; None after a report."""
        value = self.evaluated(raw, node, parameter)
        if value is None:
            return None
        memory = memory_annotation(value)
        type_ = self.value_type(memory.value, node)
        return None if type_ is None else (memory, type_)

    def value_type(self, value: object, node: ast.AST) -> Type | None:
        """Return the type that an evaluated annotation names; None after a report."""
        try:
            return ir_type(value)
        except DescriptionError as error:
            self._report(error, node)
            return None

    def body_type(self, node: ast.expr) -> Type | None:
        """Return a type named by an expression in a body; None after a report."""
        value = self.evaluated(ast.unparse(node), node)
        if value is None:
            return None
        memory = memory_annotation(value)
        return self.value_type(memory.value if memory.memory == "value" else memory, node)

    def _report(self, error: DescriptionError, node: ast.AST) -> None:
        if isinstance(error, FieldError):
            report_fields(error.struct, self.problems)
        else:
            report_annotation(error, node, self.locations, self.problems)

    @staticmethod
    def type_of(value: object) -> Type | None:
        """Return the type that an object names, None if it names none."""
        try:
            return ir_type(value)
        except AnnotationError:
            return None
