"""Compare two recordings and print a table, all differences, and examples of new wording."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from commits.documents import numbers_in

if TYPE_CHECKING:
    from pathlib import Path

Recorded = tuple[list[str], dict[str, str], int]
"""The lines, the free text by place, and how many numbers the lines stand for."""
Items = dict[str, dict[str, Recorded]]
ORDER = ("diagnostics", "emitted Slang", "IR", "verdicts", "numbers of verdicts", "artefacts", "reflection")
"""Kinds whose differences cause differences of other kinds, such as hashes in manifests. They are shown first."""
WIDTH = 240
"""Characters of a line to show."""


@dataclass
class Count:
    """How the items of one kind compare."""

    compared: int = 0
    numbers: int = 0
    reworded: int = 0
    differences: list[str] = field(default_factory=list)


def compare(before: Path, after: Path, *, examples: int) -> int:
    """Print how two recordings compare, and return the exit code: 1 if more than wording differs."""
    (head, first), (other_head, second) = _read(before), _read(after)
    if head != other_head:
        sys.exit(f"The recordings are of different programs, settings or machines:\n{head}\n{other_head}")
    wordings: dict[str, None] = {}
    counts = {
        kind: _compare_kind(first.get(kind, {}), second.get(kind, {}), wordings)
        for kind in sorted({*first, *second}, key=_place)
    }
    _print_table(counts)
    for kind, count in counts.items():
        for difference in count.differences:
            print(f"\nDIFFERENT {kind}: {difference}")
    for example in list(wordings)[:examples]:
        print(f"\nNEW WORDING {example}")
    if len(wordings) > examples:
        print(f"\n{len(wordings) - examples} more texts have new wording; --examples N shows N")
    return 1 if any(count.differences for count in counts.values()) or not counts else 0


def _read(path: Path) -> tuple[dict[str, object], Items]:
    """Return the head and the items of a recording: of a file, or of all parts in a folder."""
    parts = sorted(path.glob("recording-*.json.gz")) if path.is_dir() else [path]
    read = [json.loads(gzip.decompress(part.read_bytes())) for part in parts]
    heads = [part["head"] for part in read]
    if not read or any(head != heads[0] for head in heads) or len(read) != heads[0]["shards"]:
        sys.exit(f"{path} holds {len(read)} parts, which are not all parts of one recording: {heads}")
    items: Items = {}
    for part in read:
        for kind, found in part["items"].items():
            items.setdefault(kind, {}).update(found)
    return heads[0] | {"shards": 1}, items


def _place(kind: str) -> tuple[int, str]:
    """Return the place of a kind in the table."""
    return next((place for place, start in enumerate(ORDER) if kind.startswith(start)), len(ORDER)), kind


def _compare_kind(before: dict[str, Recorded], after: dict[str, Recorded], wordings: dict[str, None]) -> Count:
    count = Count()
    for name in sorted({*before, *after}):
        count.compared += 1
        if name not in before or name not in after:
            count.differences.append(f"{name}\n  only {'before' if name in before else 'after'}")
            continue
        (lines, texts, numbers), (other_lines, other_texts, _) = before[name], after[name]
        count.numbers += numbers
        difference = _first_difference(lines, other_lines) or _first_number(texts, other_texts)
        if difference:
            count.differences.append(f"{name}\n  {difference}")
        elif texts != other_texts:
            count.reworded += 1
            changed = [place for place, text in texts.items() if text != other_texts[place]]
            wordings.update(dict.fromkeys(f"\n  - {texts[p]}\n  + {other_texts[p]}" for p in changed))
    return count


def _first_difference(before: list[str], after: list[str]) -> str:
    """Return the first line that differs, from both sides; empty if none does."""
    for number, (line, other) in enumerate(zip_longest(before, after), 1):
        if line != other:
            return f"line {number} of {len(before)}\n  - {_shown(line)}\n  + {_shown(other)}"
    return ""


def _first_number(before: dict[str, str], after: dict[str, str]) -> str:
    """Return the first free text whose numbers differ; empty if none does."""
    for place in {**before, **after}:
        text, other = before.get(place, ""), after.get(place, "")
        if numbers_in(text) != numbers_in(other):
            return f"numbers in {place}\n  - {_shown(text)}\n  + {_shown(other)}"
    return ""


def _shown(line: str | None) -> str:
    if line is None:
        return "(nothing)"
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}…"


def _print_table(counts: dict[str, Count]) -> None:
    columns = ("kind", "compared", "equal", "new wording only", "different", "numbers")
    rows = [
        (kind, c.compared, c.compared - c.reworded - len(c.differences), c.reworded, len(c.differences), c.numbers)
        for kind, c in counts.items()
    ]
    rows.append(("all", *(sum(row[column] for row in rows) for column in range(1, len(columns)))))
    print("| " + " | ".join(columns) + " |\n|---|" + "---:|" * (len(columns) - 1))
    for kind, *cells in rows:
        print(f"| {kind} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
