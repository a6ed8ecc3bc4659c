"""A program that can't be compared is found among others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.isolated import compare_apart
from support.programs import Generated

if TYPE_CHECKING:
    from pathlib import Path


def program(number: int, value: str) -> Generated:
    text = f"@sa.differentiable\ndef f{number}(p0: F) -> F:\n    return {value}\n"
    return Generated(f"f{number}", text, (("p0", "F"),), "F", 1)


@pytest.mark.toolchain
def test_compare_apart__one_program_is_refused__is_the_one_named(tmp_path: Path) -> None:
    values = ["p0 * 2.0", "sa.sin(p0)", "p0 * p0", "unknown"]
    programs = [program(number, value) for number, value in enumerate(values)]
    report = compare_apart(programs, tmp_path, 1)
    assert [m.program.name for m in report.mismatches] == ["f3"]
    assert "unknown" in report.mismatches[0].details
    assert report.compared == 2 * 8
