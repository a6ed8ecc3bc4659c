"""Write a gradient check as SARIF 2.1.0, a log that code scanning and editors show.

A verdict is a rule; every failure is a result at the function in the user's file, with the generated Slang as related
location. Right functions are not in the log, except as a count.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final, Literal

from slangad.compiler.report.check_json import json_value
from slangad.compiler.report.check_text import facts_of
from slangad.compiler.report.figures import encodable
from slangad.compiler.report.paths import uri
from slangad.compiler.report.words import SEVERITY, VERDICTS, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.report.model import Failure, Generated, Report, Result, Verdict

Json = dict[str, object]
Level = Literal["error", "warning", "note"]

SCHEMA_URI: Final = "https://json.schemastore.org/sarif-2.1.0.json"
GENERATED: Final = "GENERATED"
"""The folder that generated Slang would be in; it need not exist."""
RULES: Final = tuple(verdict for verdict in SEVERITY if not verdict.good)


def sarif_json(report: Report) -> str:
    """Return the report as one SARIF log."""
    log = {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [_run(report)]}
    return json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def level_of(verdict: Verdict, *, fails: bool) -> Level:
    """Return the level of a verdict: an error if it makes the check fail."""
    if fails:
        return "error"
    return "warning" if verdict.value in ("INCONCLUSIVE", "UNGUARDED") else "note"


def _run(report: Report) -> Json:
    driver: Json = {
        "name": "slangad check",
        "version": encodable(report.version),
        "rules": [_rule(verdict) for verdict in RULES],
    }
    return {
        "tool": {"driver": driver},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {GENERATED: {"description": {"text": "The folder of the generated Slang."}}},
        "columnKind": "unicodeCodePoints",
        "results": [made for result in report.results for made in _results(result, report)],
        "properties": {
            "seed": report.seed,
            "device": encodable(report.device),
            "samples": report.samples,
            "toolchain": [f"{encodable(name)} {encodable(version)}" for name, version in report.toolchain],
            "verdicts": {verdict.value: report.count(verdict) for verdict in SEVERITY},
            "coverage": json_value(report.coverage),
        },
    }


def _invocation(report: Report) -> Json:
    """Return the command; what makes the check fail besides its results is a notification."""
    problems = [{"level": "error", "message": {"text": encodable(problem)}} for problem in report.problems]
    made: Json = {"commandLine": encodable(report.command), "executionSuccessful": True}
    return {**made, "toolExecutionNotifications": problems} if problems else made


def _rule(verdict: Verdict) -> Json:
    words = VERDICTS[verdict]
    return {
        "id": verdict.value,
        "name": words.title.title().replace(" ", ""),
        "shortDescription": {"text": words.title},
        "fullDescription": {"text": words.short},
        "help": {"text": words.advice},
        "defaultConfiguration": {"level": level_of(verdict, fails=verdict.bad)},
        "properties": {"tags": ["gradient"], "precision": "very-high"},
    }


def _results(result: Result, report: Report) -> Iterator[Json]:
    if result.verdict.good:
        return
    for failure in result.shown_failures or (None,):
        span = failure.span if failure and failure.span.line else result.span
        verdict = failure.verdict if failure and not failure.verdict.good else result.verdict
        made: Json = {
            "ruleId": verdict.value,
            "ruleIndex": RULES.index(verdict),
            "level": "note" if result.known else level_of(verdict, fails=report.fails(result)),
            "message": {"text": _message(result, failure)},
            "locations": [_location(result, span)],
            "partialFingerprints": {"slangadCheck/v1": _fingerprint(result, failure)},
            "properties": _properties(result, failure),
        }
        if report.baseline:
            made["baselineState"] = "unchanged" if result.known else "new"
        related = list(_related(result, span))
        if related:
            made["relatedLocations"] = related
        yield made


def _message(result: Result, failure: Failure | None) -> str:
    """Return one sentence, then what is known, a line each."""
    if failure is None:
        reason = result.reason or VERDICTS[result.verdict].short
        return encodable(f"{name_of(result)}: {reason}")
    facts = [f"{label}: {', '.join(filter(None, texts))}" for label, texts in facts_of(failure) if any(texts)]
    return encodable("\n".join([f"{name_of(result)}: {failure.message}", *facts]))


def _location(result: Result, span: Span) -> Json:
    """Return a location of a function; a line is needed, so one that is not known is the first."""
    region: Json = {"startLine": max(span.line, 1)}
    if span.line:
        region |= {"startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}
    name = encodable(name_of(result))
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(result.file if span == result.span else span.file)},
            "region": region,
        },
        "logicalLocations": [{"name": name, "fullyQualifiedName": name, "kind": "function"}],
    }


def _related(result: Result, span: Span) -> Iterator[Json]:
    """Yield the function if a failure is located at its derivative, and the Slang made from it."""
    if span != result.span:
        yield {"id": 2, "message": {"text": "the function"}, **_location(result, result.span)}
    if result.generated is not None:
        yield _generated(result.generated)


def _generated(generated: Generated) -> Json:
    place = {"uri": uri(generated.file), "uriBaseId": GENERATED}
    region: Json = {"startLine": max(generated.line, 1)}
    if generated.text:
        region["snippet"] = {"text": encodable(generated.text)}
    return {
        "id": 1,
        "message": {"text": "the generated Slang"},
        "physicalLocation": {"artifactLocation": place, "region": region},
    }


def _fingerprint(result: Result, failure: Failure | None) -> str:
    """Return a hash that stays equal while a failure stays, wherever it moves in its file."""
    parts = [uri(result.file), result.function]
    parts += [failure.leg.value, failure.row, failure.column] if failure else [result.verdict.value]
    return hashlib.sha256("\0".join(map(encodable, parts)).encode()).hexdigest()[:32]


def _properties(result: Result, failure: Failure | None) -> Json:
    """Return the properties of a result for programs. The JSON report has the rest."""
    if failure is None:
        return {"verdict": result.verdict.value}
    names = ("expected", "error", "bounds", "found", "ratio", "cause", "reproduce", "row", "column")
    values = {name: json_value(getattr(failure, name)) for name in names}
    return {"verdict": result.verdict.value, "leg": failure.leg.value} | {
        name: value for name, value in values.items() if value not in (None, "")
    }
