"""Vector types: ``float3`` names a type in annotations, and a call makes a value.

A value holds its components in ``data``: a numpy array, or traced data while a derivative is taken. numpy is loaded
when the first value is made, not with the classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from slangad.compiler.ir import types
from slangad.compiler.lang.types.arithmetic import Arithmetic
from slangad.compiler.lang.types.swizzles import V2, V3, V4, Swizzles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from slangad.compiler.lang.types.scalars import double, half, uint
    from slangad.compiler.lang.types.tracing import Data

# ruff: noqa: N801  (lower-case names are the language's)

S = TypeVar("S")
M = TypeVar("M")

VECTOR_CLASSES: Final[dict[types.Vector, type[AnyVector]]] = {}


class VectorValue(Arithmetic[S, M], Swizzles[V2, V3, V4], Generic[S, M, V2, V3, V4]):
    """Two to four numbers or bools. Components by name (``v.x``, ``v.zyx``, ``v.rgb``) or index, read and written."""

    __slots__ = ("data",)
    slangad_type: ClassVar[types.Vector]
    data: Data

    if TYPE_CHECKING:
        x: S
        y: S
        r: S
        g: S

        def __getattr__(self, name: str) -> Any: ...  # noqa: ANN401  (a name that no vector of this size has)

        # fields of structs take arrays and sequences too: type checkers know such conversions of descriptors alone
        def __get__(self, owner: object, kind: type[Any] | None = None) -> Self: ...
        def __set__(
            self, owner: object, value: VectorValue[S, M, V2, V3, V4] | npt.NDArray[Any] | Sequence[S]
        ) -> None: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        VECTOR_CLASSES[cls.slangad_type] = cls

    def __init__(self, *parts: object) -> None:
        from slangad.compiler.lang.types.construct import vector_data

        object.__setattr__(self, "data", vector_data(type(self).slangad_type, parts))

    @classmethod
    def of(cls, data: Data) -> Self:
        """Return a value that owns these components."""
        self = cls.__new__(cls)
        object.__setattr__(self, "data", data)
        return self

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            from slangad.compiler.lang.types.parts import swizzle

            return swizzle(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        from slangad.compiler.lang.types.parts import set_swizzle

        set_swizzle(self, name, value)

    def __len__(self) -> int:
        return self.slangad_type.size

    def __iter__(self) -> Iterator[S]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> S:
        from slangad.compiler.lang.types.parts import component

        return component(self, index)  # type: ignore[return-value]  # the component type is this class' parameter

    def __setitem__(self, index: int, value: S) -> None:
        from slangad.compiler.lang.types.parts import set_component

        set_component(self, index, value)

    def __array__(self, dtype: npt.DTypeLike | None = None, *, copy: bool | None = None) -> npt.NDArray[np.generic]:
        from slangad.compiler.lang.types.tracing import bottom

        return bottom(self.data).astype(dtype or bottom(self.data).dtype, copy=bool(copy))

    def __repr__(self) -> str:
        from slangad.compiler.lang.types.tracing import bottom

        return f"{type(self).__name__}({', '.join(map(str, bottom(self.data)))})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of, (self.data,)

    def __copy__(self) -> Self:
        from slangad.compiler.lang.types.tracing import copied

        return type(self).of(copied(self.data))


AnyVector = VectorValue[Any, Any, Any, Any, Any]


def _type(element: types.Scalar, size: int) -> types.Vector:
    return types.Vector(element, size)


class bool2(VectorValue[bool, "bool2", "bool2", "bool3", "bool4"]):
    """Two bools."""

    slangad_type = _type(types.BOOL, 2)


class bool3(VectorValue[bool, "bool3", "bool2", "bool3", "bool4"]):
    """Three bools."""

    slangad_type = _type(types.BOOL, 3)
    z: bool


class bool4(VectorValue[bool, "bool4", "bool2", "bool3", "bool4"]):
    """Four bools."""

    slangad_type = _type(types.BOOL, 4)
    z: bool
    w: bool


class int2(VectorValue[int, bool2, "int2", "int3", "int4"]):
    """Two ints."""

    slangad_type = _type(types.INT, 2)


class int3(VectorValue[int, bool3, "int2", "int3", "int4"]):
    """Three ints."""

    slangad_type = _type(types.INT, 3)
    z: int


class int4(VectorValue[int, bool4, "int2", "int3", "int4"]):
    """Four ints."""

    slangad_type = _type(types.INT, 4)
    z: int
    w: int


class uint2(VectorValue["uint", bool2, "uint2", "uint3", "uint4"]):
    """Two uints."""

    slangad_type = _type(types.UINT, 2)


class uint3(VectorValue["uint", bool3, "uint2", "uint3", "uint4"]):
    """Three uints."""

    slangad_type = _type(types.UINT, 3)
    z: uint


class uint4(VectorValue["uint", bool4, "uint2", "uint3", "uint4"]):
    """Four uints."""

    slangad_type = _type(types.UINT, 4)
    z: uint
    w: uint


class half2(VectorValue["half", bool2, "half2", "half3", "half4"]):
    """Two 16-bit floats."""

    slangad_type = _type(types.HALF, 2)


class half3(VectorValue["half", bool3, "half2", "half3", "half4"]):
    """Three 16-bit floats."""

    slangad_type = _type(types.HALF, 3)
    z: half
    b: half


class half4(VectorValue["half", bool4, "half2", "half3", "half4"]):
    """Four 16-bit floats."""

    slangad_type = _type(types.HALF, 4)
    z: half
    w: half
    b: half
    a: half


class float2(VectorValue[float, bool2, "float2", "float3", "float4"]):
    """Two floats."""

    slangad_type = _type(types.FLOAT, 2)


class float3(VectorValue[float, bool3, "float2", "float3", "float4"]):
    """Three floats."""

    slangad_type = _type(types.FLOAT, 3)
    z: float
    b: float


class float4(VectorValue[float, bool4, "float2", "float3", "float4"]):
    """Four floats."""

    slangad_type = _type(types.FLOAT, 4)
    z: float
    w: float
    b: float
    a: float


class double2(VectorValue["double", bool2, "double2", "double3", "double4"]):
    """Two 64-bit floats."""

    slangad_type = _type(types.DOUBLE, 2)


class double3(VectorValue["double", bool3, "double2", "double3", "double4"]):
    """Three 64-bit floats."""

    slangad_type = _type(types.DOUBLE, 3)
    z: double
    b: double


class double4(VectorValue["double", bool4, "double2", "double3", "double4"]):
    """Four 64-bit floats."""

    slangad_type = _type(types.DOUBLE, 4)
    z: double
    w: double
    b: double
    a: double


__all__ = [
    "bool2",
    "bool3",
    "bool4",
    "double2",
    "double3",
    "double4",
    "float2",
    "float3",
    "float4",
    "half2",
    "half3",
    "half4",
    "int2",
    "int3",
    "int4",
    "uint2",
    "uint3",
    "uint4",
]
