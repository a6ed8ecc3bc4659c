"""Likely causes: what the wrong entries have in common, whatever the right ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.verdict.explain.callers import _roots
from slangad.compiler.report.model import NoteKind, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

TEXT = """
import slangad as sa


@sa.differentiable
def steep(x: float) -> float:
    return sa.exp(20.0 * x)


@steep.backward
def steep_bwd(x, d_out):
    g = 20.0 * sa.exp(20.0 * x)
    if x < -0.84:
        g = -3.0 * g
    return g * d_out


@sa.differentiable(ranges={"x": (0.001, 1.0)})
def edge(x: float) -> float:
    return 1.0 / (x * x)


@edge.backward
def edge_bwd(x, d_out):
    g = -2.0 / (x * x * x)
    if x > 0.95:
        g = g * 1.001
    return g * d_out


@sa.differentiable
def close(x: float) -> float:
    return x * x * x


@close.backward
def close_bwd(x, d_out):
    return 3.000006 * x * x * d_out


@sa.differentiable
def jumps(x: float) -> float:
    return x if x > 0.5 else x - 1.0
"""


def test_check__wrong_at_some_samples__names_the_factor_of_those(checked: Checked) -> None:
    results = checked(TEXT)
    causes = {name: result.failures[0].cause for name, result in results.items() if result.failures}
    assert causes["steep"].startswith("a factor of -3 at some samples")
    assert causes["edge"].startswith("a factor of 1.001 at some samples")
    assert causes["close"].startswith("a factor of 1.00000")
    told = [note.message for note in results["close"].notes if note.kind is NoteKind.SAMPLES]
    assert any("not looked at closely" in text for text in told)
    assert results["jumps"].verdict is Verdict.KINK_OK
    assert results["jumps"].reason == "right; 1 jump, where there is nothing to compare with"


def test_roots__functions_that_explain_each_other__have_the_first_one() -> None:
    assert _roots({2: [1], 1: [2], 3: [1], 4: [5], 5: []}) == {1, 5}
