"""Float32 gradients on a GPU device, held against float64 on the CPU; software Vulkan in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from slangad.compiler.check.session import CheckOptions, check
from slangad.compiler.inputs import parse_inputs
from slangad.compiler.report.model import Leg, LegState
from slangad.compiler.runtime.choice import try_device

SAMPLE = Path(__file__).parents[2] / "samples" / "quickstart" / "brdf.py"


@pytest.mark.parametrize("name", ["vulkan", "cuda"])
def test_check__on_a_device__holds_its_float32_against_float64(name: str) -> None:
    works, why = try_device(name)
    if not works:
        pytest.skip(f"{name}: {why}")
    report = check(parse_inputs([str(SAMPLE)]), CheckOptions(device=name))
    assert report.device == name
    for result in report.results:
        assert result.verdict.good, result.reason
        leg = next(leg for leg in result.legs if leg.leg is Leg.FLOAT32)
        assert leg.state is LegState.AGREES
        assert leg.compared > 100
