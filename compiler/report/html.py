"""Write a gradient check as one HTML page that needs no other file and no script.

The page is ``templates/report.html``; what goes into its holes is made here, the pictures in ``html_curve`` and
``html_heat``.
"""

from __future__ import annotations

from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.baseline import listed
from slangad.compiler.report.check_text import covered, evidence, facts_of, made_from, place_of, since_baseline, tally
from slangad.compiler.report.figures import duration, exact
from slangad.compiler.report.html_curve import curve_svg
from slangad.compiler.report.html_heat import heat_maps
from slangad.compiler.report.html_text import html
from slangad.compiler.report.model import LegState, Verdict
from slangad.compiler.report.words import LEGS, MARKS, SEVERITY, VERDICTS, name_of, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.report.model import Curve, Failure, LegResult, Report, Result

TEMPLATE: Final = "report.html"
STATES: Final[dict[LegState, str]] = {
    LegState.AGREES: "good",
    LegState.DISAGREES: "bad",
    LegState.UNDECIDED: "warn",
    LegState.MISSING: "none",
}
MOST_OPEN: Final = 3
"""Failures of a function that are shown unfolded."""


class PageTemplate(Template):
    """Holes are ``@{name}``; ``@@`` is an at sign."""

    delimiter = "@"


def page_template() -> PageTemplate:
    """Return the page with its holes."""
    return PageTemplate((files("slangad") / "templates" / TEMPLATE).read_text(encoding="utf-8"))


def html_page(report: Report) -> str:
    """Return the report as one page."""
    return page_template().substitute(page_holes(report))


def page_holes(report: Report) -> dict[str, str]:
    """Return the texts for the holes of the page, by name."""
    numbers = {id(result): number for number, result in enumerate(report.results)}
    ordered = worst_first(report)
    failed = [_article(result, numbers[id(result)]) for result in ordered if result.shown_failures]
    rows = [_row(result, numbers[id(result)]) for result in ordered]
    counts = {verdict: report.count(verdict) for verdict in SEVERITY if report.count(verdict)}
    filters = (_filter(verdict.value, badge(verdict), count) for verdict, count in counts.items())
    outcome = "passed" if report.ok else "failed"
    heading = "Failures" if all(report.fails(one) for one in ordered if one.shown_failures) else "Failures and warnings"
    return {
        "title": f"Gradient check {outcome}: {html(tally(report))}",
        "outcome": f'<span class="verdict {"good" if report.ok else "bad"}">{outcome}</span>',
        "tally": html("; ".join([tally(report), *report.problems])),
        "facts": "".join(_facts(report)),
        "buttons": "".join(_buttons(["all", *(verdict.value for verdict in counts)])),
        "filters": _filter("all", "all", len(report.results)) + "".join(filters),
        "table": _table(rows),
        "failures": f"<h2>{heading}</h2>{''.join(failed)}" if failed else "",
        "footer": f"Made by slangad {html(report.version)}.",
    }


def _facts(report: Report) -> Iterator[str]:
    facts = {
        "device": report.device,
        "seed": str(report.seed),
        "samples": str(report.samples),
        "time": duration(report.seconds),
        "strict": "yes" if report.strict else "",
        "coverage": covered(report.coverage),
        "baseline": ", ".join(since_baseline(report)),
        "no longer": "; ".join(listed(report.gone)),
        **dict(report.toolchain),
        "command": report.command,
    }
    for name, value in facts.items():
        if value:
            yield f"<div><dt>{html(name)}</dt><dd><code>{html(value)}</code></dd></div>"


def _buttons(shown: list[str]) -> Iterator[str]:
    """Yield the radio buttons that the style sheet looks at; their labels are the filters."""
    for number, name in enumerate(shown):
        yield f'<input type="radio" name="show" id="show-{name}"{"" if number else " checked"}>'


def _filter(name: str, label: str, count: int) -> str:
    return f'<label for="show-{name}"><b>{count}</b>{label}</label>'


def badge(verdict: Verdict) -> str:
    """Return a verdict as a coloured word that explains itself."""
    css = "good" if verdict.good else "bad" if verdict.bad else "none" if verdict is Verdict.SKIPPED else "warn"
    title = html(VERDICTS[verdict].short)
    return f'<span class="verdict {css}" title="{title}">{verdict.value.replace("_", " ")}</span>'


