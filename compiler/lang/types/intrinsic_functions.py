"""The intrinsics as users call them, ``sa.sin(x)``: one callable per row of the table, typed for checkers."""

# ruff: noqa: A001, D103, ANN401, FBT001  (declared for checkers; names are the language's, the rows of the table describe them)

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from slangad.compiler.lang.intrinsics import INTRINSICS

if TYPE_CHECKING:
    from typing import Any

    from slangad.compiler.lang.types.matrices import (
        MatrixValue,
    )
    from slangad.compiler.lang.types.scalars import double, half, uint
    from slangad.compiler.lang.types.vectors import (
        VectorValue,
        bool2,
        bool3,
        bool4,
        double2,
        double3,
        double4,
        float2,
        float3,
        float4,
        half2,
        half3,
        half4,
        int2,
        int3,
        int4,
        uint2,
        uint3,
        uint4,
    )


class IntrinsicFunction:
    """A row of the intrinsics table, callable on Python and numpy numbers and on slangad's values."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = INTRINSICS[name].doc

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Return the value.

        Raises:
            TypeError: for arguments the row's rule refuses.
        """
        from slangad.compiler.lang.types.operators import call_intrinsic

        return call_intrinsic(self.name, (*args, *self._named(len(args), kwargs)))

    def _named(self, count: int, kwargs: dict[str, object]) -> list[object]:
        names = INTRINSICS[self.name].params[count:]
        for name in kwargs:
            if name not in names:
                raise TypeError(f"{self.name} takes no argument {name} here")
        return [kwargs[name] for name in names if name in kwargs]

    def __repr__(self) -> str:
        return f"sa.{self.name}"


FUNCTIONS: Final[dict[str, IntrinsicFunction]] = {
    name: IntrinsicFunction(name) for name, row in INTRINSICS.items() if not row.cast_of
}

if TYPE_CHECKING:
    _F = TypeVar("_F", half, double, float, half2, half3, half4, float2, float3, float4, double2, double3, double4)
    _N = TypeVar(
        "_N",
        uint,
        int,
        half,
        double,
        float,
        int2,
        int3,
        int4,
        uint2,
        uint3,
        uint4,
        half2,
        half3,
        half4,
        float2,
        float3,
        float4,
        double2,
        double3,
        double4,
    )
    _V = TypeVar("_V", half2, half3, half4, float2, float3, float4, double2, double3, double4)
    _V3 = TypeVar("_V3", half3, float3, double3)
    _S = TypeVar("_S")
    _Vector = VectorValue[_S, Any, Any, Any, Any]
    _Bools = bool2 | bool3 | bool4

    # typed functions: generated from the table of intrinsics

    def min(x: _N, y: _N | float, *more: _N | float) -> _N: ...
    def max(x: _N, y: _N | float, *more: _N | float) -> _N: ...
    def clamp(x: _N, low: _N | float, high: _N | float) -> _N: ...
    def saturate(x: _F) -> _F: ...
    def abs(x: _N) -> _N: ...
    def sign(x: _N) -> _N: ...
    def step(edge: _F | float, x: _F) -> _F: ...
    def floor(x: _F) -> _F: ...
    def ceil(x: _F) -> _F: ...
    def round(x: _F) -> _F: ...
    def trunc(x: _F) -> _F: ...
    def frac(x: _F) -> _F: ...
    def fmod(x: _F, y: _F | float) -> _F: ...
    def mod(x: _N, y: _N | float) -> _N: ...
    def floor_div(x: _N, y: _N | float) -> _N: ...
    def lerp(a: _F, b: _F | float, t: _F | float) -> _F: ...
    def mix(a: _F, b: _F | float, t: _F | float) -> _F: ...
    def smoothstep(low: _F | float, high: _F | float, x: _F) -> _F: ...
    def sqrt(x: _F) -> _F: ...
    def rsqrt(x: _F) -> _F: ...
    def rcp(x: _F) -> _F: ...
    def pow(x: _F, y: _F | float) -> _F: ...
    def hypot(x: _F, y: _F | float, *more: _F | float) -> _F: ...
    def exp(x: _F) -> _F: ...
    def exp2(x: _F) -> _F: ...
    def log(x: _F) -> _F: ...
    def log2(x: _F) -> _F: ...
    def log10(x: _F) -> _F: ...
    def expm1(x: _F) -> _F: ...
    def log1p(x: _F) -> _F: ...
    def erf(x: _F) -> _F: ...
    def relu(x: _F) -> _F: ...
    def sigmoid(x: _F) -> _F: ...
    def softplus(x: _F) -> _F: ...
    def sin(x: _F) -> _F: ...
    def cos(x: _F) -> _F: ...
    def tan(x: _F) -> _F: ...
    def asin(x: _F) -> _F: ...
    def acos(x: _F) -> _F: ...
    def atan(x: _F) -> _F: ...
    def atan2(y: _F, x: _F | float) -> _F: ...
    def sinh(x: _F) -> _F: ...
    def cosh(x: _F) -> _F: ...
    def tanh(x: _F) -> _F: ...
    def degrees(x: _F) -> _F: ...
    def radians(x: _F) -> _F: ...
    def dot(a: _Vector[_S], b: _Vector[_S]) -> _S: ...
    def cross(a: _V3, b: _V3) -> _V3: ...
    def length(v: _Vector[_S]) -> _S: ...
    def distance(a: _Vector[_S], b: _Vector[_S]) -> _S: ...
    def normalize(v: _V) -> _V: ...
    def reflect(i: _V, n: _V) -> _V: ...
    def refract(i: _V, n: _V, eta: float) -> _V: ...
    def sum(v: _Vector[_S]) -> _S: ...
    def transpose(m: MatrixValue[Any, Any]) -> Any: ...
    def determinant(m: MatrixValue[_S, Any]) -> _S: ...
    def mul(a: object, b: object) -> Any: ...
    def select(condition: bool | _Bools, a: _S, b: _S | float) -> _S: ...
    def any(v: _Bools) -> bool: ...
    def all(v: _Bools) -> bool: ...
    def isnan(x: object) -> Any: ...
    def isinf(x: object) -> Any: ...
    def isfinite(x: object) -> Any: ...
    def asfloat(x: object) -> Any: ...
    def asint(x: object) -> Any: ...
    def asuint(x: object) -> Any: ...

else:
    globals().update(FUNCTIONS)

__all__ = [
    "abs",
    "acos",
    "all",
    "any",
    "asfloat",
    "asin",
    "asint",
    "asuint",
    "atan",
    "atan2",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "cross",
    "degrees",
    "determinant",
    "distance",
    "dot",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_div",
    "fmod",
    "frac",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "length",
    "lerp",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "min",
    "mix",
    "mod",
    "mul",
    "normalize",
    "pow",
    "radians",
    "rcp",
    "reflect",
    "refract",
    "relu",
    "round",
    "rsqrt",
    "saturate",
    "select",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "smoothstep",
    "softplus",
    "sqrt",
    "step",
    "sum",
    "tan",
    "tanh",
    "transpose",
    "trunc",
]
