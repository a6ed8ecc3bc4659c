"""A loop with an inverse of the user's passes if the inverse is right, and fails if it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from check.conftest import by_name

from slangad.compiler.check.options import CheckOptions
from slangad.compiler.check.session import check
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.report.model import Verdict
from slangad.compiler.toolchain.cache import default_cache

INPUT = Path(__file__).parents[1] / "cases" / "loops" / "inverse" / "input.py"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("", ""),
        ("c * y - s * x", "c * y + s * x"),
        ("return c * x + s * y, c", "return x, c"),
        ("angles[k]", "angles[0]"),
    ],
)
def test_check__a_loop_with_an_inverse__fails_if_the_inverse_is_wrong(tmp_path: Path, right: str, wrong: str) -> None:
    text = INPUT.read_text(encoding="utf-8")
    inverse = text[: text.index("@sa.kernel")]
    assert right in inverse
    file = tmp_path / "turn.py"
    file.write_text(text.replace(inverse, inverse.replace(right, wrong) if right else inverse), encoding="utf-8")
    only = ("turn",) if right else ("turn", "doubled", "shrunk", "backwards")
    report = check(parse_inputs([str(file)]), CheckOptions(cache=default_cache(), only=only))
    verdicts = {name: result.verdict for name, result in by_name(report).items()}
    assert verdicts.keys() == {*only}
    assert {*verdicts.values()} <= ({Verdict.FAIL} if right else {Verdict.PASS, Verdict.KINK_OK})
