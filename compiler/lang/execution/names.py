"""The names of one function: its own, and the objects of outside names at its first run."""

from __future__ import annotations

import ast
import builtins
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Final

from slangad.compiler.lang.decorators.resolve import closure_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoValue:
    """The type of ``MISSING``, the object of names without a value."""


MISSING: Final = NoValue()


def own_names(tree: ast.FunctionDef) -> frozenset[str]:
    """Return the parameters and every name that the body binds."""
    arguments = tree.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    for node in _walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
    return frozenset(names)


def _walk(tree: ast.FunctionDef) -> Iterator[ast.AST]:
    for statement in tree.body:
        yield from ast.walk(statement)


class Outside:
    """The objects of names that a function does not bind: closure, module, builtins."""

    def __init__(self, function: FunctionType, names: frozenset[str]) -> None:
        self._function = function
        self._closure = closure_of(function)
        self._locals = names

    def find(self, node: ast.expr) -> object:
        """Return the object behind ``name`` or ``module.name``; ``MISSING`` for anything else."""
        if isinstance(node, ast.Name):
            return MISSING if node.id in self._locals else self._name(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.find(node.value)
            if isinstance(owner, (ModuleType, type)):
                return getattr(owner, node.attr, MISSING)
        return MISSING

    def _name(self, name: str) -> object:
        if name in self._closure:
            return self._closure[name]
        if name in self._function.__globals__:
            return self._function.__globals__[name]
        return getattr(builtins, name, MISSING)
