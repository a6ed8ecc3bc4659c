"""The JSON of a check: its published schema, and every number in it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from support import reports

from slangad.compiler.report.check_json import check_json
from slangad.compiler.report.check_schema import check_schema

if TYPE_CHECKING:
    from slangad.compiler.report.model import Report

SCHEMA = Path(__file__).resolve().parent.parent.parent / "docs" / "check-report.schema.json"


def _parsed(report: Report) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(check_json(report), parse_constant=refuse)


def test_schema__the_published_file__is_the_models(request: pytest.FixtureRequest) -> None:
    text = json.dumps(check_schema(), indent=2, ensure_ascii=False) + "\n"
    if request.config.getoption("--update"):
        SCHEMA.write_text(text, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == text, "write it anew with `pytest --update tests/report`"
    jsonschema.Draft202012Validator.check_schema(check_schema())


def test_schema__the_command__prints_the_published_file() -> None:
    ended = subprocess.run([sys.executable, "-m", "slangad.cli", "schema", "report"], capture_output=True, check=True)
    assert ended.stdout == SCHEMA.read_bytes()


@pytest.mark.parametrize("report", reports.REPORTS.values(), ids=reports.REPORTS)
def test_json__any_report__fits_the_schema_which_names_every_field(report: Report) -> None:
    jsonschema.Draft202012Validator(check_schema(closed=True)).validate(_parsed(report))


def test_schema__a_report_with_a_wrong_verdict__does_not_fit() -> None:
    document = _parsed(reports.every_verdict())
    document["results"][0]["verdict"] = "FINE"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(check_schema()).validate(document)


def test_json__numbers__come_back_as_they_were() -> None:
    failure = _parsed(reports.report(reports.result(reports.Verdict.FAIL)))["results"][0]["failures"][0]
    made = reports.failure()
    assert failure["curve"]["errors"] == list(made.curve.errors if made.curve else ())
    assert failure["jacobian"]["found"] == [[0.5, 2.0, 0.0], [-0.75, -1.5, -0.0]]
    assert failure["jacobian"]["difference"] == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert failure["sample"]["inputs"][1] == {"path": "v.y", "value": 0.7000000000000001}
    assert failure["sample"]["inputs"][4]["value"] is True
    assert failure["ratio"] == 2.0


def test_json__what_is_no_number__is_a_string_that_float_reads() -> None:
    results = _parsed(reports.extreme())["results"]
    found = results[2]["failures"][0]["jacobian"]["found"][0]
    assert found[:3] == ["NaN", "Infinity", "-Infinity"]
    assert math.isnan(float(found[0]))
    assert float(found[2]) == -math.inf
    assert found[3] == 1e300


def test_json__counts_and_ok__are_derived() -> None:
    document = _parsed(reports.every_verdict())
    assert list(document)[:2] == ["schema", "ok"]
    assert document["ok"] is False
    assert set(document["counts"].values()) == {1}
    assert _parsed(reports.report())["ok"] is True
    assert (
        _parsed(reports.report(reports.Result("", "", "function", reports.Verdict.SKIPPED)))["results"][0]["span"]
        is None
    )
