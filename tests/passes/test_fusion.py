"""Which stages become one kernel, and which stay apart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from slangad.compiler.ir.text_form.printer import parse, show
from slangad.compiler.ir.verify.module import verify
from slangad.compiler.passes.fuse_stages import MOST_JOINED, fuse_stages

TEXT = """\
module m from "m.py"

function f f(x: float, p: float) -> float
{
    return (x * p)
}

function g g(a: float, no_diff b: float) -> tuple[float, float]
{
    return new tuple[float, float](a, b)
}

function h h(no_diff x: float) -> float
{
    return (x * cast float(thread_id(0)))
}

kernel f f dims 1 group (64) {
    param x: each float
    param p: param float
    result "result": each float
}

kernel g g dims 1 group (64) {
    param a: each float
    param no_diff b: each float
    result "result.0": each float
    result "result.1": sum float
}

kernel h h dims 1 group (64) {
    param no_diff x: each float
    result "result": each float
}

pipeline run {
    param x: each float
    param p: param float
STAGES}
"""


def stages(*lines: str, apart: bool = False) -> list[tuple[str, int]]:
    """The kernels and their arguments after fusion."""
    ending = "    apart\n" if apart else ""
    module = parse(TEXT.replace("STAGES", "".join(f"    {line}\n" for line in lines) + ending))
    assert verify(module) == []
    fused = fuse_stages(module)
    assert verify(fused) == []
    assert parse(show(fused)) == fused
    return [(stage.kernel, len(stage.arguments)) for stage in fused.pipelines[0].stages]


def test_fusion__three_in_a_row__are_one_and_share_what_they_take() -> None:
    found = stages(
        "stage f(x, p) -> a", "stage f(a, p) -> b", "stage g(b, x) -> c, d", 'result "result": sum float of d'
    )
    assert found == [("f_then_f_then_g", 3)]


@pytest.mark.parametrize(
    "lines",
    [
        ("stage f(x, p) -> a", "stage f(a, p) -> b", 'result "result": each float of a'),
        ("stage f(x, p) -> a", "stage h(x) -> b", "stage f(a, p) -> c"),
        ("stage f(x, p) -> a", "stage h(a) -> b"),
        ("stage f(x, p) -> a", "stage g(x, a) -> b, c"),
        ("stage g(x, x) -> a, b", "stage f(a, b) -> c"),
        ("stage f(x, p) -> a domain (4)", "stage f(a, p) -> b domain (5)"),
    ],
    ids=["returned", "not_neighbours", "thread_id", "no_diff", "sums", "domains"],
)
def test_fusion__what_has_to_stay_apart__does(lines: tuple[str, ...]) -> None:
    assert len(stages(*lines)) == sum(line.startswith("stage") for line in lines)


def test_fusion__switched_off__leaves_all_as_it_is() -> None:
    assert len(stages("stage f(x, p) -> a", "stage f(a, p) -> b", apart=True)) == 2


def test_fusion__many_stages__become_kernels_of_limited_size_with_short_names() -> None:
    values = ["x", *(f"v{number}" for number in range(2 * MOST_JOINED + 1))]
    lines = [f"stage f({before}, p) -> {after}" for before, after in pairwise(values)]
    long = f"f_then_{MOST_JOINED - 2}_more_then_f"
    assert stages(*lines) == [(long, 2), (long, 2), ("f", 2)]
