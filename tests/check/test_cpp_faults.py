"""C++ that Slang makes and that is none: what is right is checked all the same, the rest is not called wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.check.build import libraries
from slangad.compiler.check.build.cpp_faults import first_error, without_faults
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

MATRICES = """
[Differentiable] float2x2 minus(float2x2 m, float2x2 n) { return m - n; }
[Differentiable] float2x3 negative(float2x3 m) { return -m; }
[Differentiable] float2x2 over(float2x2 m, float2x2 n) { return m / (n * n + 1.0); }
[Differentiable] float2x2 chosen(float2x2 m) { return all(!(m < m) || m == m) ? m : m * 2.0; }
[Differentiable] float inverses(float x) { return asinh(x) + acosh(x + 2.5) + atanh(x * 0.9) + log10(x + 1.5); }
"""
DOWN = """
[Differentiable] float square(float x) { return x * x; }
[Differentiable] float down(float x, int n)
{
    float s = 1.0;
    [MaxIters(4)] for (int i = n; i > 0; i--) s *= square(x);
    return s;
}
[Differentiable] float up(float x, int n)
{
    float s = 1.0;
    [MaxIters(4)] for (int k = 0; k < n; ++k) { int i = n - k; s *= square(x) * float(i); }
    return s;
}
"""
UNDECLARED = """
[Differentiable] float counts_from(float x, int n)
{
    float s = 1.0;
    [MaxIters(4)] for (int i = n; i < 4; ++i) s *= x;
    return s;
}
[Differentiable] float calls(float x, int n) { return counts_from(x, n) * 2.0; }
[Differentiable] float counts_to(float x, int n)
{
    float s = 1.0;
    [MaxIters(4)] for (int i = 4; i > n; --i) s *= x;
    return s;
}
[Differentiable] float2x2 diagonal(float2x2 m, float x) { for (int i = 0; i < 2; ++i) m[i][i] = m[i][i] * x; return m; }
[Differentiable] float2x2 adds(float2x2 m, float x, int n) { m[n & 1][n & 1] += x; return m; }
[Differentiable] float2x2 both(float2x2 m, float x, int n) { return adds(m, counts_from(x, n), n); }
[Differentiable] float2x2 through_two(float2x2 m, float x)
{
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            m[i][j] = m[i][j] * x;
    return m;
}
[Differentiable] float does(float x, int n)
{
    float s = 1.0;
    int i = n & 3;
    [MaxIters(4)] do { s *= x; i--; } while (i > 0);
    return s;
}
"""
CPP_ONLY = """
float odd(float x) { __target_switch { case cpp: __intrinsic_asm "nowhere($0)"; default: return x; } }
[Differentiable] float uses(float x) { return x * no_diff odd(x); }
[Differentiable] float calls(float x) { return uses(x) + x; }
[Differentiable] float fine(float x) { return x * x; }
"""
TEXT = b"""
#endif
struct S_0
{
    float x_0;
};

static float good_0(float x_0)
{
    return x_0;
}

static float bad_0(float x_0)
{
    return y_0;
}

static float caller_0(float x_0)
{
    return bad_0(x_0);
}

