"""Write a gradient check as styled text: a row for each function, then every failure.

``render_check`` joins the pieces; the terminal report colours the same ones. The JUnit file and the pytest plugin show
single results with ``render_result``.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.baseline import listed
from slangad.compiler.report.figures import apart, assigned, counted, duration, encodable, exact, with_bar
from slangad.compiler.report.model import LegState, Verdict
from slangad.compiler.report.text import StyledText, display
from slangad.compiler.report.words import LEGS, MARKS, SEVERITY, name_of, titled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.report.model import Counts, Coverage, Failure, Float32, Generated, Note, Report, Result, Value
    from slangad.compiler.report.text import Line, Role

VERDICT_WIDTH: Final = max(len(verdict.value) for verdict in Verdict)
NAME_WIDTH: Final = 32
LABEL_WIDTH: Final = 10
MOST_VALUES: Final = 24
"""The number of scalars shown of an input or result. Larger: longer reports. The JSON report has all."""
MOST_NOTES: Final = 4

LEG_ROLES: Final[dict[LegState, Role]] = {
    LegState.DISAGREES: "error",
    LegState.UNDECIDED: "warning",
    LegState.AGREES: "good",
    LegState.MISSING: "faint",
}
"""Worst first."""


def render_check(report: Report, *, detail: bool = False) -> str:
    """Return the report as plain text; with ``detail`` also the coverage of float32."""
    return joined(lines_of_check(report, detail=detail))


def render_result(result: Result) -> str:
    """Return one result with its failures as plain text."""
    return joined(lines_of_result(result))


def lines_of_check(report: Report, *, detail: bool = False) -> Iterator[Line]:
    """Yield the rows of all results by file, each failure in full, and the summary."""
    rows = RowLines(detail=detail)
    for file, results in groupby(report.results, lambda result: result.file):
        of_file = list(results)
        rows.plan(
            [titled(name_of(result), result.kind) for result in of_file],
            [text for of, text in report.notes if of == file],
        )
        for result in of_file:
            yield from rows.of(result)
    yield from lines_after_rows(report)


class RowLines:
    """The lines of rows, one result after the other."""

    def __init__(self, *, detail: bool = False) -> None:
        self._detail = detail
        self._width = 0
        self._notes: Sequence[str] = ()
        self._file: str | None = None

    def plan(self, names: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Set the names of the next rows, of one file, and the notes on that file."""
        self._notes = notes
        self._width = min(max(map(len, names), default=0), NAME_WIDTH)

    def of(self, result: Result) -> Iterator[Line]:
        """Yield the row of the next result, after the name of its file if that is another one."""
        if result.file != self._file:
            if self._file is not None:
                yield ()
            self._file = result.file
            yield (StyledText(_clean(result.file) or "(no file)", "place"),)
            yield from ((StyledText(f"  note: {_clean(text)}", "faint"),) for text in self._notes)
        yield from _row(result, self._width)
        if self._detail and result.float32 is not None:
            yield _single(result.float32)


def lines_after_rows(report: Report) -> Iterator[Line]:
    """Yield each failure in full, and the summary."""
    if report.results:
        yield ()
    for result in report.failed:
        for failure in result.shown_failures:
            yield from _failure(result, failure)
            yield ()
    yield from _summary(report)


def lines_of_result(result: Result) -> Iterator[Line]:
    """Yield one result: its row, then its failures in full."""
    yield from _row(result, 0)
    for failure in result.shown_failures:
        yield ()
        yield from _failure(result, failure)


def verdict_role(verdict: Verdict) -> Role:
    """Return the colour of a verdict."""
    if verdict.good:
        return "good"
    if verdict.bad:
        return "error"
    return "faint" if verdict is Verdict.SKIPPED else "warning"


def place_of(result: Result, failure: Failure | None = None) -> str:
    """Return file, line and column of a failure or a result, as far as they are known."""
    span = failure.span if failure is not None and failure.span.line else result.span
    return str(span) if span.line else result.file


def tally(report: Report) -> str:
    """Return the counts, most severe first: ``3 functions: 2 PASS, 1 FAIL``."""
    counts = [(verdict.value, report.count(verdict)) for verdict in SEVERITY]
    parts = ", ".join(f"{count} {name}" for name, count in counts if count)
    return counted(len(report.results), "result") + (f": {parts}" if parts else "")


