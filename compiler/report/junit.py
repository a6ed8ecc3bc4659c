"""A gradient check as a JUnit file: a ``Report`` goes in, XML that Jenkins and GitLab show.

A suite is a file of the user's, a test case is a function. What makes the check fail is a failure; INCONCLUSIVE and
SKIPPED are skipped tests unless the check is strict. The dialect is that of pytest (its ``junit-10.xsd``).
"""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from slangad.compiler.report.check_text import render_result
from slangad.compiler.report.figures import encodable
from slangad.compiler.report.words import name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.report.model import Report, Result

NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(report: Report) -> str:
    """Return the report as one JUnit document."""
    root = Element("testsuites", {"name": "slangad check", **_sums(report.results, report)})
    root.set("time", _seconds(report.seconds))
    files: dict[str, list[Result]] = {}
    for result in report.results:
        files.setdefault(result.file, []).append(result)
    for file, results in files.items():
        suite = SubElement(root, "testsuite", {"name": xml_text(file), **_sums(results, report)})
        suite.set("skipped", str(sum(_skipped(result, report) for result in results)))
        suite.set("time", _seconds(sum(result.seconds for result in results)))
        _properties(suite, report)
        for result in results:
            _case(suite, result, report)
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def xml_text(text: str) -> str:
    """Return the text with a replacement for each character that XML can't carry."""
    return NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", encodable(text))


def _sums(results: Sequence[Result], report: Report) -> dict[str, str]:
    failures = sum(result.fails(strict=report.strict) for result in results)
    return {"tests": str(len(results)), "failures": str(failures), "errors": "0"}


def _properties(suite: Element, report: Report) -> None:
    facts = {
        "slangad": report.version,
        "device": report.device,
        "seed": str(report.seed),
        "samples": str(report.samples),
        "command": report.command,
        **dict(report.toolchain),
    }
    properties = SubElement(suite, "properties")
    for name, value in facts.items():
        SubElement(properties, "property", name=xml_text(name), value=xml_text(value))


def _case(suite: Element, result: Result, report: Report) -> None:
    case = SubElement(suite, "testcase", classname=_class_name(result.file), name=xml_text(name_of(result)))
    case.set("time", _seconds(result.seconds))
    verdict, message = result.verdict.value, xml_text(result.reason)
    if result.fails(strict=report.strict):
        SubElement(case, "failure", type=verdict, message=message or verdict).text = xml_text(render_result(result))
    elif _skipped(result, report):
        SubElement(case, "skipped", type=verdict, message=message or verdict)
    if not result.fails(strict=report.strict) and result.notes:
        SubElement(case, "system-out").text = xml_text(render_result(result))


def _skipped(result: Result, report: Report) -> bool:
    return not result.verdict.good and not result.fails(strict=report.strict)


def _class_name(file: str) -> str:
    """``samples/brdf.py`` is ``samples.brdf``, as Python's tests are named."""
    path = PurePath(file)
    return xml_text(".".join(path.relative_to(path.anchor).with_suffix("").parts)) if path.name else xml_text(file)


def _seconds(seconds: float) -> str:
    return f"{seconds if math.isfinite(seconds) else 0.0:.3f}"
