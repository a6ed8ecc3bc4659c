"""A number in two floats, as docs/in-the-wild.md has it: a function of plain floats notices wrong derivatives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

PAGE = Path(__file__).parents[2] / "docs" / "in-the-wild.md"
SIGN = "a = diffPair(a.p, df_mul(g, b.p));"
SKIP = "// check: skip a number in two floats\n[BackwardDerivative(df_"


def test_check__a_wrong_term_for_the_parts__fails_in_the_function_of_the_whole(checked: Checked) -> None:
    (text,) = re.findall(r"`two_floats.slang`:\n\n```slang\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    right = text.replace("[BackwardDerivative(df_", SKIP)
    wrong = right.replace(SIGN, SIGN.replace("b.p", "a.p"))
    assert wrong != right
    parts = dict.fromkeys(("df_mul", "df_from", "df_value"), Verdict.SKIPPED)
    for one, verdict in ((right, Verdict.PASS), (wrong, Verdict.FAIL)):
        results = checked(one, ".slang", samples=16)
        assert {name: result.verdict for name, result in results.items()} == {**parts, "product": verdict}
