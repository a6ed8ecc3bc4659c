"""Matrix types as users write them: ``float3x3``. Rows come first: ``m[i]`` is a row, ``m[i, j]`` an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar, overload

from slangad.compiler.ir.types import DOUBLE, FLOAT, HALF, Matrix
from slangad.compiler.lang.types.arithmetic import Arithmetic
from slangad.compiler.lang.types.vectors import (
    double2,
    double3,
    double4,
    float2,
    float3,
    float4,
    half2,
    half3,
    half4,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from slangad.compiler.lang.types.scalars import double, half  # noqa: F401  (named in quotes below)
    from slangad.compiler.lang.types.tracing import Data


# ruff: noqa: N801, D101  (lower-case names are the language's; the names say rows and columns)

S = TypeVar("S")
R = TypeVar("R")

MATRIX_CLASSES: Final[dict[Matrix, type[MatrixValue[Any, Any]]]] = {}


class MatrixValue(Arithmetic[S, bool], Generic[S, R]):
    """Two to four rows of two to four floating-point entries. ``*`` is by entry, ``@`` multiplies."""

    __slots__ = ("data",)
    slangad_type: ClassVar[Matrix]
    data: Data

    if TYPE_CHECKING:
        # as of vectors: fields of structs take arrays and sequences too
        def __get__(self, owner: object, kind: type[Any] | None = None) -> Self: ...
        def __set__(
            self, owner: object, value: MatrixValue[S, R] | npt.NDArray[Any] | Sequence[R | Sequence[S]]
        ) -> None: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        MATRIX_CLASSES[cls.slangad_type] = cls

    def __init__(self, *parts: object) -> None:
        from slangad.compiler.lang.types.construct import matrix_data

        self.data = matrix_data(type(self).slangad_type, parts)

    @classmethod
    def of(cls, data: Data) -> Self:
        """Return a value that owns these entries."""
        self = cls.__new__(cls)
        self.data = data
        return self

    def __len__(self) -> int:
        return self.slangad_type.rows

    def __iter__(self) -> Iterator[R]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> R: ...

    @overload
    def __getitem__(self, index: tuple[int, int]) -> S: ...

    def __getitem__(self, index: int | tuple[int, int]) -> R | S:
        from slangad.compiler.lang.types.parts import entry

        return entry(self, index)  # type: ignore[return-value]  # a row or an entry, of this class' parameters

    def __setitem__(self, index: int | tuple[int, int], value: R | S) -> None:
        from slangad.compiler.lang.types.parts import set_entry

        set_entry(self, index, value)

    def __matmul__(self, other: Any) -> Any:  # noqa: ANN401  (its type follows from both shapes)
        from slangad.compiler.lang.types.operators import call_intrinsic

        return call_intrinsic("mul", (self, other))

    def __rmatmul__(self, other: Any) -> Any:  # noqa: ANN401  (as above)
        from slangad.compiler.lang.types.operators import call_intrinsic

        return call_intrinsic("mul", (other, self))

    def __array__(self, dtype: npt.DTypeLike | None = None, *, copy: bool | None = None) -> npt.NDArray[np.generic]:
        from slangad.compiler.lang.types.tracing import bottom

        return bottom(self.data).astype(dtype or bottom(self.data).dtype, copy=bool(copy))

    def __repr__(self) -> str:
        from slangad.compiler.lang.types.tracing import bottom

        return f"{type(self).__name__}({', '.join(map(str, bottom(self.data).ravel()))})"

    def __copy__(self) -> Self:
        from slangad.compiler.lang.types.tracing import copied

        return type(self).of(copied(self.data))


class half2x2(MatrixValue["half", half2]):
    slangad_type = Matrix(HALF, 2, 2)


class half2x3(MatrixValue["half", half3]):
    slangad_type = Matrix(HALF, 2, 3)


class half2x4(MatrixValue["half", half4]):
    slangad_type = Matrix(HALF, 2, 4)


class half3x2(MatrixValue["half", half2]):
    slangad_type = Matrix(HALF, 3, 2)


class half3x3(MatrixValue["half", half3]):
    slangad_type = Matrix(HALF, 3, 3)


class half3x4(MatrixValue["half", half4]):
    slangad_type = Matrix(HALF, 3, 4)


class half4x2(MatrixValue["half", half2]):
    slangad_type = Matrix(HALF, 4, 2)


class half4x3(MatrixValue["half", half3]):
    slangad_type = Matrix(HALF, 4, 3)


class half4x4(MatrixValue["half", half4]):
    slangad_type = Matrix(HALF, 4, 4)


class float2x2(MatrixValue[float, float2]):
    slangad_type = Matrix(FLOAT, 2, 2)


class float2x3(MatrixValue[float, float3]):
    slangad_type = Matrix(FLOAT, 2, 3)


class float2x4(MatrixValue[float, float4]):
    slangad_type = Matrix(FLOAT, 2, 4)


class float3x2(MatrixValue[float, float2]):
    slangad_type = Matrix(FLOAT, 3, 2)


class float3x3(MatrixValue[float, float3]):
    slangad_type = Matrix(FLOAT, 3, 3)


class float3x4(MatrixValue[float, float4]):
    slangad_type = Matrix(FLOAT, 3, 4)


class float4x2(MatrixValue[float, float2]):
    slangad_type = Matrix(FLOAT, 4, 2)


class float4x3(MatrixValue[float, float3]):
    slangad_type = Matrix(FLOAT, 4, 3)


class float4x4(MatrixValue[float, float4]):
    slangad_type = Matrix(FLOAT, 4, 4)


class double2x2(MatrixValue["double", double2]):
    slangad_type = Matrix(DOUBLE, 2, 2)


class double2x3(MatrixValue["double", double3]):
    slangad_type = Matrix(DOUBLE, 2, 3)


class double2x4(MatrixValue["double", double4]):
    slangad_type = Matrix(DOUBLE, 2, 4)


class double3x2(MatrixValue["double", double2]):
    slangad_type = Matrix(DOUBLE, 3, 2)


class double3x3(MatrixValue["double", double3]):
    slangad_type = Matrix(DOUBLE, 3, 3)


class double3x4(MatrixValue["double", double4]):
    slangad_type = Matrix(DOUBLE, 3, 4)


class double4x2(MatrixValue["double", double2]):
    slangad_type = Matrix(DOUBLE, 4, 2)


class double4x3(MatrixValue["double", double3]):
    slangad_type = Matrix(DOUBLE, 4, 3)


class double4x4(MatrixValue["double", double4]):
    slangad_type = Matrix(DOUBLE, 4, 4)


__all__ = [
    "double2x2",
    "double2x3",
    "double2x4",
    "double3x2",
    "double3x3",
    "double3x4",
    "double4x2",
    "double4x3",
    "double4x4",
    "float2x2",
    "float2x3",
    "float2x4",
    "float3x2",
    "float3x3",
    "float3x4",
    "float4x2",
    "float4x3",
    "float4x4",
    "half2x2",
    "half2x3",
    "half2x4",
    "half3x2",
    "half3x3",
    "half3x4",
    "half4x2",
    "half4x3",
    "half4x4",
]