def covered(coverage: Coverage) -> str:
    """Return the coverage: ``checked 12 of 15 functions (2 skipped, 1 inconclusive)``."""
    rest = (
        (coverage.skipped, "skipped"),
        (coverage.inconclusive, "inconclusive"),
        (coverage.broken, "not compiled or not run"),
    )
    left = ", ".join(f"{number} {word}" for number, word in rest if number)
    functions = counted(coverage.functions, "function")
    return f"checked {coverage.checked} of {functions}" + (f" ({left})" if left else "")


def summary(report: Report) -> str:
    """Return the verdicts, what else makes the check fail, and the coverage, on one line."""
    return "; ".join([tally(report), *since_baseline(report), *report.problems, covered(report.coverage)])


def since_baseline(report: Report) -> Iterator[str]:
    """Yield the number of results in the baseline, and the number of its entries that no longer occur."""
    known = sum(result.known for result in report.results)
    if report.baseline:
        yield f"{known} known from {report.baseline}"
    if report.gone:
        entries = "entry of it no longer occurs" if len(report.gone) == 1 else "entries of it no longer occur"
        yield f"{len(report.gone)} {entries}"


def made_from(generated: Generated) -> str:
    """Return a place in the generated Slang with the text there."""
    place = f"{generated.file}:{generated.line}"
    return f"{place}: {generated.text}" if generated.text else place


def evidence(counts: Counts) -> str:
    """Return the number of samples that a verdict rests on, and the outcomes of the others."""
    parts = [f"{counts.compared} of {counted(counts.drawn, 'sample')} compared"] if counts.drawn else []
    for number, noun in ((counts.kinks, "kink"), (counts.jumps, "jump")):
        parts += [counted(number, noun)] if number else []
    words = (
        (counts.not_finite, "not finite"),
        (counts.undecided, "undecided"),
        (counts.unguarded, "unguarded"),
    )
    for number, word in words:
        parts += [f"{number} {word}"] if number else []
    return ", ".join(parts)


