"""The text of a check: what people read, so exact; and nothing in a report that can break it."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from support import reports

from slangad.compiler.report.check_text import render_check, render_result
from slangad.compiler.report.model import Report, Verdict
from slangad.compiler.report.terminal import texts_of_check

FAILURE = """\
samples/brdf.py:12:5: FAIL shade: the derivative of result[0] by v.y is wrong
  leg        reverse: reverse mode in float64 against differences
  sample     3 (random), wrong
  input      v.x = 0.1
             v.y = 0.7000000000000001
             v.z = -1.0
             n = 3
             b = true
  result     result[0] = 1.25
             result[1] = -3.5
  cotangent  result[0] = 1.0
             result[1] = 0.0
  entry      d result[0] / d v.y
  expected   1 ± 1e-09
  found      2
  ratio      2
  likely     a factor of 2
  note       seen at 12 of 64 samples
  reproduce  slangad check samples/brdf.py --only shade --seed 0
  generated  brdf.slang:31
"""


def test_text__a_failure__is_shown_in_full() -> None:
    text = render_check(reports.report(reports.result(), reports.result(Verdict.FAIL)))
    assert FAILURE in text
    assert text.splitlines()[-2:] == [
        "2 results: 1 FAIL, 1 PASS in 1.5 s, seed 0, cpu",
        "checked 2 of 2 functions",
    ]


def test_text__rows__one_a_result_under_its_file() -> None:
    lines = render_check(reports.every_verdict()).splitlines()
    assert lines[0] == "samples/a.py"
    rows = [line.split() for line in lines if line.startswith("  ") and line.split()[0] in Verdict.__members__]
    assert [row[0] for row in rows] == [verdict.value for verdict in Verdict]
    assert rows[1][2:4] == ["✗", "reverse"]


def test_text__in_detail__says_how_far_float32_was_tested() -> None:
    report = reports.every_verdict()
    lines = render_check(report, detail=True).splitlines()
    told = [line.strip() for line in lines if line.strip().startswith("float32: ")]
    assert told == ["float32: 60 samples compared on cpu, 4 at a kink or a jump"] * (len(report.results) - 1)
    assert [line for line in lines if line.strip() not in told] == render_check(report).splitlines()
    assert [text.plain.rstrip() for text in texts_of_check(report, detail=True)] == lines


@pytest.mark.parametrize("found", [1.001, 1.0000001, 1.0 + 2**-40])
def test_text__found_close_to_expected__both_look_different(found: float) -> None:
    failure = replace(reports.failure(), expected=1.0, error=1e-14, found=found)
    lines = render_result(replace(reports.result(Verdict.FAIL), failures=(failure,))).splitlines()
    shown = {
        line.split()[0]: line.split()[1] for line in lines if line.startswith(("  expected", "  found", "  ratio"))
    }
    assert shown["expected"] != shown["found"]
    assert shown["ratio"] != "1"


@pytest.mark.parametrize("report", reports.REPORTS.values(), ids=reports.REPORTS)
def test_text__any_report__steers_no_terminal_and_says_the_same_in_colour(report: Report) -> None:
    text = render_check(report)
    assert not {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs"}} - {"\n"}
    assert text == "".join(line.plain.rstrip() + "\n" for line in texts_of_check(report))
    for result in report.results:
        assert result.verdict.value in render_result(result)
