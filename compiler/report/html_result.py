"""Write the details of one function for the HTML report: failures, pictures, source, and all that was compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.report.check_text import evidence, facts_of, made_from, place_of
from slangad.compiler.report.figures import exact, shown
from slangad.compiler.report.html_curve import curve_svg
from slangad.compiler.report.html_heat import heat_maps
from slangad.compiler.report.html_slice import slice_figure
from slangad.compiler.report.html_source import source_of
from slangad.compiler.report.html_text import html
from slangad.compiler.report.model import LegState, NoteKind, Verdict
from slangad.compiler.report.words import LEGS, MARKS, VERDICTS, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.report.model import Curve, Failure, Jacobian, LegResult, Result

STATES: Final[dict[LegState, str]] = {
    LegState.AGREES: "good",
    LegState.DISAGREES: "bad",
    LegState.UNDECIDED: "warn",
    LegState.MISSING: "none",
}
MOST_OPEN: Final = 3
"""Failures of a function that are shown unfolded."""


def badge(verdict: Verdict) -> str:
    """Return a verdict in its colour."""
    css = "good" if verdict.good else "bad" if verdict.bad else "none" if verdict is Verdict.SKIPPED else "warn"
    title = html(VERDICTS[verdict].short)
    return f'<span class="verdict {css}" title="{title}">{verdict.value.replace("_", " ")}</span>'


def article(result: Result, number: int, slices: int, *, folded: bool) -> str:
    """Return the details of a result.

    Args:
        result: The result.
        number: Its number, for links.
        slices: The most slices to draw of a result without failures.
        folded: True to show its name alone until the reader unfolds it.
    """
    made = f", in {html(made_from(result.generated))}" if result.generated else ""
    kind = "" if result.kind == "function" else f' <span class="faint">{result.kind}</span>'
    head = (
        f"{badge(result.verdict)}<h3>{html(name_of(result))}</h3>{kind}"
        f'<code class="faint">{html(place_of(result))}{made}</code>'
    )
    shown_slices = result.slices[: len(result.slices) if result.shown_failures else slices]
    pictures = "".join(slice_figure(part, result) for part in shown_slices)
    failures = "".join(
        _failure(failure, "" if index else pictures, folded=index >= MOST_OPEN)
        for index, failure in enumerate(result.shown_failures)
    )
    reason = "" if failures or not result.reason else f'<p class="message">{html(result.reason)}</p>'
    source = source_of(result)
    advice = VERDICTS[result.verdict].advice
    inside = "".join(
        (
            f'<p class="meaning">{html(" ".join(filter(None, (VERDICTS[result.verdict].short, advice))))}</p>',
            reason,
            failures or pictures,
            "" if failures else _maps_of_sample(result),
            f"<section><h4>Source</h4>{source}</section>" if source else "",
            _compared(result),
        )
    )
    name = f'id="result-{number}" data-verdict="{result.verdict.value}"'
    if not folded:
        return f'<article class="panel" {name}><header>{head}</header>{inside}</article>'
    return (
        f'<article class="panel folded" data-verdict="{result.verdict.value}"><details><summary>{head}</summary>'
        f'<div class="inside" id="result-{number}">{inside}</div></details></article>'
    )


def _compared(result: Result) -> str:
    """Return a table of the comparisons that the verdict rests on, and the notes."""
    rows = "".join(map(_leg, result.legs))
    head = "<tr><th>comparison</th><th>outcome</th><th>numbers</th><th>worst, of the tolerance</th></tr>"
    table = f'<div class="scroll"><table class="legs">{head}{rows}</table></div>' if rows else ""
    samples = evidence(result.counts)
    notes = "".join((f"<p>{html(samples)}</p>" if samples else "", *_notes(result)))
    return f"<section><h4>What was compared</h4>{table}{notes}</section>" if table or notes else ""


def _leg(leg: LegResult) -> str:
    state = f'<span class="leg {STATES[leg.state]}">{MARKS[leg.state]} {leg.state.value}</span>'
    share = f"{100.0 * leg.worst:.2g} %" if leg.worst == 0.0 or leg.worst >= 1e-3 else "below 0.1 %"
    worst = share if leg.worst <= 10.0 else f"{shown(leg.worst, 2)} times"
    numbers = f"<td>{leg.compared}</td><td>{worst}</td>" if leg.compared else "<td></td><td></td>"
    detail = f'<div class="note">{html(leg.detail)}</div>' if leg.detail else ""
    return f"<tr><td>{leg.leg.value}: {html(LEGS[leg.leg])}{detail}</td><td>{state}</td>{numbers}</tr>"


def _notes(result: Result) -> Iterator[str]:
    if result.float32 is not None:
        left = "".join(f", {one.samples} {one.reason}" for one in result.float32.left)
        text = f"float32: {result.float32.samples} samples compared on {result.float32.device}{left}"
        yield f"<p>{html(text)}</p>"
    if result.known:
        yield "<p>known: in the baseline</p>"
    for note in result.notes:
        where = "" if note.sample is None else f" (sample {note.sample})"
        yield f'<p class="note">{note.kind.value}: {html(note.message)}{where}</p>'


def _failure(failure: Failure, pictures: str, *, folded: bool) -> str:
    cause = f'<p><span class="cause">Likely cause: {html(failure.cause)}</span></p>' if failure.cause else ""
    where = f' <code class="faint">{html(str(failure.span))}</code>' if failure.span.line else ""
    message = f'<p class="message">{html(failure.message)}{where}</p>'
    inside = f'{cause}{pictures}<div class="split">{_known(failure)}{_curve(failure)}</div>{_maps(failure)}'
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
    key = '<span class="key found">distance from found</span>'
    if failure.expected is not None:
        key += '<span class="key expected">distance from expected</span>'
    if 'class="zero' in svg:
        key += '<span class="faint">▽ exactly there</span>'
    caption = (
        "The slope of the function, measured with ever smaller steps (to the left). Its distance from a right "
        "derivative falls until rounding stops it; its distance from a wrong one stays."
    )
    picture = svg or '<p class="faint">No finite difference other than the value found: nothing to draw.</p>'
    return (
        f'<figure><h4>Proof: error over step size</h4><p class="keys">{key if svg else ""}</p>'
        f"{picture}<figcaption>{caption if svg else ''}</figcaption>{_numbers(curve)}</figure>"
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
    return _with_caption(jacobian, failure.row, failure.column)


def _maps_of_sample(result: Result) -> str:
    """Return the derivatives at one sample of a result without failures: at the first kink, or where slices cross."""
    kinks = [note.sample for note in result.notes if note.kind is NoteKind.KINK]
    wanted = [*kinks, *(part.sample for part in result.slices), 0]
    sample = next((one for number in wanted for one in result.samples if one.number == number), None)
    maps = _with_caption(sample.jacobian if sample else None, "", "")
    if not maps or sample is None:
        return ""
    return f"<section><h4>All derivatives at sample {sample.number}</h4>{maps}</section>"


def _with_caption(jacobian: Jacobian | None, row: str, column: str) -> str:
    maps = heat_maps(jacobian, row, column) if jacobian else ""
    caption = "Each cell says how fast the result of its row grows with the input of its column."
    kinks = " An interval is a kink: each value in it is right." if "…" in maps else ""
    return f'{maps}<p class="caption">{caption}{kinks}</p>' if maps else ""
