"""Write a gradient check as a JUnit file, which Jenkins and GitLab show.

A suite is a file of the user's, a test case is a function. A result that makes the check fail is a failure.
INCONCLUSIVE and SKIPPED are skipped tests unless the check is strict. The dialect is that of pytest (its
``junit-10.xsd``).
"""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from slangad.compiler.report.check_text import covered, render_result
from slangad.compiler.report.figures import encodable
from slangad.compiler.report.model import Verdict, coverage_of
from slangad.compiler.report.words import name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.report.model import Report, Result

NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(report: Report) -> str:
    """Return the report as one JUnit document."""
    root = Element("testsuites", {"name": "slangad check", **_sums(report.results, report, len(report.problems))})
    root.set("time", _seconds(report.seconds))
    files: dict[str, list[Result]] = {}
    for result in report.results:
        files.setdefault(result.file, []).append(result)
    for file, results in files.items():
        suite = SubElement(root, "testsuite", {"name": xml_text(file), **_sums(results, report)})
        suite.set("skipped", str(sum(_skipped(result, report) for result in results)))
        suite.set("time", _seconds(sum(result.seconds for result in results)))
        _properties(suite, report, results)
        for result in results:
            _case(suite, result, report)
    if report.problems:
        root.append(_problems(report))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def xml_text(text: str) -> str:
    """Return the text with a replacement for each character that XML can't carry."""
    return NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", encodable(text))


def _sums(results: Sequence[Result], report: Report, more: int = 0) -> dict[str, str]:
    failures = sum(report.fails(result) for result in results) + more
    return {"tests": str(len(results) + more), "failures": str(failures), "errors": "0"}


def _problems(report: Report) -> Element:
    """Return a suite of the problems that make the check fail besides its results."""
    count = str(len(report.problems))
    suite = Element("testsuite", {"name": "slangad check", "tests": count, "failures": count, "errors": "0"})
    suite.set("skipped", "0")
    suite.set("time", _seconds(0.0))
    for problem in report.problems:
        case = SubElement(suite, "testcase", classname="slangad", name="coverage", time=_seconds(0.0))
        SubElement(case, "failure", type="coverage", message=xml_text(problem))
    return suite


def _properties(suite: Element, report: Report, results: Sequence[Result]) -> None:
    facts = {
        "slangad": report.version,
        "device": report.device,
        "seed": str(report.seed),
        "samples": str(report.samples),
        "command": report.command,
        "coverage": covered(coverage_of(results)),
        **dict(report.toolchain),
    }
    properties = SubElement(suite, "properties")
    for name, value in facts.items():
        SubElement(properties, "property", name=xml_text(name), value=xml_text(value))


def _case(suite: Element, result: Result, report: Report) -> None:
    case = SubElement(suite, "testcase", classname=_class_name(result.file), name=xml_text(name_of(result)))
    case.set("time", _seconds(result.seconds))
    verdict, message = result.verdict.value, xml_text(result.reason)
    if report.fails(result):
        SubElement(case, "failure", type=verdict, message=message or verdict).text = xml_text(render_result(result))
    elif _skipped(result, report):
        known = "known from the baseline: " if result.known else ""
        SubElement(case, "skipped", type=verdict, message=known + (message or verdict))
    if not report.fails(result) and (result.notes or result.verdict is Verdict.UNGUARDED):
        SubElement(case, "system-out").text = xml_text(render_result(result))


def _skipped(result: Result, report: Report) -> bool:
    return not result.verdict.right and not report.fails(result)


def _class_name(file: str) -> str:
    """Return the name of a file as Python's tests are named: ``samples.brdf`` for ``samples/brdf.py``."""
    path = PurePath(file)
    return xml_text(".".join(path.relative_to(path.anchor).with_suffix("").parts)) if path.name else xml_text(file)


def _seconds(seconds: float) -> str:
    return f"{seconds if math.isfinite(seconds) else 0.0:.3f}"
