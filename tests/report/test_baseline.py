"""A baseline: what it lists, what is new since then, and what no longer occurs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support import reports

from slangad.compiler.report.baseline import read_baseline, text_of, with_baseline
from slangad.compiler.report.check_text import render_check
from slangad.compiler.report.github import workflow_commands
from slangad.compiler.report.junit import junit_xml
from slangad.compiler.report.model import Verdict
from slangad.compiler.report.sarif import sarif_json

if TYPE_CHECKING:
    from pathlib import Path


def test_baseline__of_each_verdict__lists_what_fails_sorted_and_relative(tmp_path: Path) -> None:
    file = tmp_path / "ci" / "known.json"
    bad = (reports.result(Verdict.FAIL, "z", str(tmp_path / "a.py")), reports.result(Verdict.PRECISION, "b", "/x/c.py"))
    left = (reports.result(Verdict.SKIPPED, "s"), reports.result(Verdict.PASS, "p"))
    entries = json.loads(text_of(reports.report(*bad, *left), file))["known"]
    assert [(one["function"], one["verdict"], one["leg"]) for one in entries] == [
        ("b", "PRECISION", "reverse"),
        ("z", "FAIL", "reverse"),
    ]
    assert entries[1]["file"] == "../a.py"
    strict = json.loads(text_of(reports.report(*bad, *left, strict=True), file))["known"]
    assert {"SKIPPED"} == {one["verdict"] for one in strict if one["leg"] == ""}


def test_baseline__in_every_report__known_results_are_no_failures(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    report = reports.every_verdict(strict=True)
    known = with_baseline(report, read_baseline(text_of(report, file)), file, selected=False)
    assert known.ok
    assert known.gone == ()
    assert "in the baseline" in render_check(known)
    assert "<failure" not in junit_xml(known)
    assert "::error" not in workflow_commands(known)
    states = {one["baselineState"] for run in json.loads(sarif_json(known))["runs"] for one in run["results"]}
    assert states == {"unchanged", "new"}  # an expected failure is in no baseline


def test_baseline__entries_that_no_longer_occur__fail_under_strict(tmp_path: Path) -> None:
    file, path = tmp_path / "known.json", str(tmp_path / "a.py")
    (tmp_path / "a.py").touch()
    (tmp_path / "b.py").touch()
    old = [reports.result(Verdict.FAIL, name, path) for name in ("f", "g")]
    old += [reports.result(Verdict.FAIL, "h", str(tmp_path / other)) for other in ("b.py", "missing.py")]
    entries = read_baseline(text_of(reports.report(*old), file))
    now = reports.report(old[0], reports.result(Verdict.PASS, "g", path), strict=True)
    since = with_baseline(now, entries, file, selected=False)
    assert [(one.file, one.function) for one in since.gone] == [("a.py", "g"), ("missing.py", "h")]
    assert not since.ok
    assert "2 entries of it no longer occur" in render_check(since)
    assert "a.py: FAIL g (reverse)" in render_check(since)
    some = with_baseline(reports.report(old[0]), entries, file, selected=True)
    assert [one.file for one in some.gone] == ["missing.py"]
    worse = reports.report(reports.result(Verdict.PRECISION, "f", path))
    assert not with_baseline(worse, entries, file, selected=True).ok