def facts_of(failure: Failure) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the known facts of a failure, as labels and lines of text."""
    yield "leg", (f"{failure.leg.value}: {LEGS[failure.leg]}",)
    if failure.sample is not None:
        yield "sample", (f"{failure.sample.number} ({failure.sample.origin}), {failure.sample.state.value}",)
        yield "input", _values(failure.sample.inputs)
        yield "result", _values(failure.sample.results)
    yield "cotangent", _values(failure.cotangent)
    yield "entry", (entry_of(failure),)
    yield from _comparison(failure)
    yield "likely", (failure.cause,)
    yield "note", failure.notes
    yield "reproduce", (failure.reproduce,)


def entry_of(failure: Failure) -> str:
    """Return the entry, ``d result / d x``, or the known part of it."""
    if failure.row and failure.column:
        return f"d {failure.row} / d {failure.column}"
    return failure.row or failure.column


def _comparison(failure: Failure) -> Iterator[tuple[str, tuple[str, ...]]]:
    expected, found = failure.expected, failure.found
    if failure.bounds is not None:
        low, high = failure.bounds
        yield "expected", (f"between {exact(low)} and {exact(high)}",)
    elif expected is not None:
        yield "expected", (with_bar(expected, failure.error),)
    if found is not None:
        short = expected is not None and failure.bounds is None and failure.error is not None
        yield "found", (_beside(found, expected, failure.error) if short else exact(found),)
    if failure.ratio is not None:
        yield "ratio", (apart(failure.ratio, 1.0)[0],)


def _beside(found: float, expected: float | None, error: float | None) -> str:
    """Return the value found with the digits of the expected value, and with more if they would look equal."""
    beside = with_bar(found, error).split(" ")[0]
    known = with_bar(expected, error).split(" ")[0] if expected is not None else ""
    return beside if beside != known else exact(found)


def _row(result: Result, width: int) -> Iterator[Line]:
    function = _clean(titled(name_of(result), result.kind))
    pieces = [
        StyledText("  "),
        StyledText(f"{result.verdict.value:<{VERDICT_WIDTH}}", verdict_role(result.verdict)),
        StyledText(f"  {function:<{width}}", "message"),
        *_legs(result),
    ]
    rest = "  ".join(part for part in (evidence(result.counts), duration(result.seconds)) if part)
    yield (*pieces, StyledText(f"  {rest}", "faint"))
    indent = " " * (VERDICT_WIDTH + 4)
    if result.known:
        yield (StyledText(f"{indent}known: in the baseline", "help"),)
    if result.reason:
        yield (StyledText(indent + _clean(result.reason), "plain"),)
    yield from (_note(indent, note) for note in result.notes[:MOST_NOTES])
    if len(result.notes) > MOST_NOTES:
        yield (StyledText(f"{indent}and {counted(len(result.notes) - MOST_NOTES, 'more note')}", "faint"),)


def _single(tested: Float32) -> Line:
    """Return the coverage of float32, with the reasons for omitted samples."""
    left = "".join(f", {one.samples} {one.reason}" for one in tested.left)
    counted_samples = f"{counted(tested.samples, 'sample')} compared on {_clean(tested.device)}{left}"
    return StyledText(" " * (VERDICT_WIDTH + 4) + "float32: ", "help"), StyledText(counted_samples, "faint")


def _note(indent: str, note: Note) -> Line:
    where = "" if note.sample is None else f" (sample {note.sample})"
    return StyledText(f"{indent}{note.kind.value}: ", "help"), StyledText(_clean(note.message) + where, "faint")


def _legs(result: Result) -> Iterator[StyledText]:
    """Yield the legs by what came of them, the worst first."""
    for state, role in LEG_ROLES.items():
        names = [leg.leg.value for leg in result.legs if leg.state is state]
        if names:
            yield StyledText(f"  {MARKS[state]} {' '.join(names)}", role)


def _failure(result: Result, failure: Failure) -> Iterator[Line]:
    yield (
        StyledText(f"{_clean(place_of(result, failure))}: ", "place"),
        StyledText(failure.verdict.value, verdict_role(failure.verdict)),
        StyledText(f" {_clean(name_of(result))}", "message"),
        StyledText(f": {_clean(failure.message)}", "message"),
    )
    for label, texts in facts_of(failure):
        yield from _fact(label, [text for text in texts if text])
    if failure.span.line:
        yield from _fact("function", [place_of(result)])
    if result.generated is not None:
        yield from _fact("generated", [made_from(result.generated)])


def _fact(label: str, texts: Sequence[str]) -> Iterator[Line]:
    for number, text in enumerate(texts):
        yield StyledText(f"  {'' if number else label:<{LABEL_WIDTH}} ", "gutter"), StyledText(_clean(text))


def _values(values: Sequence[Value]) -> tuple[str, ...]:
    texts = tuple(assigned(value) for value in values[:MOST_VALUES])
    left = len(values) - len(texts)
    return (*texts, f"and {left} more, which the JSON report has") if left else texts


def _summary(report: Report) -> Iterator[Line]:
    role: Role = "good" if report.ok else "error"
    if report.ok and not all(result.verdict.good for result in report.results):
        role = "warning"
    about = f"{duration(report.seconds)}, seed {report.seed}, {_clean(report.device)}"
    strict = ", strict" if report.strict else ""
    cached = sum(result.cached for result in report.results)
    strict += f", {cached} from the cache" if cached else ""
    yield StyledText(tally(report), role), StyledText(f" in {about}{strict}", "faint")
    if report.baseline:
        yield (StyledText(_clean(", ".join(since_baseline(report))), "plain"),)
    yield from ((StyledText(_clean(f"  {entry}"), "plain"),) for entry in listed(report.gone))
    yield from ((StyledText(_clean(problem), "error"),) for problem in report.problems)
    yield (StyledText(covered(report.coverage), "plain"),)


def _clean(text: str) -> str:
    """Return one line that does nothing to a terminal."""
    return encodable(display(text))


def joined(lines: Iterable[Line]) -> str:
    """Return lines as plain text."""
    return "".join("".join(piece.text for piece in line).rstrip() + "\n" for line in lines)
