"""Samples of subjects with very many inputs: corner cases of each input would fill the memory."""

from __future__ import annotations

import pytest

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.columns import Column
from slangad.compiler.check.sampling.samples import draw_sized


def columns(count: int) -> list[Column]:
    return [Column(f"x[{k}]", "float", differentiable=True) for k in range(count)]


@pytest.mark.parametrize("count", [2, 300])
def test_draw__of_few_inputs__has_corner_cases(count: int) -> None:
    drawn = draw_sized(columns(count), (), 48, 0, "few")
    assert len(drawn.rows) > 48
    assert {"zero", "tie", "corner"} <= set(drawn.origins)


def test_draw__of_very_many_inputs__is_random_alone() -> None:
    """Corner cases took 9 GB for the shapes of a pipeline with attention over 32 tokens."""
    drawn = draw_sized(columns(tol.LARGE_LAUNCH + 1), (), 48, 0, "many")
    assert len(drawn.rows) <= 48
    assert set(drawn.origins) == {"random"}
