"""Compare a check with a baseline: a file that lists what is already known to be wrong.

An entry is a file, a function, a verdict and a leg. Files are relative to the baseline's folder. Lines, numbers and
messages are not part of an entry, so that code can move.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.report.figures import encodable
from slangad.compiler.report.model import BaselineEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.report.model import Report, Result

SCHEMA: Final = 1
_NAMES: Final = tuple(field.name for field in fields(BaselineEntry))


def text_of(report: Report, file: Path) -> str:
    """Return the baseline of everything that makes the check fail, as JSON, to be written to a file."""
    failing = {
        entry
        for result in report.results
        if report.would_fail(result)
        for entry in entries_of(result, file)
        if entry.verdict in {verdict.value for verdict in report.failing}
    }
    lines = [f"    {json.dumps(asdict(entry), ensure_ascii=False)}" for entry in sorted(failing)]
    known = "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"
    return f'{{\n  "schema": {SCHEMA},\n  "known": {known}\n}}\n'


def read_baseline(text: str) -> frozenset[BaselineEntry]:
    """Return the entries of a baseline.

    Raises:
        ValueError: The text is no baseline.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ValueError(message) from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or not isinstance(content.get("known"), list):
        message = f"it has no 'schema': {SCHEMA} and no list 'known'"
        raise ValueError(message)
    return frozenset(_entry(number, one) for number, one in enumerate(content["known"]))


def _entry(number: int, content: object) -> BaselineEntry:
    if not isinstance(content, dict) or any(not isinstance(content.get(name), str) for name in _NAMES):
        message = f"entry {number} of 'known' needs the texts {', '.join(_NAMES)}"
        raise ValueError(message)
    return BaselineEntry(*(content[name] for name in _NAMES))


def with_baseline(report: Report, known: frozenset[BaselineEntry], file: Path, *, selected: bool) -> Report:
    """Return the report with results that the baseline knows, and entries that no longer occur.

    Args:
        report: The check.
        known: The entries.
        file: The baseline's file.
        selected: True if only some functions of the files were checked.
    """
    failing = {verdict.value for verdict in report.failing}
    results, present = [], set()
    for result in report.results:
        entries = set(entries_of(result, file))
        present |= entries
        new = {entry for entry in entries - known if entry.verdict in failing}
        results.append(replace(result, known=report.would_fail(result) and not new))
    checked = {(_relative(result.file, file), result.function if selected else "") for result in report.results}
    gone = [
        entry
        for entry in known - present
        if (entry.file, entry.function if selected else "") in checked or not (file.parent / entry.file).exists()
    ]
    return replace(report, results=tuple(results), baseline=str(file), gone=tuple(sorted(gone)))


def entries_of(result: Result, file: Path) -> Iterator[BaselineEntry]:
    """Yield the entries of a result that is not right: one for each leg that disagrees, or one without a leg."""
    where, name = _relative(result.file, file), encodable(result.function)
    for failure in result.failures:
        yield BaselineEntry(where, name, failure.verdict.value, failure.leg.value)
    if not result.verdict.good and result.verdict not in {failure.verdict for failure in result.failures}:
        yield BaselineEntry(where, name, result.verdict.value, "")


def listed(entries: Iterable[BaselineEntry]) -> Iterator[str]:
    """Yield entries in words, for people."""
    for entry in entries:
        leg = f" ({entry.leg})" if entry.leg else ""
        yield f"{entry.file}: {entry.verdict} {entry.function or '(file)'}{leg}"


def _relative(path: str, file: Path) -> str:
    """Return a path as seen from the baseline's folder; an absolute one where there is no such path."""
    absolute = Path(path).absolute()
    try:
        return encodable(Path(os.path.relpath(absolute, file.absolute().parent)).as_posix())
    except ValueError:  # another drive
        return encodable(absolute.as_posix())
