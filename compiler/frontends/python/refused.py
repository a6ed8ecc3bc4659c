"""Collect the errors of definitions that can't be described, so that all errors of a file come at once.

Two kinds of errors come before the bodies are read: syntax that is not supported, and what a definition raises when
Python executes it, such as an unknown name in an annotation.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends.reading.fence import fence_function, fence_struct
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.lang.decorators.source import first_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.frontends.reading.locations import SourceLocations

_DEFINING: Final = frozenset({"differentiable", "function", "kernel", "struct"})
_DECORATORS: Final = frozenset({"differentiable", "function", "kernel", "backward", "forward"})
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
"""A statement that defines a function or a class."""


@dataclass(frozen=True, slots=True)
class RefusedDefinitions:
    """The errors of definitions, and the lines and names of those in which later errors may follow from them."""

    diagnostics: tuple[Diagnostic, ...]
    lines: tuple[range, ...]
    names: frozenset[str]

    def without(self, tree: ast.Module, failed: Definition, errors: Iterable[Diagnostic]) -> RefusedDefinitions:
        """Return these and the errors that a definition raised, which leaves its name unknown.

        Later errors in the definitions that mention the name, or mention one that does, may follow from that.
        """
        names, found = {failed.name}, [failed]
        users = [node for node in tree.body if isinstance(node, Definition) and node is not failed]
        while using := [node for node in users if node not in found and _names(node) & names]:
            found += using
            names |= {node.name for node in using}
        lines = [lines_of(node) for node in found]
        return RefusedDefinitions((*self.diagnostics, *self._apart(errors)), (*self.lines, *lines), self.names | names)

    def before(self, statement: ast.stmt | None, errors: Sequence[Diagnostic]) -> CompileError:
        """Return the error for these and those of a statement that ends the file, unless they may follow from these."""
        follows = statement is None or _names(statement) & self.names
        return self.with_later([] if self.diagnostics and follows else errors)

    def with_later(self, later: Sequence[Diagnostic]) -> CompileError:
        """Return the error for these and later diagnostics; in the same definitions, those may follow from these."""
        merged = dict.fromkeys([*self.diagnostics, *self._apart(later)])
        return CompileError(sorted(merged, key=lambda one: (one.span.file, one.span.line, one.span.column)))

    def _apart(self, later: Iterable[Diagnostic]) -> list[Diagnostic]:
        files = {one.span.file for one in self.diagnostics}
        return [d for d in later if d.span.file not in files or not any(d.span.line in one for one in self.lines)]


def lines_of(node: ast.stmt) -> range:
    """Return the lines of a statement, decorators included."""
    first = first_line(node) if isinstance(node, Definition) else node.lineno
    return range(first, (node.end_lineno or node.lineno) + 1)


def _names(node: ast.AST) -> set[str]:
    """Return the names that a statement reads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def fence(tree: ast.Module, locations: SourceLocations) -> RefusedDefinitions:
    """Return the errors of unsupported syntax in every function that is visibly described.

    They are found before the file is executed, and reported with the errors that are found later.
    """
    problems = Problems()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(decorator_list=decorators) if _is_decorated(decorators, _DECORATORS):
                fence_function(node, locations, problems)
            case ast.AsyncFunctionDef(decorator_list=decorators) if _is_decorated(decorators, _DECORATORS):
                span = locations.keyword_span(node)
                problems.error("SA004", span, "an async function can't be described", help="write a plain def")
            case ast.ClassDef(decorator_list=decorators) if _is_decorated(decorators, frozenset({"struct"})):
                fence_struct(node, locations, problems)
            case _:
                continue
    _refuse_repetition(tree, locations, problems)
    diagnostics = tuple(problems.sorted())
    definitions = [node for node in ast.walk(tree) if isinstance(node, Definition)]
    found = [node for node in definitions if any(one.span.line in lines_of(node) for one in diagnostics)]
    return RefusedDefinitions(diagnostics, tuple(map(lines_of, found)), frozenset(node.name for node in found))


def _refuse_repetition(tree: ast.Module, locations: SourceLocations, problems: Problems) -> None:
    """Report a second definition of a name, which would silently replace the first."""
    first: dict[str, int] = {}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not _is_decorated(node.decorator_list, _DEFINING):
            continue
        line = first.setdefault(node.name, node.lineno)
        if line != node.lineno:
            problems.error(
                "SA006",
                locations.name_span(node),
                f"'{node.name}' is defined twice",
                label="the second",
                help=f"rename one; the other one is in line {line}",
            )


def _is_decorated(decorators: list[ast.expr], names: frozenset[str]) -> bool:
    targets = [d.func if isinstance(d, ast.Call) else d for d in decorators]
    return any(
        (isinstance(t, ast.Attribute) and t.attr in names) or (isinstance(t, ast.Name) and t.id in names)
        for t in targets
    )
