"""JUnit, SARIF and GitHub: valid against the schemas that others publish, and nothing in a report that breaks out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from support import reports

from slangad.compiler.errors.spans import Span
from slangad.compiler.report.formats import FORMATS, publish, render
from slangad.compiler.report.github import markdown, step_summary, workflow_commands
from slangad.compiler.report.junit import junit_xml
from slangad.compiler.report.model import Verdict
from slangad.compiler.report.sarif import sarif_json

if TYPE_CHECKING:
    from slangad.compiler.report.model import Report

SCHEMAS = Path(__file__).resolve().parent / "schemas"
every_report = pytest.mark.parametrize("report", reports.REPORTS.values(), ids=reports.REPORTS)


@pytest.fixture(scope="module")
def junit() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd"))


@pytest.fixture(scope="module")
def sarif() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8")))


def _run(report: Report) -> Any:
    (run,) = json.loads(sarif_json(report))["runs"]
    return run


@every_report
def test_formats__any_report__is_text_that_can_be_encoded(report: Report) -> None:
    for name in FORMATS:
        text = render(report, name).encode()
        assert text.endswith(b"\n") or (name == "github" and not text)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_formats__a_result_about_a_whole_file__says_so(name: str) -> None:
    failure = replace(reports.failure(), message="no such parameter")
    file = replace(reports.result(Verdict.FAIL, ""), failures=(failure,))
    assert "(file)" in render(reports.report(file), name)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_formats__what_is_wrong_because_of_another__is_told_once(name: str) -> None:
    report = reports.blamed()
    alone = replace(report, results=report.results[:1])
    sign = "the derivative of result[0] by v.y is wrong"
    text = render(report, name)
    assert text.count(sign) == render(alone, name).count(sign)
    assert "its derivative is made from that of" in text


# --- JUnit


@every_report
def test_junit__any_report__is_valid_against_the_schema_of_pytest(report: Report, junit: xmlschema.XMLSchema) -> None:
    junit.validate(junit_xml(report))


@every_report
def test_junit__sums__are_those_of_the_cases(report: Report) -> None:
    root = ElementTree.fromstring(junit_xml(report))
    for suite in (root, *root.iter("testsuite")):
        assert suite.get("tests") == str(len(list(suite.iter("testcase"))))
        assert suite.get("failures") == str(len(list(suite.iter("failure"))))
        assert suite.get("skipped", str(len(list(suite.iter("skipped"))))) == str(len(list(suite.iter("skipped"))))
    assert len(list(root.iter("testcase"))) == len(report.results)
    assert (not list(root.iter("failure"))) == report.ok


@pytest.mark.parametrize("strict", [False, True])
def test_junit__verdicts__fail_skip_or_pass(strict: bool) -> None:
    root = ElementTree.fromstring(junit_xml(reports.every_verdict(strict=strict)))
    said = {case.get("name", ""): {child.tag: child.get("type") for child in case} for case in root.iter("testcase")}
    assert said["f0_pass"] == {}
    assert said["f1_fail"] == {"failure": "FAIL"}
    assert said["f3_kink_bad"] == {"failure": "KINK_BAD"}
    assert said["f7_skipped"] == {"failure" if strict else "skipped": "SKIPPED"}
    assert root.find("testsuite/testcase[@name='f1_fail']/failure").text.count("ratio") == 1  # type: ignore[union-attr]  # it is there
    assert root.find("testsuite/testcase").get("classname") == "samples.a"  # type: ignore[union-attr]  # it is there


# --- SARIF


@every_report
def test_sarif__any_report__is_valid_against_the_published_schema(
    report: Report, sarif: jsonschema.Draft4Validator
) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    sarif.validate(json.loads(sarif_json(report), parse_constant=refuse))


def test_sarif__a_failure__is_at_the_function_with_the_slang_as_related_location() -> None:
    (result,) = _run(reports.report(reports.result(), reports.result(Verdict.FAIL)))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "samples/brdf.py"}
    assert place["region"] == {"startLine": 12, "startColumn": 5, "endLine": 12, "endColumn": 10}
    related = result["relatedLocations"][0]["physicalLocation"]
    assert related == {
        "artifactLocation": {"uri": "brdf.slang", "uriBaseId": "GENERATED"},
        "region": {"startLine": 31},
    }
    assert (result["ruleId"], result["level"]) == ("FAIL", "error")
    assert result["properties"]["ratio"] == 2.0


@pytest.mark.parametrize("strict", [False, True])
def test_sarif__rules__are_the_verdicts_that_are_not_right(strict: bool) -> None:
    run = _run(reports.every_verdict(strict=strict))
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert set(rules) == {verdict.value for verdict in Verdict if not verdict.good}
    levels = {}
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        levels[result["ruleId"]] = result["level"]
    assert set(levels) == set(rules)
    assert levels["SKIPPED"] == ("error" if strict else "note")
    assert levels["INCONCLUSIVE"] == ("error" if strict else "warning")


def test_sarif__fingerprint__stays_when_the_function_moves_and_differs_between_failures() -> None:
    def prints(*results: reports.Result) -> list[str]:
        return [each["partialFingerprints"]["slangadCheck/v1"] for each in _run(reports.report(*results))["results"]]

    wrong = reports.result(Verdict.FAIL)
    moved = replace(wrong, span=Span(wrong.file, 99, 5, 99, 10))
    other = replace(wrong, failures=(*wrong.failures, replace(wrong.failures[0], column="v.z")))
    assert prints(wrong) == prints(moved)
    assert len(set(prints(other, replace(wrong, function="other")))) == 3


def test_sarif__file_names__become_relative_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [str(tmp_path / "a b.py"), "./ü:%.py", "../out.py", str(tmp_path.parent / "there.py")]
    results = _run(reports.report(*(reports.result(Verdict.FAIL, file=name) for name in names)))["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert uris[:3] == ["a%20b.py", "%C3%BC%3A%25.py", "../out.py"]
    assert uris[3] == (tmp_path.parent / "there.py").as_uri()


# --- GitHub


COMMAND = re.compile(r"::(error|warning|notice) ([^:]*?)::(.*)")


@every_report
def test_github__any_report__has_at_most_ten_commands_of_a_severity_and_no_others(report: Report) -> None:
    lines = workflow_commands(report).splitlines()
    found = [COMMAND.fullmatch(line) for line in lines]
    assert all(found), lines
    severities = [match[1] for match in found if match]
    assert all(severities.count(severity) <= 10 for severity in ("error", "warning", "notice"))
    assert ("error" in severities) != report.ok


def test_github__more_than_ten__the_most_severe_are_shown() -> None:
    less = (reports.result(Verdict.PRECISION, f"p{number}") for number in range(20))
    worse = (reports.result(verdict, verdict.value) for verdict in (Verdict.KINK_BAD, Verdict.FAIL))
    lines = workflow_commands(reports.report(*less, *worse)).splitlines()
    titles = [line.split("title=")[1].split("::")[0] for line in lines]
    assert titles == ["FAIL FAIL", "KINK_BAD KINK_BAD", *(f"PRECISION p{number}" for number in range(8))]


@pytest.mark.parametrize("more", [0, 1, 33])
def test_github__more_than_ten__the_tenth_says_how_many_more_and_where(more: int) -> None:
    wrong = (reports.result(Verdict.FAIL, f"f{number}", line=number + 1) for number in range(10 + more))
    lines = workflow_commands(reports.report(*wrong)).splitlines()
    assert not any("without an annotation" in line for line in lines[:9])
    own, _, told = lines[9].partition("%0A%0A")
    assert own.endswith(lines[8].partition("::the derivative")[2])
    places = [f"  samples/brdf.py:{number + 1}:5: FAIL f{number}" for number in range(10, min(10 + more, 30))]
    others = [f"  and {more - 20} others"] if more > 20 else []
    count = f"{more} more error{'s' if more > 1 else ''}, without an annotation; the summary of the step has all:"
    assert told.split("%0A") == ([count, *places, *others] if more else [""])


def test_github__an_annotation__names_the_place_and_escapes() -> None:
    failure = replace(reports.failure(), message="50 % of\n::it", sample=None, cotangent=(), curve=None, notes=())
    wrong = replace(reports.result(Verdict.FAIL, "a,b:c", "x,y:z%.py"), failures=(failure,))
    first = workflow_commands(reports.report(wrong)).splitlines()[0]
    head, message = first.split("::", 2)[1:]
    assert head == ("error file=x%2Cy%3Az%25.py,line=12,endLine=12,col=5,endColumn=10,title=FAIL a%2Cb%3Ac")
    assert message.startswith("50 %25 of\N{REPLACEMENT CHARACTER}::it%0Aleg  reverse")


def test_github__summary__is_added_to_the_file_of_the_step(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n", encoding="utf-8")
    texts: list[str] = []
    report = reports.every_verdict()
    publish(report, "github", texts.append, {"GITHUB_STEP_SUMMARY": str(file)})
    publish(report, "github", texts.append, {})
    publish(report, "sarif", texts.append, {"GITHUB_STEP_SUMMARY": str(file)})
    assert texts[0] == texts[1] == workflow_commands(report)
    assert file.read_text(encoding="utf-8") == "before\n" + step_summary(report)


@every_report
def test_github__summary__fits_and_has_no_html_but_its_own(report: Report) -> None:
    text = step_summary(report)
    assert len(text.encode()) < 1 << 20
    own = text.replace("<details>", "").replace("</details>", "").replace("<summary>", "").replace("</summary>", "")
    outside = [line for line in own.splitlines() if not line.startswith("    ")]
    assert not [line for line in outside if re.search(r"(?<!\\)<", line)]
    rows = [line for line in outside if line.startswith("| **")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 6 for line in rows)


def test_github__markdown__is_shown_as_it_was() -> None:
    assert markdown("a*b_c|<b>`") == r"a\*b\_c\|\<b\>\`"
    assert len(markdown("x" * 1000)) < 300