SLANG_PRELUDE_EXPORT
void entry_Thread(S_0* s_0)
{
    caller_0(s_0->x_0);
}
"""


@pytest.mark.toolchain
def test_check__arithmetic_that_the_cpp_prelude_lacks__passes(checked: Checked) -> None:
    results = checked(MATRICES, ".slang", samples=16)
    assert {name: result.verdict.good for name, result in results.items()} == dict.fromkeys(results, True)
    assert len(results) == 5


@pytest.mark.toolchain
def test_check__loop_that_counts_down__is_a_defect_of_slang_for_gpus_too(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[tuple[int, int]] = []
    build_both = libraries.build_both

    def counted(*arguments: object, **more: object) -> object:
        wide, narrow = build_both(*arguments, **more)  # type: ignore[arg-type]  # as they came
        built.append((len(wide.libraries), len(narrow.libraries)))
        return wide, narrow

    monkeypatch.setattr("slangad.compiler.check.file_check.build_both", counted)
    results = checked(DOWN, ".slang", samples=16)
    assert results["up"].verdict.good
    assert results["square"].verdict.good
    (failure,) = results["down"].failures
    assert failure.verdict is Verdict.FAIL
    assert "does not compile, neither as C++ nor for SPIR-V" in failure.message
    assert failure.cause.startswith("a defect of Slang, for GPUs too")
    assert "n - k" in failure.cause
    assert [note.partition(":")[0] for note in failure.notes] == ["c++", "SPIR-V"]
    assert built[0][1] == 1


@pytest.mark.toolchain
def test_check__name_that_slang_declares_nowhere__is_blamed_on_what_the_function_reaches(checked: Checked) -> None:
    results = checked(UNDECLARED, ".slang", samples=16)
    assert {name for name, result in results.items() if result.verdict.good} == {"through_two", "counts_to"}
    causes = {name: result.failures[0].cause for name, result in results.items() if result.failures}
    assert {name for name, cause in causes.items() if "`n - k`" in cause} == {"counts_from", "calls", "both"}
    assert {name for name, cause in causes.items() if "`float3 row = m[i]; " in cause} == {"diagonal", "adds", "both"}
    assert causes["does"].startswith("a defect of Slang, for GPUs too: two causes are known, and neither is here")


@pytest.mark.toolchain
def test_check__what_is_no_cpp_but_right_elsewhere__is_inconclusive_with_the_error(checked: Checked) -> None:
    results = checked(CPP_ONLY, ".slang", samples=16)
    assert results["fine"].verdict is Verdict.PASS
    for name in ("uses", "calls"):
        assert results[name].verdict is Verdict.INCONCLUSIVE
        assert "Slang's C++ of it does not compile" in results[name].reason
        assert "nowhere" in results[name].reason
        assert any("defect of Slang, and of its C++ only" in note.message for note in results[name].notes)


@pytest.mark.parametrize("place", ["kernel.cpp:15:12: ", "/tmp/a b/kernel.cpp:15:12: ", "kernel.cpp(15): "])
def test_without_faults__error_in_a_function__leaves_it_out_with_its_callers(place: str) -> None:
    found = without_faults(TEXT, f"In file x:\n{place}error: 'y_0' was not declared in this scope\n")
    assert found is not None
    code, names = found
    assert names == {"bad_0", "caller_0", "entry_Thread"}
    assert b"good_0" in code
    assert b"bad_0" not in code
    assert code.count(b"\n") == TEXT.count(b"\n")


def test_without_faults__declarations_in_a_namespace__are_found() -> None:
    enclosed = TEXT.replace(b"#endif\n", b"#endif\n\nnamespace\n{\n").replace(b"SLANG_PRELUDE", b"}\n\nSLANG_PRELUDE")
    found = without_faults(enclosed, "kernel.cpp:18:12: error: 'y_0' was not declared in this scope\n")
    assert found is not None
    assert found[1] == {"bad_0", "caller_0", "entry_Thread"}
    assert b"struct S_0" in found[0]


@pytest.mark.parametrize("line", [1, 5])
def test_without_faults__error_elsewhere__gives_nothing(line: int) -> None:
    assert without_faults(TEXT, f"kernel.cpp:{line}:1: error: what") is None


def test_first_error__of_several__is_the_first_without_its_place() -> None:
    assert first_error("a.cpp: In function:\na.cpp:1:2: error: one\nb.cpp:1:2: error: two") == "one"
    assert first_error("kernel.cpp(3): error C2065: 'y': undeclared identifier") == "'y': undeclared identifier"


def test_check__a_kernel_with_sums_whose_derivative_is_no_cpp__is_named(checked: Checked) -> None:
    text = """
slangad: 1
name: odd
functions:
  square: {params: {x: float}, returns: float, slang: "return x * x;"}
  down:
    params: {x: float, n: int}
    returns: float
    slang: |
      float s = 1.0;
      [MaxIters(4)] for (int i = n; i > 0; i--) s *= square(x);
      return s;
kernels:
  scaled:
    params: {x: each float, p: param float, n: each int}
    returns: each float
    expr: down(x, n) * p
  fine:
    params: {x: each float, p: param float}
    returns: each float
    expr: x * p
"""
    results = checked(text, ".yaml")
    bad = {name: result.reason for name, result in results.items() if result.verdict is Verdict.FAIL}
    assert bad.keys() == {"down", "scaled"}
    assert all("reverse mode of it does not compile, neither as C++ nor for SPIR-V" in why for why in bad.values())
    assert {results[name].verdict for name in ("square", "fine")} == {Verdict.PASS}


def test_first_error__of_a_known_text__quotes_the_line() -> None:
    messages = "x.cpp:1:2: warning: unused\nx.cpp:2:5: error: 'y_0' was not declared\nx.cpp:9:1: error: too late\n"
    assert first_error(messages, b"int a;\n  a = y_0;\n") == "'y_0' was not declared: a = y_0;"
    assert first_error(messages) == "'y_0' was not declared"
    assert first_error("killed\n", b"int a;\n") == "killed"
