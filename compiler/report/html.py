"""Write a gradient check as one HTML page that needs no other file.

The page is ``templates/report.html``. What goes into its holes is made here: the overview, and with ``html_result`` the
details of each function. Its only script, ``templates/report.js``, searches; all else works without it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.baseline import listed
from slangad.compiler.report.check_text import covered, evidence, place_of, since_baseline, tally
from slangad.compiler.report.figures import duration
from slangad.compiler.report.html_result import STATES, article, badge
from slangad.compiler.report.html_text import html
from slangad.compiler.report.words import LEGS, MARKS, SEVERITY, VERDICTS, name_of, worst_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from slangad.compiler.report.model import LegResult, Report, Result, Verdict

TEMPLATE: Final = "report.html"
SCRIPT: Final = "report.js"
MOST_SLICES: Final = 600
"""Slices that are drawn of right functions, all together. Larger: larger pages."""


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
    slices = max(1, MOST_SLICES // max(1, len(ordered)))
    failed = [article(one, numbers[id(one)], slices, folded=False) for one in ordered if one.shown_failures]
    others = [article(one, numbers[id(one)], slices, folded=True) for one in ordered if not one.shown_failures]
    counts = {verdict: report.count(verdict) for verdict in SEVERITY if report.count(verdict)}
    filters = (_filter(verdict.value, badge(verdict), count) for verdict, count in counts.items())
    outcome = "passed" if report.ok else "failed"
    heading = "Failures" if all(report.fails(one) for one in ordered if one.shown_failures) else "Failures and warnings"
    script = (files("slangad") / "templates" / SCRIPT).read_text(encoding="utf-8")
    return {
        "title": f"Gradient check {outcome}: {html(tally(report))}",
        "script": script,
        "script_hash": b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "outcome": f'<span class="verdict {"good" if report.ok else "bad"}">{outcome}</span>',
        "tally": html("; ".join([tally(report), *report.problems])),
        "verdicts": meanings(counts),
        "facts": "".join(_facts(report)),
        "buttons": "".join(_buttons(["all", *(verdict.value for verdict in counts)])),
        "filters": _filter("all", "all", len(report.results)) + "".join(filters),
        "table": _table([_row(result, numbers[id(result)]) for result in ordered]),
        "failures": f"<h2>{heading}</h2>{''.join(failed)}" if failed else "",
        "others": f"<h2>Details of the others</h2>{''.join(others)}" if others else "",
        "footer": f"Made by slangad {html(report.version)}.",
    }


def meanings(verdicts: Collection[Verdict]) -> str:
    """Return the meanings of verdicts as a list of definitions, most severe first."""
    ordered = (verdict for verdict in SEVERITY if verdict in verdicts)
    return "".join(f"<dt>{badge(verdict)}</dt><dd>{html(VERDICTS[verdict].short)}</dd>" for verdict in ordered)


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


def _table(rows: list[str]) -> str:
    if not rows:
        return "<p>There was nothing to check.</p>"
    names = ("verdict", "function", "place", "evidence", "time")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        '<div class="panel" role="region" aria-label="Verdicts"><table class="results">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(result: Result, number: int) -> str:
    kind = "" if result.kind == "function" else f' <span class="faint">{result.kind}</span>'
    known = '<div class="note">known: in the baseline</div>' if result.known else ""
    reason = f"<div>{html(result.reason)}</div>" if result.reason else ""
    legs = "".join(_leg(leg) for leg in result.legs)
    samples = html(evidence(result.counts))
    return (
        f'<tr data-verdict="{result.verdict.value}"><td>{badge(result.verdict)}</td>'
        f'<td><a href="#result-{number}">{html(name_of(result))}</a>{kind}</td>'
        f"<td><code>{html(place_of(result))}</code></td>"
        f'<td>{reason}{legs}<div class="note">{samples}</div>{known}</td><td>{duration(result.seconds)}</td></tr>'
    )


def _leg(leg: LegResult) -> str:
    detail = leg.detail or f"{LEGS[leg.leg]}: {leg.state.value}"
    return f'<span class="leg {STATES[leg.state]}" title="{html(detail)}">{MARKS[leg.state]} {leg.leg.value}</span>'
