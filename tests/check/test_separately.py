"""Slang forgets the custom derivative of a method beside a generic function of its type. The check does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.check.build.separately import kernels_apart
from slangad.compiler.driver.model import Options
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.frontends import load
from slangad.compiler.frontends.slang.model import SlangSetting
from slangad.compiler.report.model import Verdict
from slangad.compiler.slang_text.files import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

METHODS = """
interface IOp { [Differentiable] static float ap(float x); }
struct OpA : IOp
{
    [BackwardDerivative(ap_b)] [Differentiable] static float ap(float x) { return x * x * x; }
    static void ap_b(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, FACTOR * d); }
}
#define APPLIED OpA.ap
[Differentiable] float gen<T : IOp>(float x) { return T.ap(x); }
[Differentiable] float direct(float x) { return APPLIED(x); }
[Differentiable] float plain(float x) { return sin(x); }
[BackwardDerivative(mixed_b)] [Differentiable] float mixed(float x) { return gen<OpA>(x); }
void mixed_b(inout DifferentialPair<float> x, float d) { bwd_diff(direct)(x, d); }
"""
WRONG = METHODS.replace("FACTOR", "100.0")
RIGHT = METHODS.replace("FACTOR", "3.0 * x.p * x.p")


@pytest.mark.toolchain
def test_check__a_wrong_method_that_slang_forgets_in_company__fails_wherever_it_is_shipped(checked: Checked) -> None:
    found = checked(WRONG, ".slang", only=("direct", "mixed", "plain"))
    verdicts = {name: result.verdict for name, result in found.items()}
    assert verdicts == {"direct": Verdict.FAIL, "plain": Verdict.PASS, "mixed": Verdict.FAIL}


@pytest.mark.toolchain
def test_check__a_right_method_that_slang_forgets_in_company__is_not_accused(checked: Checked) -> None:
    found = checked(RIGHT, ".slang", only=("direct", "mixed"))
    assert [result.verdict for result in found.values()] == [Verdict.PASS, Verdict.PASS]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("text", "apart"),
    [
        (RIGHT, {"OpA_ap", "direct", "mixed"}),
        (RIGHT.replace("[BackwardDerivative(ap_b)] ", ""), set()),
        (RIGHT.replace("ap(float x);", "other(float x) { return x; }").replace("T.ap(x)", "T.other(x)"), set()),
    ],
)
def test_kernels_apart__only_what_reaches_a_method_of_an_interface_with_an_own_derivative(
    tmp_path: Path, text: str, apart: set[str]
) -> None:
    path = tmp_path / "f.slang"
    path.write_text(text, encoding="utf-8")
    with SlangCompilers(Options(targets=("cpp",))) as compilers:
        module = load(path, SlangSetting(compilers.reflect))
    assert kernels_apart(module, {file: text_of(file) for file in module.sources}) == apart


CALLS = """
import slangad as sa

direct = sa.extern("direct", "methods.slang", "(x: float) -> float", differentiable=True)
gen = sa.extern("mixed", "methods.slang", "(x: float) -> float", differentiable=True)


@sa.kernel
def calls(x: sa.Each[float]) -> sa.Each[float]:
    return direct(x)


@sa.kernel
def company(x: sa.Each[float]) -> sa.Each[float]:
    return gen(x)
"""


@pytest.mark.toolchain
def test_check__a_description_that_calls_such_a_method__is_checked_kernel_by_kernel(
    checked: Checked, tmp_path: Path
) -> None:
    (tmp_path / "methods.slang").write_text(WRONG, encoding="utf-8")
    assert checked(CALLS)["calls"].verdict is Verdict.FAIL
