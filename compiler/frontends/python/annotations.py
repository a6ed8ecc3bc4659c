"""Annotations of functions: evaluated where they stand, read as types or as places in memory, errors at the annotation."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from slangad.compiler.frontends.places import Places
from slangad.compiler.frontends.problems import Problems
from slangad.compiler.ir.types import Type
from slangad.compiler.lang.annotations import Memory, ir_type, memory_annotation
from slangad.compiler.lang.errors import AnnotationError, DescriptionError
from slangad.compiler.lang.resolve import resolve


@dataclass(frozen=True, slots=True)
class Annotations:
    """The scope annotations of one function are evaluated in."""

    places: Places
    problems: Problems
    module: dict[str, object]
    names: Mapping[str, object]

    def evaluated(self, raw: object, node: ast.AST, parameter: str = "") -> object | None:
        """The object an annotation names; ``None`` after a report (``type(None)`` for the annotation ``None``)."""
        try:
            value = resolve(raw, self.module, self.names, parameter)
        except DescriptionError as error:
            self._report(error, node)
            return None
        return type(None) if value is None else value

    def memory(self, raw: object, node: ast.AST, parameter: str) -> tuple[Memory, Type] | None:
        """Where a parameter lives and the type of what lives there; None after a report."""
        value = self.evaluated(raw, node, parameter)
        if value is None:
            return None
        memory = memory_annotation(value)
        type_ = self.value_type(memory.value, node)
        return None if type_ is None else (memory, type_)

    def value_type(self, value: object, node: ast.AST) -> Type | None:
        """The type an evaluated annotation names; None after a report."""
        try:
            return ir_type(value)
        except DescriptionError as error:
            self._report(error, node)
            return None

    def body_type(self, node: ast.expr) -> Type | None:
        """A type named by an expression in a body; None after a report."""
        try:
            code = compile(ast.Expression(node), self.places.file, "eval")
            value = eval(code, self.module, self.names)  # type: ignore[arg-type]  # noqa: S307  (the user's own annotation; eval takes any mapping as locals)
        except NameError as error:
            self.problems.error("SA010", self.places.span(node), f"unknown name '{error.name}'", label="not defined")
            return None
        except DescriptionError as error:
            self._report(error, node)
            return None
        except Exception as error:  # whatever the user's annotation raises
            self.problems.error("SA017", self.places.span(node), f"this annotation can't be evaluated: {error}")
            return None
        return self.value_type(memory_annotation(value).value, node)

    def _report(self, error: DescriptionError, node: ast.AST) -> None:
        self.problems.error("SA017", self.places.span(node), error.message, help=error.help)

    @staticmethod
    def type_of(value: object) -> Type | None:
        """The type an object names, None when it names none."""
        try:
            return ir_type(value)
        except AnnotationError:
            return None
