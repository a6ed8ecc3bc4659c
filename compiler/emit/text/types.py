"""Spell IR types in Slang: ``float3``, ``float2x4``, ``float[4]``, ``Material``, ``Tuple<float, float3>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Mapping


class TypeSpeller:
    """Speller of types, with the emitted names of structs."""

    def __init__(self, struct_names: Mapping[str, str]) -> None:
        self._structs = struct_names

    def __call__(self, type_: types.Type) -> str:
        """Return the type by itself: of a parameter, of a result, as a generic argument."""
        match type_:
            case types.Scalar(name):
                return name
            case types.Vector(element, size):
                return f"{element.name}{size}"
            case types.Matrix(element, rows, columns):
                return f"{element.name}{rows}x{columns}"
            case types.Array(element, size):
                return f"{self(element)}[{size}]"
            case types.Struct(key=key):
                return self._structs[key]
            case types.Tuple(elements):
                return f"Tuple<{', '.join(self(e) for e in elements)}>"
            case types.DiffPair(primal):
                return f"DifferentialPair<{self(primal)}>"
            case types.Void():
                return "void"
            case types.Weak() | types.Tensor() | types.Texture():
                raise AssertionError(f"{type_} in a finished module")
            case _:
                assert_never(type_)

    def generic(self, type_: types.Type) -> str:
        """Return the type where a constructor call needs its name: ``Array<float, 4>`` for arrays."""
        if isinstance(type_, types.Array):
            return f"Array<{self.generic(type_.element)}, {type_.size}>"
        return self(type_)

    def declare(self, type_: types.Type, name: str) -> str:
        """Return a declaration: ``float3 v``, ``float a[4]``. Nested arrays keep their extents at the type."""
        if isinstance(type_, types.Array) and not isinstance(type_.element, types.Array):
            return f"{self(type_.element)} {name}[{type_.size}]"
        return f"{self(type_)} {name}"
