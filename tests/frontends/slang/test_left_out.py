"""Functions that can't be kernels are left out, each with its reason, and never silently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.errors.diagnostics import CompileError

if TYPE_CHECKING:
    from pathlib import Path

    from support.slang_files import Loader

pytestmark = pytest.mark.toolchain

REASONS = {
    "texture": "parameter 'image' is a Texture2D<float4>, which can't lie in a buffer of elements",
    "buffer": "parameter 'data' is a RWStructuredBuffer<float3>, which can't lie in a buffer of elements",
    "in_struct": (
        "parameter 'w' is a WithTexture, whose field 'image' is a Texture2D<float4>, "
        "which can't lie in a buffer of elements"
    ),
    "tensor": "parameter 't' is a DiffTensorView<float, AtomicAdd>, which can't lie in a buffer of elements",
    "kind": "parameter 'kind' is a Kind, which can't lie in a buffer of elements",
    "thing": "parameter 'thing' is an IThing, which can't lie in a buffer of elements",
    "wide": "parameter 'n' is an int64_t, which can't lie in a buffer of elements",
    "one": "parameter 'x' is a vector of 1",
    "unsized": "parameter 'x' is an array of unknown entries",
    "pair": "parameter 't' is a Tuple<float, float>, which has no fields, or none that are known",
    "cooperative": (
        "parameter 'x' is a CoopVec<float, 4>, which no buffer has: take a vector or an array, and make it inside"
    ),
    "derived": "parameter 'd' is a Derived, which inherits from another struct",
    "other": "parameter 'o' is an Other, whose Differential has other fields than itself",
    "nothing": "it returns nothing and has no out parameter",
    "generic": "it is generic: say for which arguments, as in --specialize 'generic<float>'",
    "operator+": "it is an operator: call it in a function",
    "operator-": "it is an operator in a struct, where Slang does not look for it: declare it outside",
    "extended": "it is a method of an extension Other",
    "aged": "it is a method of a class Old",
}


def test_left_out__each_reason__is_told_at_the_function(load_slang: Loader) -> None:
    module = load_slang("left_out.slang")
    assert {left.function: left.reason for left in module.left_out} == REASONS
    assert [kernel.name for kernel in module.kernels] == ["fine", "compile_time"]
    lines = [left.span.line for left in module.left_out]
    assert lines == sorted(lines)
    assert all(line > 45 for line in lines)


def test_left_out__functions_of_included_files__are_named_together(load_slang: Loader, tmp_path: Path) -> None:
    (tmp_path / "common.slang").write_text(
        "[Differentiable] float a(float x) { return x; }\n[Differentiable] float b(float x) { return x; }\n"
    )
    main = tmp_path / "main.slang"
    main.write_text('#include "common.slang"\n[Differentiable] float f(float x) { return a(x) * b(x); }\n')
    module = load_slang(main)
    assert [kernel.name for kernel in module.kernels] == ["f"]
    (left,) = module.left_out
    assert (left.function, left.span.line) == ("a, b", 0)


def test_left_out__modes_that_slang_lacks__name_the_remedy(load_slang: Loader) -> None:
    found = {left.function: (left.modes, left.reason) for left in load_slang("derivatives.slang").left_out}
    assert found.keys() == {"reverse_only", "forward_only", "forward_automatic", "named_elsewhere"}
    modes, reason = found["reverse_only"]
    assert modes == ("jvp",)
    assert "add [Differentiable]" in reason
    assert found["forward_only"][0] == ("backward",)


CALLERS = """
void reverse_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * x.p * d); }
[BackwardDerivative(reverse_bwd)]
float reverse_only(float x) { return x * x; }
[Differentiable] float direct(float x) { return reverse_only(x) * x; }
[Differentiable] float indirect(float x) { float y = direct(x); return y; }
DifferentialPair<float> own_fwd(DifferentialPair<float> x) { return diffPair(x.p * x.p, 2.0 * x.p * x.d); }
[Differentiable] [ForwardDerivative(own_fwd)] float own(float x) { return reverse_only(x); }
[Differentiable] float fine(float x) { return own(x) + x; }
"""


def test_left_out__forward_mode_of_callers_of_reverse_only__names_whom_to_mend(
    load_slang: Loader, tmp_path: Path
) -> None:
    main = tmp_path / "callers.slang"
    main.write_text(CALLERS)
    module = load_slang(main)
    found = {left.function: left for left in module.left_out}
    assert found.keys() == {"reverse_only", "direct", "indirect"}
    assert all(left.modes == ("jvp",) for left in found.values())
    assert "add [Differentiable] to reverse_only" in found["indirect"].reason
    modes = {kernel.name: kernel.modes for kernel in module.kernels}
    assert modes["direct"] == modes["indirect"] == ("forward", "backward")
    assert "jvp" in (modes["own"] or ("jvp",))
    assert "jvp" in (modes["fine"] or ("jvp",))


def test_load__all_functions_left_out__is_an_error_with_every_reason(load_slang: Loader, tmp_path: Path) -> None:
    file = tmp_path / "textures.slang"
    file.write_text("[Differentiable] float f(Texture2D<float> t, float x) { return x; }\n")
    with pytest.raises(CompileError) as caught:
        load_slang(file)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SA081"
    assert diagnostic.notes == ("f: parameter 't' is a Texture2D<float>, which can't lie in a buffer of elements",)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("float f(float x) { return x; }\n", "SA080", 0, 0),
        ("", "SA080", 0, 0),
        ("implementing other;\n[Differentiable] float f(float x) { return x; }\n", "SA082", 0, 0),
        ("[Differentiable]\nfloat f(float x) { return x + missing; }\n", "SA200", 2, 31),
        ("[Differentiable] float f(\n", "SA200", 1, 26),
        ('import "nowhere.slang";\n[Differentiable] float f(float x) { return x; }\n', "SA200", 1, 8),
        (
            "[Differentiable] float f(float x, int n) { for (int i = 0; i < n; ++i) x *= x; return x; }\n",
            "SA201",
            1,
            44,
        ),
    ],
)
def test_load__a_file_with_an_error__points_into_the_file(
    load_slang: Loader, tmp_path: Path, text: str, code: str, line: int, column: int
) -> None:
    file = tmp_path / "wrong.slang"
    file.write_text(text)
    with pytest.raises(CompileError) as caught:
        load_slang(file)
    first = caught.value.diagnostics[0]
    assert (first.code, first.span.file, first.span.line, first.span.column) == (code, str(file), line, column)


def test_load__a_file_that_is_not_text__is_an_error(load_slang: Loader, tmp_path: Path) -> None:
    file = tmp_path / "binary.slang"
    file.write_bytes(b"\xff\xfe\x00")
    for path in (file, tmp_path / "missing.slang", tmp_path):
        with pytest.raises(CompileError, match="SA002"):
            load_slang(path)


def test_load__a_file_that_is_not_utf_8__points_at_the_byte(load_slang: Loader, tmp_path: Path) -> None:
    file = tmp_path / "old.slang"
    file.write_bytes(b"\n// M\xfcller\n[Differentiable] float f(float x) { return x; }\n")
    with pytest.raises(CompileError) as caught:
        load_slang(file)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == ("SA002", 2, 5)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("generic<float", "'generic<float' is not a generic function with its arguments"),
        ("generic", "'generic' is not a generic function with its arguments"),
        ("generic()<x>", "'generic()<x>' is not a generic function with its arguments"),
        ("generic<NoSuchType>", "Slang can't make 'generic<NoSuchType>'"),
        ("generic<float, 4>", "Slang can't make 'generic<float, 4>'"),
        ("generic<Other>", "Slang can't make 'generic<Other>'"),
    ],
)
def test_specialize__what_slang_cannot_make__is_an_error(load_slang: Loader, asked: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        load_slang("left_out.slang", asked)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("SA083", message)


def test_specialize__a_function_of_another_file__does_not_concern_this_one(load_slang: Loader) -> None:
    module = load_slang("left_out.slang", "elsewhere<float>", "generic<half>")
    assert [kernel.name for kernel in module.kernels] == ["fine", "generic_half", "compile_time"]


GENERICS = """
interface IOne { [Differentiable] float at(float x); }
interface INone {}
struct Quad : IOne { float k; [Differentiable] float at(float x) { return x * x; } }
[Differentiable] float sum<let N : int>(float x[N]) { return x[N - 1]; }
[Differentiable] float evaluated<F : IOne>(F f, float x) { return f.at(x); }
[Differentiable] float later<F>(F f, float x) where F : IOne { return f.at(x); }
[Differentiable] float nobody<F : INone>(F f, float x) { return x; }
[Differentiable] T both<T : __BuiltinFloatingPointType, let N : int>(T x) { return x; }
[Differentiable] float counted<T : __BuiltinIntegerType>(T k, float x) { return x; }
struct Table<T : __BuiltinFloatingPointType & IDifferentiable, let N : int> : IDifferentiable
{
    T v[N];
    [Differentiable] T first() { return v[0]; }
}
__generic<T : IFloat> [Differentiable] T old(T x) { return x; }
[Differentiable] float fine(float x) { return x; }
"""


def test_left_out__generics__are_told_with_arguments_that_slang_takes(load_slang: Loader, tmp_path: Path) -> None:
    path = tmp_path / "generics.slang"
    path.write_text(GENERICS)
    asked = [left.reason.split("'")[1] for left in load_slang(path).left_out]
    assert asked == [
        *("sum<4>", "evaluated<Quad>", "later<Quad>", "nobody<YOUR_TYPE>", "both<float, 4>", "counted<int>"),
        *("Table<float, 4>.first", "old<float>"),
    ]
    made = load_slang(path, *(text for text in asked if "YOUR" not in text))
    assert [left.function for left in made.left_out] == ["nobody"]
