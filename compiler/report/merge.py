"""Put the reports of a check's shards together, as if it was one run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.report.model import FileCost, Report, Result

_ALIKE: Final = ("version", "seed", "device", "samples", "strict", "fail_on", "min_checked", "baseline")
"""Fields that the reports of one run have in common."""
_OPTION: Final = re.compile(r" --shard[ =]\S+")


def merge_reports(named: Sequence[tuple[str, Report]]) -> Report:
    """Return one report of several, with the results in the order of the files.

    Args:
        named: The reports, each with the name of its file.

    Raises:
        ValueError: They are not the shards of one run, or a shard is missing or there twice.
    """
    (first_name, first), *others = named
    for name, report in others:
        for field in _ALIKE:
            if getattr(report, field) != getattr(first, field):
                message = f"{name} and {first_name} differ in {field}: they are not of one run"
                raise ValueError(message)
    _refuse_incomplete(named)
    reports = [report for _, report in named]
    order = {file: number for number, file in enumerate(first.files)}

    def place(one: Result | FileCost) -> int:
        return order.get(one.file, len(order))

    results = sorted((one for report in reports for one in report.results), key=place)
    return replace(
        first,
        results=tuple(results),
        toolchain=tuple(dict.fromkeys(tool for report in reports for tool in report.toolchain)),
        seconds=sum(report.seconds for report in reports),
        command=_OPTION.sub("", first.command),
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
        gone=tuple(sorted({entry for report in reports for entry in report.gone})),
        shard="",
        split="",
        files=(),
        costs=tuple(sorted((cost for report in reports for cost in report.costs), key=place)),
    )


def _refuse_incomplete(named: Sequence[tuple[str, Report]]) -> None:
    """Refuse shards of different splits, missing ones, and those that are there twice."""
    count = named[0][1].shard.partition("/")[2]
    seen: dict[str, str] = {}
    for name, report in named:
        if report.shard.partition("/")[2] != count:
            message = f"{name} is of another split than {named[0][0]}"
            raise ValueError(message)
        if report.shard and report.shard in seen:
            message = f"{name} and {seen[report.shard]} are both shard {report.shard}"
            raise ValueError(message)
        seen[report.shard] = name
    if len({report.split for _, report in named}) > 1:
        message = "the shards were split differently: the machines had other files, other texts or other --costs"
        raise ValueError(message)
    missing = [f"{k}/{count}" for k in range(1, int(count or 0) + 1) if f"{k}/{count}" not in seen]
    if missing:
        message = f"shard {', '.join(missing)} is missing"
        raise ValueError(message)
