"""A plugin of mypy: elements of ``Array[float, 4]``, ``Tensor[float3, 1]`` and ``Texture2D[float3]`` have types.

Activate it in ``pyproject.toml``: ``[tool.mypy]``, ``plugins = ["slangad.mypy_plugin"]``. mypy itself refuses numbers
as arguments of a type. Without the plugin these annotations are therefore ``Any``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.plugin import Plugin
from mypy.types import AnyType, TypeOfAny

if TYPE_CHECKING:
    from collections.abc import Callable

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


def _typed(context: AnalyzeTypeContext, generic: str) -> Type:
    arguments = context.type.args
    element = context.api.analyze_type(arguments[0]) if arguments else AnyType(TypeOfAny.special_form)
    return context.api.named_type(generic, [element])


def plugin(version: str) -> type[Plugin]:  # noqa: ARG001  (mypy passes its version)
    """Return the plugin; mypy calls this."""
    return ElementTypes
