"""Names a user's identifier may not have in Slang: keywords, builtin types, functions that emitted code calls."""

from __future__ import annotations

from typing import Final

_KEYWORDS: Final = """
    abstract as associatedtype associated attribute_syntax break case catch class const constexpr continue default defer
    dependent discard do each else enum expand export extend extension extern false final for forward func functype
    generic get globallycoherent groupshared if implementing import in indexer inline inout interface internal is let
    linear lineadj module namespace new no_diff none noperspective nointerpolation nullptr optional out override
    packoffset param precise prefix postfix private property protected public ref register require return row_major
    column_major sample set shared sizeof alignof snorm some spirv_asm static struct subscript super switch syntax
    target_switch intrinsic_asm template this This throw throws triangle triangleadj true try typealias typedef typename
    uniform union unorm using var vector volatile where while yield struct cbuffer tbuffer
"""

_TYPES: Final = """
    void bool int uint half float double int8_t uint8_t int16_t uint16_t int64_t uint64_t intptr_t uintptr_t string
    matrix vector Array Tuple Optional Ptr DifferentialPair IDifferentiable Buffer StructuredBuffer RWStructuredBuffer
    ByteAddressBuffer Texture2D SamplerState Atomic
"""

_FUNCTIONS: Final = """
    abs acos all any asfloat asin asint asuint atan atan2 bwd_diff ceil clamp cos cosh cross degrees detach determinant
    diffPair distance dot exp exp2 floor fma fmod frac fwd_diff isfinite isinf isnan length lerp log log10 log2
    makeArrayFromElement makeTuple max min mul normalize pow radians rcp reflect refract round rsqrt saturate select
    sign sin sincos sinh smoothstep sqrt step tan tanh transpose trunc
"""

_SCALARS: Final = ("bool", "int", "uint", "half", "float", "double")
_SHAPED: Final = [
    *(f"{scalar}{n}" for scalar in _SCALARS for n in range(1, 5)),
    *(f"{scalar}{rows}x{columns}" for scalar in _SCALARS for rows in range(1, 5) for columns in range(1, 5)),
]

RESERVED: Final = frozenset([*f"{_KEYWORDS}{_TYPES}{_FUNCTIONS}".split(), *_SHAPED])
