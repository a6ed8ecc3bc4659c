"""Show one check on every device of a machine: a row for each function, a column for each device."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from slangad.compiler.report import json
from slangad.compiler.report.check_json import check_values
from slangad.compiler.report.check_text import VERDICT_WIDTH, render_result
from slangad.compiler.report.html import meanings, page_template
from slangad.compiler.report.html_result import badge
from slangad.compiler.report.html_text import html
from slangad.compiler.report.model import Leg, LegState
from slangad.compiler.report.words import MARKS, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.report.model import Report, Result

FORMATS = ("text", "json", "html")
"""The formats of a matrix."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One check on several devices.

    Attributes:
        columns: The name of each device, and the report of the check on it.
        adapters: The devices' own names, by name.
        absent: The devices that do not work here, each with the reason.
    """

    columns: tuple[tuple[str, Report], ...]
    adapters: tuple[tuple[str, str], ...] = ()
    absent: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Return True if the check passes on every device."""
        return all(report.ok for _, report in self.columns)

    @property
    def rows(self) -> dict[tuple[str, str], dict[str, Result]]:
        """The results by file and function, then by device."""
        rows: dict[tuple[str, str], dict[str, Result]] = {}
        for device, report in self.columns:
            for result in report.results:
                rows.setdefault((result.file, name_of(result)), {})[device] = result
        return rows

    @property
    def different(self) -> tuple[str, ...]:
        """The functions whose float64 entries are not the same numbers on all devices."""
        return tuple(
            name
            for (_, name), results in self.rows.items()
            if len({_float64(result) for result in results.values()}) > 1
        )

    @property
    def entries(self) -> int:
        """The number of float64 entries that one device is compared with."""
        return sum(result.counts.entries for result in self.columns[0][1].results) if self.columns else 0


def render_matrix(matrix: Matrix, name: str) -> str:
    """Return the matrix in one of ``FORMATS``."""
    return {"text": _text, "json": _json, "html": _html}[name](matrix)


def summary(matrix: Matrix) -> str:
    """Return the outcome in one line."""
    bad = sum(report.fails(result) for _, report in matrix.columns for result in report.results)
    cells = sum(len(report.results) for _, report in matrix.columns)
    devices = ", ".join(name for name, _ in matrix.columns)
    return f"{len(matrix.rows)} functions on {devices}: {cells - bad} of {cells} results pass"


def _float64(result: Result) -> str:
    """Return the inputs and the float64 numbers of all samples, which do not depend on the device."""
    return repr([(one.number, one.inputs, one.jacobian) for one in result.samples])


def _about_float64(matrix: Matrix) -> str:
    if matrix.different:
        return f"float64 entries differ between devices: {', '.join(matrix.different)}"
    return f"the same {matrix.entries} float64 entries on all devices"


def _mark(result: Result) -> str:
    """Return the outcome of the float32 leg, which alone runs on the device."""
    states = [leg.state for leg in result.legs if leg.leg is Leg.FLOAT32]
    return MARKS[states[0]] if states else MARKS[LegState.MISSING]


def _text(matrix: Matrix) -> str:
    return "".join(f"{line}\n" for line in _lines(matrix))


def _lines(matrix: Matrix) -> Iterator[str]:
    names = [name for name, _ in matrix.columns]
    wide = max([0, *(len(name) for _, name in matrix.rows)])
    widths = [max(len(name), VERDICT_WIDTH + 2) for name in names]
    heads = [name.ljust(width) for name, width in zip(names, widths, strict=True)]
    yield "  ".join([" " * (wide + 2), *heads]).rstrip()
    for file, group in groupby(matrix.rows.items(), lambda row: row[0][0]):
        yield file
        for (_, name), results in group:
            cells = [f"{_mark(results[n])} {results[n].verdict.value}" if n in results else "" for n in names]
            shown = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
            yield "  ".join([f"  {name.ljust(wide)}", *shown]).rstrip()
    for device, report in matrix.columns:
        for result in report.failed:
            yield f"\non {device}:\n{render_result(result).rstrip()}"
    yield ""
    yield from (f"{name}: {adapter}" for name, adapter in matrix.adapters if adapter)
    yield from (f"{name}: not here: {reason}" for name, reason in matrix.absent)
    yield _about_float64(matrix)
    yield summary(matrix)


def _json(matrix: Matrix) -> str:
    absent = [{"name": name, "reason": reason} for name, reason in matrix.absent]
    adapters = dict(matrix.adapters)
    devices = [
        {"name": name, "adapter": adapters.get(name, ""), "report": check_values(report)}
        for name, report in matrix.columns
    ]
    return json.document(
        {"ok": matrix.ok, "devices": devices, "absent": absent, "float64_differs": list(matrix.different)}
    )


def _html(matrix: Matrix) -> str:
    first = matrix.columns[0][1]
    outcome = "passed" if matrix.ok else "failed"
    facts = {
        **dict(matrix.adapters),
        **{name: f"not here: {reason}" for name, reason in matrix.absent},
        "float64": _about_float64(matrix),
        "command": first.command,
    }
    lines = (f"<div><dt>{html(name)}</dt><dd><code>{html(value)}</code></dd></div>" for name, value in facts.items())
    failed = [
        f"<h3>{html(name_of(result))} on {html(device)}</h3><pre>{html(render_result(result))}</pre>"
        for device, report in matrix.columns
        for result in report.failed
    ]
    verdicts = {result.verdict for _, report in matrix.columns for result in report.results}
    return page_template().substitute(
        script="",
        script_hash="",
        verdicts=meanings(verdicts),
        others="",
        title=f"Gradient check on all devices {outcome}",
        outcome=f'<span class="verdict {"good" if matrix.ok else "bad"}">{outcome}</span>',
        tally=html(summary(matrix)),
        facts="".join(lines),
        buttons="",
        filters="",
        table=_table(matrix),
        failures=f"<h2>Failures</h2>{''.join(failed)}" if failed else "",
        footer=f"Made by slangad {html(first.version)}.",
    )


def _table(matrix: Matrix) -> str:
    names = [name for name, _ in matrix.columns]
    head = "".join(f'<th scope="col">{html(name)}</th>' for name in ("function", *names))
    rows = []
    for (file, name), results in matrix.rows.items():
        cells = "".join(
            f'<td>{badge(results[device].verdict)} <span class="note">{_mark(results[device])} float32</span></td>'
            if device in results
            else "<td></td>"
            for device in names
        )
        rows.append(f'<tr><td>{html(name)} <code class="faint">{html(file)}</code></td>{cells}</tr>')
    return (
        '<div class="panel scroll" tabindex="0" role="region" aria-label="Verdicts by device"><table class="matrix">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
