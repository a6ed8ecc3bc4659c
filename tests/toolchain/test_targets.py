"""Every target makes valid code of a kernel's forward, backward and JVP entry points."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.ir.targets import ALWAYS, TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.jobs.request import Artefact, CompileResult

    Shade = tuple[str, tuple[str, ...], dict[str, object]]

pytestmark = pytest.mark.toolchain


def test_targets__all_without_a_tool__give_code_and_reflection_of_each_entry(
    compile_slang: Callable[..., CompileResult], shade: Shade
) -> None:
    source, entries, more = shade
    result = compile_slang(source, entries, ALWAYS, **more)
    assert result.ok
    assert [(a.target, a.entry) for a in result.artefacts] == [(t, e) for t in ALWAYS for e in entries]
    for target in ALWAYS:
        for entry in entries:
            text = result.reflection_text(target, entry)
            assert text is not None
            assert [e["name"] for e in json.loads(text)["entryPoints"]] == [entry]


@pytest.mark.parametrize("target", [target for target in ALWAYS if target != "metal"])
def test_targets__three_entry_points__pass_the_validator(
    compile_slang: Callable[..., CompileResult], validate: Callable[[Artefact], None], shade: Shade, target: str
) -> None:
    source, entries, more = shade
    for artefact in compile_slang(source, entries, (target,), **more).artefacts:
        validate(artefact)


@pytest.mark.parametrize("target", ["spirv", "glsl", "wgsl", "cuda", "cpp"])
def test_targets__half__passes_the_validator(
    compile_slang: Callable[..., CompileResult], validate: Callable[[Artefact], None], entry: str, target: str
) -> None:
    text = entry.format(name="halves", body="half h = half(r[i]); r[i] = float(h * h + half(1.5));")
    (artefact,) = compile_slang(text, ("halves",), (target,)).artefacts
    validate(artefact)


@pytest.mark.parametrize("target", ["spirv", "glsl", "wgsl", "cuda", "cpp"])
def test_targets__half_vectors__pass_the_validator(
    compile_slang: Callable[..., CompileResult], validate: Callable[[Artefact], None], entry: str, target: str
) -> None:
    body = "half3 h = half3(half(r[i])); h = -h * half3(2.0h) + h / half3(0.5h); r[i] = float(h.x > h.y ? h.z : h.x);"
    (artefact,) = compile_slang(entry.format(name="halves", body=body), ("halves",), (target,)).artefacts
    validate(artefact)


@pytest.mark.parametrize(
    "body",
    [
        "float2x3 m = r[i] * float2x3(1.0); float2x3 n = -m; r[i] = all(!(m < n) || m == n) && any(m > n) ? 1.0 : 2.0;",
        "half2x2 m = half2x2(half(r[i])); m = -m * m + m / half2x2(0.5h); r[i] = float((m % half2x2(0.5h))[0][1]);",
        "half3 v = half3(half(r[i])); v = -v % half3(0.5h); r[i] = float(v.x);",
        "int2x2 m = int2x2(int(r[i])); m = (m << int2x2(2)) ^ ~m; r[i] = sign(m[0][0]) + mad(m[1][1], 3, 4);",
        "double x = r[i]; r[i] = float(asinh(x) + acosh(x + 2.5) + atanh(x) + log10(x));",
    ],
)
def test_targets__what_the_cpp_prelude_lacks__passes_the_validator(
    compile_slang: Callable[..., CompileResult], validate: Callable[[Artefact], None], entry: str, body: str
) -> None:
    (artefact,) = compile_slang(entry.format(name="whole", body=body), ("whole",), ("cpp",)).artefacts
    validate(artefact)


def test_targets__table_and_its_row_in_wgsl__pass_the_validator(
    compile_slang: Callable[..., CompileResult], validate: Callable[[Artefact], None], entry: str
) -> None:
    table = "static const float[2][2][2] T = {{{1.5, 2.5}, {3.5, 4.5}}, {{5.5, 6.5}, {7.5, 8.5}}};\n"
    text = table + entry.format(name="rows", body="r[i] = T[1][i % 2][1] + T[1][1][i % 2];")
    (artefact,) = compile_slang(text, ("rows",), ("wgsl",)).artefacts
    assert artefact.text.count("7.5") == 2
    validate(artefact)


@pytest.mark.parametrize("target", [name for name in ALWAYS if TARGETS[name].is_text])
def test_targets__entry_points_alone__count_their_bindings_from_zero(
    compile_slang: Callable[..., CompileResult], shade: Shade, target: str
) -> None:
    source, entries, more = shade
    last = compile_slang(source, entries, (target,), **more).artefact(target, entries[-1])
    first = {
        "spirv-asm": "Binding 0",
        "glsl": "binding = 0",
        "hlsl": "register(t0)",
        "wgsl": "@binding(0)",
        "metal": "[[buffer(0)]]",
    }.get(target, "")
    assert last is not None
    assert first in last.text


@pytest.mark.parametrize("target", [name for name in ALWAYS if TARGETS[name].whole])
def test_targets__whole__give_one_artefact_with_every_entry(
    compile_slang: Callable[..., CompileResult], shade: Shade, target: str
) -> None:
    source, entries, more = shade
    (artefact,) = compile_slang(source, entries, (target,), whole=True, **more).artefacts
    assert artefact.entry == ""
    for entry in entries:
        assert entry.encode() in artefact.data


def test_targets__shader_sharedlib__is_a_shared_library(
    compile_slang: Callable[..., CompileResult], cxx: object, shade: Shade
) -> None:
    source, entries, more = shade
    result = compile_slang(source, entries[:1], ("shader-sharedlib",), **more)
    assert result.artefacts[0].data[:4] in {b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ\x90\x00"}


def test_targets__same_text_elsewhere__same_bytes(compile_slang: Callable[..., CompileResult], shade: Shade) -> None:
    source, entries, more = shade
    first, second = (compile_slang(source, entries, ALWAYS, **more) for _ in range(2))
    assert first == second
    for artefact in first.artefacts:
        assert b"/tmp" not in artefact.data
        assert b"slangad-" not in artefact.data


def test_targets__missing_tool__names_tool_and_remedy_and_makes_the_others(
    compile_slang: Callable[..., CompileResult], shade: Shade, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, entries, more = shade
    monkeypatch.setenv("PATH", "")
    result = compile_slang(source, entries, ("shader-sharedlib", "hlsl"), **more)
    (problem,) = result.diagnostics
    assert problem.code == "SA242"
    assert "shader-sharedlib needs a C++ compiler" in problem.message
    assert "install g++" in problem.help
    assert [a.target for a in result.artefacts] == ["hlsl"] * 3
