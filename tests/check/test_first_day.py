"""Ordinary functions without any declared range: none fails unless it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Verdict
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

FOLDER: Final = Path(__file__).parent / "first_day"
UNGUARDED: Final = {"programs.py": {"square_root", "power", "angle_between"}, "programs.slang": {"smooth_step"}}
"""Functions whose derivative is not finite at a zero, tie or end."""
WRONG_IN_SLANG: Final = {
    "programs.slang": {"box": "gradient of length is clamped", "rgb_to_hsv": "arguments of max are equal"},
    "programs.py": dict[str, str](),
}
"""Functions that are wrong because of what Slang does, with a part of the cause.

It clamps the gradient of ``length`` near zero. Equal arguments of ``max`` get half of the gradient each, and the hue is
smooth there.
"""


@pytest.mark.parametrize("name", UNGUARDED)
def test_check__ordinary_functions_without_ranges__fails_the_wrong_ones_only(name: str) -> None:
    report = check(parse_inputs([str(FOLDER / name)]), CheckOptions(cache=default_cache()))
    results = by_name(report)

    def having(*verdicts: Verdict) -> AbstractSet[str]:
        return {function for function, result in results.items() if result.verdict in verdicts}

    wrong = {function for function in results if function.startswith("wrong")} | WRONG_IN_SLANG[name].keys()
    assert having(Verdict.FAIL) == wrong
    assert having(Verdict.UNGUARDED) == UNGUARDED[name]
    assert having(Verdict.PASS, Verdict.KINK_OK) == results.keys() - wrong - UNGUARDED[name]
    assert len(results) - len(wrong) >= 20
    for function, cause in WRONG_IN_SLANG[name].items():
        assert cause in results[function].reason
