"""What Slang prints, parsed and put into users' words and places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.errors.codes.toolchain import CODES
from slangad.compiler.errors.diagnostics import Severity
from slangad.compiler.errors.spans import Span
from slangad.compiler.toolchain.messages.messages import SlangMessage, parse_messages, to_diagnostics
from slangad.compiler.toolchain.messages.translations import translation_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.jobs.request import CompileResult

PRINTED = (
    "E30015\terror\t/t/k.slang\t3\t86\t3\t88\tundefined identifier\n"
    "E30015\tspan\t/t/k.slang\t3\t86\t3\t88\tundefined identifier 'yy'.\n"
    "E\tnote\t/t/lib.slang\t1\t2\t1\t5\tdid you mean 'y'?\n"
    "E31106\twarning\t\t0\t0\t0\t0\tsomething is odd\n"
)


def nowhere(file: str, line: int, column: int) -> Span | None:
    return None


def test_parse__error_with_span_and_note__is_one_message() -> None:
    error, warning = parse_messages(PRINTED)
    assert (error.code, error.severity, error.text) == (30015, "error", "undefined identifier 'yy'")
    assert error.span == Span("/t/k.slang", 3, 86, 3, 88)
    assert [note.text for note in error.notes] == ["did you mean 'y'?"]
    assert warning == SlangMessage(31106, "warning", "", 0, 0, 0, 0, "something is odd")


def test_parse__remark_before_an_error__belongs_to_it() -> None:
    printed = "E99999\tnote\tk.slang\t7\t1\t7\t2\tnear here\nE99997\terror\t\t0\t0\t0\t0\tfailed\nfree text\n"
    (message,) = parse_messages(printed)
    assert [note.text for note in message.notes] == ["near here", "free text"]
    (diagnostic,) = to_diagnostics([message], nowhere)
    assert diagnostic.span == Span("k.slang", 7, 1, 7, 2)


def test_to_diagnostics__place_known__is_the_users_line() -> None:
    user = Span("k.py", 12, 5, 12, 7)
    error, warning = to_diagnostics(parse_messages(PRINTED), lambda file, line, column: user if line == 3 else None)
    assert error.span == user
    assert error.notes == ("in the Slang text: /t/k.slang:3:86", "/t/lib.slang:1:2: did you mean 'y'?")
    assert (warning.severity, warning.code) == (Severity.WARNING, "SA220")


def test_translations__every_code__is_explained() -> None:
    for code in (30015, 30510, 41022, 41031, 41025, 38031, 31149, 31130, 38035, 36107, 99999, 100, 1):
        assert translation_of(code, "text", is_error=True).code in CODES


def test_translation__of_an_array_that_is_too_long__has_a_remedy() -> None:
    text = "loop does not terminate within the limited number of iterations, unrolling is aborted"
    made = translation_of(40020, text, is_error=True)
    assert (made.code, made.text) == ("SA200", text)
    assert "Keep such arrays in a Tensor or Param" in made.help


FUNCTION = "[Differentiable] float f(float x, int n) {{ {body} }}\nfloat g(float x) {{ return x * x; }}\n"
KERNEL = """
[shader("compute")] [numthreads(8, 1, 1)]
void k(uint3 tid : SV_DispatchThreadID, uniform RWStructuredBuffer<float> r)
{ var p = diffPair(r[0]); bwd_diff(f)(p, 3, 1.0); r[0] = p.d; }
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("float s = 0; for (int i = 0; i < n; i++) s += x; return s;", "SA201", "needs a bound"),
        ("return g(x);", "SA202", "at the call of g,"),
        ("return x +;", "SA200", ""),
        ("return y;", "SA200", "undefined identifier 'y'"),
        ("return no_diff(x + 1.0);", "SA205", "no_diff has no meaning here"),
    ],
)
def test_compile__bad_derivative__is_told_in_users_words(
    compile_slang: Callable[..., CompileResult], body: str, code: str, said: str
) -> None:
    result = compile_slang(FUNCTION.format(body=body) + KERNEL, ("k",), ("hlsl",))
    errors = [d for d in to_diagnostics(result.messages, nowhere) if d.severity is Severity.ERROR]
    assert code in {error.code for error in errors}, errors
    assert any(said in error.message for error in errors if error.code == code), errors
    assert errors[0].span.line == 1
    assert errors[0].span.file == "test.slang"


@pytest.mark.toolchain
def test_compile__signature_of_custom_derivative_wrong__is_told(compile_slang: Callable[..., CompileResult]) -> None:
    text = (
        "[BackwardDerivative(f_bwd)] float f(float x, int n) { return x; }\n"
        "void f_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }\n"
    )
    result = compile_slang(text + KERNEL, ("k",), ("hlsl",))
    assert "SA206" in {d.code for d in to_diagnostics(result.messages, nowhere)}


@pytest.mark.toolchain
@pytest.mark.parametrize(("target", "type_"), [("metal", "double"), ("wgsl", "double"), ("wgsl", "int8_t")])
def test_compile__type_a_target_lacks__is_told_with_the_target(
    compile_slang: Callable[..., CompileResult], entry: str, target: str, type_: str
) -> None:
    text = entry.format(name="k", body=f"r[i] = float({type_}(r[i]) * {type_}(3));")
    result = compile_slang(text, ("k",), (target, "cuda"))
    assert [a.target for a in result.artefacts] == ["cuda"]
    (error,) = to_diagnostics(result.messages, nowhere)
    assert error.code == "SA209"
    assert f"while generating code for {target}" in error.notes


@pytest.mark.toolchain
def test_compile__import_missing_or_wrong__names_the_file(compile_slang: Callable[..., CompileResult]) -> None:
    missing = compile_slang("import nowhere;\n" + KERNEL, ("k",), ("hlsl",))
    (error,) = [m for m in missing.messages if "nowhere.slang" in m.text]
    assert error.span.line == 1
    broken = compile_slang("import lib;\n" + KERNEL, ("k",), ("hlsl",), modules=(("lib.slang", "float f( {"),))
    assert {m.file for m in broken.messages if m.is_error} >= {"lib.slang"}
    (told,) = to_diagnostics(broken.messages, nowhere)
    assert told.span.file == "lib.slang"
