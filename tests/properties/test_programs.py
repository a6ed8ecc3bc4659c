"""Random programs mean the same in Python and on the CPU, and so do their derivatives.

About a hundred programs, always the same ones, unless ``SLANGAD_PROGRAMS`` says how many; then ``SLANGAD_SEED`` says
which, at random without it. A failure shows the program, the inputs and the seed.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.isolated import compare_apart
from support.programs import build_pair, numbered

if TYPE_CHECKING:
    from pathlib import Path

    from support.programs import Generated

BATCH = 26
COUNT = int(os.environ.get("SLANGAD_PROGRAMS", "52"))
FIRST = int(os.environ.get("SLANGAD_SEED", str(secrets.randbelow(10**9) if "SLANGAD_PROGRAMS" in os.environ else 0)))
SEEDS = range(FIRST, FIRST + -(-COUNT // BATCH))


def _is_long(pair: list[Generated]) -> bool:
    return sum(program.statements for program in pair) > 6


def draw_programs(number: int) -> list[Generated]:
    """A batch of programs, the same for the same number."""
    drawn: list[list[Generated]] = []

    @seed(number)
    @settings(
        max_examples=BATCH // 2,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False).map(build_pair).filter(_is_long))
    def draw(pair: list[Generated]) -> None:
        drawn.append(pair)

    draw()
    return numbered(drawn)


@pytest.mark.toolchain
@pytest.mark.parametrize("number", SEEDS)
def test_programs__in_python_and_on_the_cpu__mean_the_same(number: int, tmp_path: Path) -> None:
    report = compare_apart(draw_programs(number), tmp_path, number)
    print(f"seed {number}: {report}")
    found = "\n\n".join(str(m) for m in report.mismatches[:3])
    assert not report.mismatches, f"SLANGAD_PROGRAMS={BATCH} SLANGAD_SEED={number}\n{found}"
    assert report.compared > report.left_out, "rounding leaves too little to compare"
    assert report.slopes > report.kinks, "too few programs are smooth"
