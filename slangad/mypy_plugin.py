"""A plugin of mypy: elements of ``Array[float, 4]``, ``Tensor[float3, 1]`` and ``Texture2D[float3]`` have types.

Activate it in ``pyproject.toml``: ``[tool.mypy]``, ``plugins = ["slangad.mypy_plugin"]``. mypy itself refuses numbers
as arguments of a type. Without the plugin these annotations are therefore ``Any``. mypy also takes a string in an
annotation for the name of a type: the plugin makes values of the options in ``Texture2D[float3, "repeat"]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    AssignmentStmt,
    FuncDef,
    Import,
    ImportFrom,
    IndexExpr,
    IntExpr,
    Statement,
    StrExpr,
    TupleExpr,
)
from mypy.plugin import Plugin
from mypy.types import AnyType, CallableType, RawExpressionType, TypeOfAny, UnboundType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.nodes import Expression, MypyFile
    from mypy.plugin import AnalyzeTypeContext
    from mypy.types import Type

_TYPES: Final = "slangad.compiler.lang.types"
_CLASSES: Final = {
    f"{_TYPES}.arrays.Array": f"{_TYPES}.arrays.ArrayOf",
    f"{_TYPES}.annotations.Tensor": f"{_TYPES}.annotations.TensorOf",
    f"{_TYPES}.annotations.OutTensor": f"{_TYPES}.annotations.OutTensorOf",
    f"{_TYPES}.annotations.InOutTensor": f"{_TYPES}.annotations.InOutTensorOf",
    f"{_TYPES}.annotations.Texture2D": f"{_TYPES}.annotations.Texture2DOf",
}
"""By the name that users write, the class that is generic in the type of its elements."""


class ElementTypes(Plugin):
    """Reads the first argument of such annotations. slangad itself checks the others."""

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        """Return what analyzes an annotation, None for other names."""
        generic = _CLASSES.get(fullname)
        return None if generic is None else lambda context: _typed(context, generic)

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """Replace the words in the annotations of textures. mypy calls this when it has parsed a file.

        A later hook would be too late: mypy looks up the names in an annotation before it analyzes it.
        """
        if any(_imports_slangad(node) for node in file.imports):
            for node in _statements(file):
                match node:
                    case FuncDef(unanalyzed_type=annotation):
                        _replace_in_type(annotation)
                    case AssignmentStmt(unanalyzed_type=annotation, rvalue=value):
                        _replace_in_type(annotation)
                        _replace_in_alias(value)
                    case _:
                        pass
        return []


def _typed(context: AnalyzeTypeContext, generic: str) -> Type:
    arguments = context.type.args
    element = context.api.analyze_type(arguments[0]) if arguments else AnyType(TypeOfAny.special_form)
    return context.api.named_type(generic, [element])


def _imports_slangad(node: object) -> bool:
    match node:
        case Import(ids=ids):
            return any(name.partition(".")[0] == "slangad" for name, _ in ids)
        case ImportFrom(id=name):
            return name.partition(".")[0] == "slangad"
        case _:
            return False


def _statements(node: Statement | MypyFile) -> Iterator[Statement | MypyFile]:
    """Yield a statement and all that are in it. mypy's own visitors are compiled and take no subclasses."""
    yield node
    for name in ("defs", "func", "items", "impl", "body", "else_body", "handlers", "finally_body", "bodies"):
        inside = getattr(node, name, None)
        for inner in inside if isinstance(inside, list) else [inside]:
            if isinstance(inner, Statement):
                yield from _statements(inner)


def _replace_in_alias(value: Expression | None) -> None:
    """Replace the words in a type alias, ``Tiled = Texture2D[float, "repeat"]``."""
    match value:
        case IndexExpr(index=TupleExpr() as parts):
            if getattr(value.base, "name", "") == "Texture2D":
                parts.items[1:] = map(_number_for_word, parts.items[1:])
            for part in parts.items:
                _replace_in_alias(part)
        case IndexExpr(index=index):
            _replace_in_alias(index)
        case _:
            pass


def _number_for_word(option: Expression) -> Expression:
    """Return a number in place of a string; mypy takes numbers in a type for values, strings for names."""
    return IntExpr(0) if isinstance(option, StrExpr) else option


def _replace_in_type(annotation: Type | None) -> None:
    """Replace the words in an annotation that mypy has not analyzed."""
    match annotation:
        case CallableType(arg_types=arguments, ret_type=result):
            for argument in (*arguments, result):
                _replace_in_type(argument)
        case UnboundType(args=parts):
            if annotation.name.rpartition(".")[2] == "Texture2D":
                annotation.args = (*parts[:1], *map(_value_for_word, parts[1:]))
            for part in annotation.args:
                _replace_in_type(part)
        case _:
            pass


def _value_for_word(option: Type) -> Type:
    if not isinstance(option, UnboundType) or option.original_str_expr is None:
        return option
    return RawExpressionType(option.original_str_expr, "builtins.str", option.line, option.column)


def plugin(version: str) -> type[Plugin]:  # noqa: ARG001  (mypy passes its version)
    """Return the plugin; mypy calls this."""
    return ElementTypes