def _table(rows: list[str]) -> str:
    if not rows:
        return "<p>There was nothing to check.</p>"
    names = ("verdict", "function", "place", "evidence", "time")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        '<div class="panel scroll" tabindex="0" role="region" aria-label="Verdicts"><table class="results">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(result: Result, number: int) -> str:
    name = html(name_of(result))
    link = f'<a href="#result-{number}">{name}</a>' if result.shown_failures else name
    kind = "" if result.kind == "function" else f' <span class="faint">{result.kind}</span>'
    notes = "".join(_notes(result))
    legs = "".join(_leg(leg) for leg in result.legs)
    samples = html(evidence(result.counts))
    return (
        f'<tr data-verdict="{result.verdict.value}"><td>{badge(result.verdict)}</td><td>{link}{kind}</td>'
        f"<td><code>{html(place_of(result))}</code></td>"
        f'<td>{legs}<div class="note">{samples}</div>{notes}</td><td>{duration(result.seconds)}</td></tr>'
    )


def _notes(result: Result) -> Iterator[str]:
    if result.known:
        yield '<div class="note">known: in the baseline</div>'
    if result.reason:
        yield f"<div>{html(result.reason)}</div>"
    for note in result.notes:
        where = "" if note.sample is None else f" (sample {note.sample})"
        yield f'<div class="note">{note.kind.value}: {html(note.message)}{where}</div>'


def _leg(leg: LegResult) -> str:
    detail = leg.detail or f"{LEGS[leg.leg]}: {leg.state.value}"
    return f'<span class="leg {STATES[leg.state]}" title="{html(detail)}">{MARKS[leg.state]} {leg.leg.value}</span>'


def _article(result: Result, number: int) -> str:
    failures = "".join(
        _failure(failure, folded=index >= MOST_OPEN) for index, failure in enumerate(result.shown_failures)
    )
    made = f", in {html(made_from(result.generated))}" if result.generated else ""
    return (
        f'<article class="panel" id="result-{number}" data-verdict="{result.verdict.value}"><header>'
        f"{badge(result.verdict)}<h3>{html(name_of(result))}</h3>"
        f'<code class="faint">{html(place_of(result))}{made}</code></header>{failures}</article>'
    )


def _failure(failure: Failure, *, folded: bool) -> str:
    cause = f'<p><span class="cause">Likely cause: {html(failure.cause)}</span></p>' if failure.cause else ""
    where = f' <code class="faint">{html(str(failure.span))}</code>' if failure.span.line else ""
    message = f'<p class="message">{html(failure.message)}{where}</p>'
    inside = f'{cause}<div class="split">{_known(failure)}{_curve(failure)}</div>{_maps(failure)}'
    if folded:
        return f'<details class="failure"><summary>{html(failure.message) or "a failure"}</summary>{inside}</details>'
    return f'<div class="failure">{message}{inside}</div>'


def _known(failure: Failure) -> str:
    items = []
    for label, texts in facts_of(failure):
        lines = "<br>".join(html(text) for text in texts if text)
        if lines and label != "likely":
            css = ' class="command"' if label == "reproduce" else ""
            items.append(f"<dt>{label}</dt><dd{css}>{lines}</dd>")
    return f'<dl class="known">{"".join(items)}</dl>'


def _curve(failure: Failure) -> str:
    """Return the picture with its key, and its numbers below."""
    curve = failure.curve
    if curve is None:
        return ""
    svg = curve_svg(curve, failure.expected, failure.found, html(failure.message))
    key = '<span class="key found">distance from found</span><span class="key expected">distance from expected</span>'
    if 'class="zero' in svg:
        key += '<span class="faint">▽ exactly there</span>'
    picture = svg or '<p class="faint">No finite difference other than the value found: nothing to draw.</p>'
    return (
        f"<figure><h4>Error over step size</h4><figcaption>{key if svg else ''}</figcaption>"
        f"{picture}{_numbers(curve)}</figure>"
    )


def _numbers(curve: Curve) -> str:
    rows = "".join(
        f"<tr><td>{exact(step)}</td><td>{exact(estimate)}</td><td>{exact(error)}</td></tr>"
        for step, estimate, error in zip(curve.steps, curve.estimates, curve.errors, strict=False)
    )
    head = "<tr><th>step</th><th>estimate</th><th>distance from found</th></tr>"
    return (
        f"<details><summary>Numbers</summary>"
        f'<div class="scroll"><table class="numbers">{head}{rows}</table></div></details>'
    )


def _maps(failure: Failure) -> str:
    jacobian = failure.jacobian or (failure.sample.jacobian if failure.sample else None)
    return heat_maps(jacobian, failure.row, failure.column) if jacobian else ""
