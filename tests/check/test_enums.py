"""Enums of Slang files are integers of the check, as parameters, results and fields of structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.report.model import Result

KINDS = """
enum Mode { Keep, Scale, Square }
namespace far { enum class Bits : uint { First = 1, Second = 4, Third = 9 }; }
struct Held { far.Bits bits; }
"""
MAIN = """
import kinds;
struct Lobe : IDifferentiable { no_diff Mode mode; Held held; float k; }

[BackwardDerivative(lobed_bwd)]
float lobed(Lobe g, float x) { return g.mode == Mode.Square && g.held.bits == far.Bits.Third ? g.k * x : g.k + x; }
void lobed_bwd(inout DifferentialPair<Lobe> g, inout DifferentialPair<float> x, float d)
{
    bool both = g.p.mode == Mode.Square && g.p.held.bits == far.Bits.FOUND;
    var dg = g.d;
    dg.k = both ? x.p * d : d;
    g = diffPair(g.p, dg);
    x = diffPair(x.p, both ? g.p.k * d : d);
}

[Differentiable] Lobe made(float x, Mode mode, far.Bits bits)
{ Lobe g = { mode, { bits }, bits == far.Bits.Second ? x * x : x }; return g; }

[Differentiable] Mode chosen(float x, Mode mode, out float y) { y = x * x; return mode; }
"""


def run(folder: Path, found: str) -> dict[str, Result]:
    (folder / "kinds.slang").write_text(KINDS, encoding="utf-8")
    (folder / "main.slang").write_text(MAIN.replace("FOUND", found), encoding="utf-8")
    return by_name(check(parse_inputs([str(folder / "main.slang")]), CheckOptions(samples=32)))


def test_check__enums_in_structs_and_results__take_all_their_cases(tmp_path: Path) -> None:
    results = run(tmp_path, "Third")
    assert {name: one.verdict.good for name, one in results.items()} == {"lobed": True, "made": True, "chosen": True}
    values: dict[str, set[float]] = {}
    for value in (value for sample in results["lobed"].samples for value in sample.inputs):
        values.setdefault(value.path, set()).add(float(value.value))
    assert values["g.mode"] == values["g.held.bits"] == {0, 1, 2}


def test_check__a_mistake_at_one_case_of_an_enum__is_found(tmp_path: Path) -> None:
    results = run(tmp_path, "Second")
    assert results["lobed"].verdict is Verdict.FAIL
    failure = results["lobed"].failures[0]
    assert failure.column in ("g.k", "x")
    assert failure.span is not None
    assert MAIN.splitlines()[failure.span.line - 1].strip().startswith(("dg.k", "x = ", "bool both", "g = "))
