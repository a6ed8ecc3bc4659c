"""Add the functions that Slang's C++ prelude lacks to emitted C++ text.

Every ``cpp`` artefact begins with that prelude. It lacks, or misspells, some operators and functions that Slang's code
calls, so correct programs would not compile; others are slow. All corrections but the first lines stay within their
line. A prelude that already has a function keeps it.
"""

from __future__ import annotations

from typing import Final

_NO_STRICT_ALIASING: Final = b"""#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("no-strict-aliasing") // else GCC 12 drops stores that are read
#endif
"""
"""First lines of every text. They stand outside the guard of the prelude, for texts that another one includes."""
_SLIPS: Final = (
    (b"result[i].rows[i][j] = op thisVal.rows[i][j];", b"result.rows[i][j] = op thisVal.rows[i][j];"),
    (b"double F64_log10(float f)", b"double F64_log10(double f)"),
)
"""Corrections of Slang's prelude: ``-m``, ``!m`` and ``~m`` of matrices; the logarithm of a double."""
_CALLS: Final = (
    (b"return ::fminf(a, b);", b"return b != b ? a : a < b ? a : b;"),
    (b"return ::fmaxf(a, b);", b"return b != b ? a : a > b ? a : b;"),
    (b"return ::fmin(a, b);", b"return b != b ? a : a < b ? a : b;"),
    (b"return ::fmax(a, b);", b"return b != b ? a : a > b ? a : b;"),
)
"""Calls of the C library in place of which there is an expression of the same value, also for NaN: a loop with a call
does not become vector code, and a network with rectifiers spends a third of its time there."""
_LAST_OF_INTEGERS: Final = b"SLANG_MATRIX_BINARY_OP(T, %)"
_SHIFTS: Final = (b"SLANG_MATRIX_BINARY_OP(T, <<)", b"SLANG_MATRIX_BINARY_OP(T, >>)")
_FLOAT_VECTORS: Final = b"\nSLANG_FLOAT_VECTOR_OPS(float)"
_FLOAT_MATRICES: Final = b"\nSLANG_FLOAT_MATRIX_OPS(float)"
_VECTOR_REMAINDERS: Final = b"\nSLANG_FLOAT_VECTOR_MOD(float)"
_MATRIX_REMAINDERS: Final = b"\nSLANG_FLOAT_MATRIX_MOD(float)"
_HALF_REMAINDER: Final = b" inline half _slang_fmod(half x, half y) { return F16_fmod(x, y); } "
_BOOL_MATRICES: Final = b"SLANG_INT_MATRIX_OPS(bool)"
_BEFORE_DOUBLES: Final = b"SLANG_FORCE_INLINE double F64_log2(double f)"
_DOUBLES: Final = tuple(
    (f"double F64_{name}(double f)", f"return ::{name}(f);") for name in ("asinh", "acosh", "atanh")
)
_WIDTHS: Final = (8, 16, 32, 64)
_INTEGERS: Final = (
    *((f"int I{w}_sign(int{w}_t v)", "return (v > 0) - (v < 0);") for w in _WIDTHS),
    *((f"int{w}_t I{w}_fma(int{w}_t a, int{w}_t b, int{w}_t c)", "return a * b + c;") for w in _WIDTHS),
    *((f"uint{w}_t U{w}_fma(uint{w}_t a, uint{w}_t b, uint{w}_t c)", "return a * b + c;") for w in _WIDTHS),
)
_END: Final = b"\n#endif"
"""The last line of the prelude; no text after it has this line."""


def with_whole_prelude(code: bytes) -> bytes:
    """Fill the holes: operators of matrices and halfs, functions of doubles, ``sign`` and ``mad`` of ints.

    GCC compiles the text without strict aliasing, whatever its options.
    """
    prelude, end, body = code.rpartition(_END)
    for old, new in (*_SLIPS, *_CALLS):
        prelude = prelude.replace(old, new)
    more = [shift for shift in _SHIFTS if shift not in prelude]
    prelude = prelude.replace(_LAST_OF_INTEGERS, b" ".join([_LAST_OF_INTEGERS, *more]), 1)
    prelude = prelude.replace(_BEFORE_DOUBLES, _missing(_DOUBLES, prelude) + _BEFORE_DOUBLES, 1)
    bools = b"" if _BOOL_MATRICES in prelude else _BOOL_MATRICES
    added = b"\n" + _missing(_INTEGERS, prelude) + bools + b" " + _FLOAT_MATRICES[1:]
    prelude = prelude.replace(_FLOAT_MATRICES, added, 1)
    if b"<half" in body:
        for line in (_FLOAT_VECTORS, _VECTOR_REMAINDERS, b" " + _FLOAT_MATRICES[1:], _MATRIX_REMAINDERS):
            before = _HALF_REMAINDER if line is _VECTOR_REMAINDERS else b" "
            prelude = prelude.replace(line, line + before + line.strip().replace(b"float", b"half"), 1)
    return _NO_STRICT_ALIASING + prelude + end + body


def split_prelude(code: bytes) -> tuple[bytes, bytes]:
    """Return the prelude of emitted C++ text and what follows it; the prelude is empty where the text has none."""
    prelude, end, body = code.rpartition(_END)
    return prelude + end, body


def _missing(functions: tuple[tuple[str, str], ...], prelude: bytes) -> bytes:
    """Return the text of those of several functions, by head and body, that the prelude does not have."""
    texts = [(f"SLANG_FORCE_INLINE {head}", body) for head, body in functions]
    lacking = [(head, body) for head, body in texts if f"{head.partition('(')[0]}(".encode() not in prelude]
    return "".join(f"{head} {{ {body} }} " for head, body in lacking).encode()
