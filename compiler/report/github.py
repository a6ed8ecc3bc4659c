"""Write a gradient check for GitHub Actions: workflow commands, and the summary of a step.

GitHub keeps ten annotations of a severity from a step, so those are the most severe; the tenth says how many more there
are and where. The summary, in Markdown, has the others too.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.check_text import covered, evidence, facts_of, place_of, tally
from slangad.compiler.report.figures import counted, duration, encodable
from slangad.compiler.report.paths import below_here
from slangad.compiler.report.sarif import level_of
from slangad.compiler.report.text import display
from slangad.compiler.report.words import VERDICTS, name_of, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.report.model import Failure, Report, Result

MOST_ANNOTATIONS: Final = 10
"""The number of annotations of a severity that GitHub shows for one step."""
MOST_PLACES: Final = 20
"""The number of further results that the last annotation names."""
MOST_ROWS: Final = 500
MOST_FAILURES: Final = 50
"""The number of failures in the summary. GitHub refuses summaries of more than a MiB."""
MOST_TEXT: Final = 200
"""Characters of one cell of the summary's table."""
COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&@:$])")


def workflow_commands(report: Report) -> str:
    """Return a command for each of the worst results. The command line adds the summary."""
    lines: list[str] = []
    for severity, command in COMMANDS.items():
        results = [result for result in worst_first(report) if _level(result, report) == severity]
        shown, rest = results[:MOST_ANNOTATIONS], results[MOST_ANNOTATIONS:]
        lines += [_annotation(command, result) for result in shown[:-1]]
        lines += [_annotation(command, result, _rest(severity, rest)) for result in shown[-1:]]
    lines += [f"::error title=slangad check::{_data(display(problem))}" for problem in report.problems]
    return "".join(f"{line}\n" for line in lines)


def add_step_summary(report: Report, environment: Mapping[str, str]) -> None:
    """Add the summary to the file that GitHub Actions names; without one do nothing.

    Raises:
        OSError: It can't be written.
    """
    name = environment.get("GITHUB_STEP_SUMMARY")
    if name:
        with Path(name).open("a", encoding="utf-8", newline="\n") as file:
            file.write(step_summary(report))


def step_summary(report: Report) -> str:
    """Return the report in Markdown: a table of the results that are not right, and the failures below it."""
    bad = [result for result in worst_first(report) if not result.verdict.good]
    title = "## Gradient check: " + ("passed" if report.ok else "failed")
    about = f"{tally(report)}. {duration(report.seconds)}, seed {report.seed}, {markdown(report.device)}."
    lines = [title, "", about, "", markdown(covered(report.coverage)), ""]
    lines += [line for problem in report.problems for line in (f"**{markdown(problem)}**", "")]
    if bad:
        lines += ["| verdict | function | place | reason | evidence |", "|---|---|---|---|---|"]
        lines += [_table_row(result) for result in bad[:MOST_ROWS]]
        lines += [f"\nand {len(bad) - MOST_ROWS} more, not shown"] if len(bad) > MOST_ROWS else []
        lines += ["", *_failures(bad)]
    return "\n".join(lines) + "\n"


def markdown(text: str) -> str:
    """Return the text on one line, with nothing that Markdown, HTML or GitHub's mentions take for their own."""
    return _MARKDOWN.sub(r"\\\1", _line(text))


def _line(text: str) -> str:
    """Return the text on one line that is not too long."""
    cut = text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
    return encodable(display(cut))


def _level(result: Result, report: Report) -> str:
    return "" if result.verdict.good or result.known else level_of(result.verdict, fails=report.fails(result))


def _annotation(command: str, result: Result, more: Sequence[str] = ()) -> str:
    first = next((failure.span for failure in result.shown_failures if failure.span.line), result.span)
    span = first if first.line else result.span
    place = {"file": below_here(result.file if span == result.span else span.file)}
    if span.line:
        place |= {"line": str(span.line), "endLine": str(span.end_line)}
    if span.line and span.line == span.end_line:
        place |= {"col": str(span.column), "endColumn": str(span.end_column)}
    place["title"] = display(f"{result.verdict.value} {name_of(result)}")
    properties = ",".join(f"{name}={_property(value)}" for name, value in place.items() if value)
    return f"::{command} {properties}::{_data(chr(10).join([_message(result), *more]))}"


def _rest(severity: str, results: Sequence[Result]) -> list[str]:
    """Return the number of annotations that GitHub does not show, with their locations."""
    if not results:
        return []
    places = [f"  {place_of(result)}: {result.verdict.value} {name_of(result)}" for result in results[:MOST_PLACES]]
    others = [f"  and {len(results) - MOST_PLACES} others"] if len(results) > MOST_PLACES else []
    summary = f"{counted(len(results), f'more {severity}')}, without an annotation; the summary of the step has all:"
    return ["", *map(display, [summary, *places, *others])]


def _message(result: Result) -> str:
    first = result.reason or VERDICTS[result.verdict].short
    if not result.shown_failures:
        return display(first)
    failure = result.shown_failures[0]
    more = [f"and {len(result.shown_failures) - 1} more"] if len(result.shown_failures) > 1 else []
    return "\n".join(map(display, [failure.message or first, *_facts(failure), *more]))


def _facts(failure: Failure) -> Iterator[str]:
    for label, texts in facts_of(failure):
        known = [text for text in texts if text]
        yield from (f"{label if number == 0 else ' ' * len(label)}  {text}" for number, text in enumerate(known))


def _data(text: str) -> str:
    """Return the text of a workflow command, with line ends escaped."""
    return encodable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return the value of a property of a workflow command, with commas and colons escaped too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _table_row(result: Result) -> str:
    cells = (name_of(result), place_of(result), result.reason, evidence(result.counts))
    return " | ".join([f"| **{result.verdict.value.replace('_', ' ')}**", *map(markdown, cells)]) + " |"


def _failures(results: Iterable[Result]) -> Iterator[str]:
    shown = [(result, failure) for result in results for failure in result.shown_failures]
    for result, failure in shown[:MOST_FAILURES]:
        yield f"<details><summary>{escape(_line(f'{name_of(result)}: {failure.message}'))}</summary>"
        yield ""
        yield from _fenced(_facts(failure))
        yield "</details>"
        yield ""
    if len(shown) > MOST_FAILURES:
        yield f"and {len(shown) - MOST_FAILURES} more failures, not shown"


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """Return lines as an indented block, which no fence in them can end."""
    yield from ("    " + encodable(display(line))[:1000] for line in lines)
    yield ""
