"""Split the files of a check into shards that cost about the same, for several machines.

The split depends only on the paths and texts of the inputs and on recorded costs, so every machine finds the same one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.driver.inputs import Input

_MARKS: Final = re.compile(
    r"\[\s*(?:(?:Backward|Forward)?Differentiable|(?:Backward|Forward)Derivative(?:Of)?)\b"
    r"|@(?:\w+\.)?(?:differentiable|kernel|pipeline)\b"
    r"|^\s+body\s*:",
    re.MULTILINE,
)
"""The beginning of a checked function: in Slang, in Python, in YAML."""


@dataclass(frozen=True, slots=True)
class Split:
    """The files of every shard.

    Attributes:
        shards: Their paths.
        texts: A hash of the texts of all of them, and of the Slang files that they reach.
    """

    shards: tuple[frozenset[Path], ...]
    texts: str

    @property
    def digest(self) -> str:
        """Return a hash that is equal on all machines that split the same texts alike."""
        names = [sorted(path.as_posix() for path in shard) for shard in self.shards]
        return _hash([self.texts, *map(repr, names)])


def split_files(
    groups: Iterable[tuple[Input, ...]],
    count: int,
    include_dirs: Sequence[str] = (),
    recorded: Mapping[str, float] | None = None,
) -> Split:
    """Split files into shards that cost about the same.

    Args:
        groups: Files that are checked through each other stay together.
        count: The number of shards.
        include_dirs: The folders in which included files are searched.
        recorded: The seconds that files took before, by path. Other files are estimated.
    """
    groups = tuple(groups)
    costs = _costs(groups, include_dirs, recorded or {})
    shards: list[tuple[float, list[Path]]] = [(0.0, []) for _ in range(count)]
    for group in sorted(costs, key=lambda one: (-costs[one], min(item.path.as_posix() for item in one))):
        lightest = min(range(count), key=lambda k: shards[k][0])
        cost, paths = shards[lightest]
        shards[lightest] = cost + costs[group], [*paths, *(item.path for item in group)]
    return Split(tuple(frozenset(paths) for _, paths in shards), _hash_of_texts(groups, include_dirs))


def _hash_of_texts(groups: Iterable[tuple[Input, ...]], include_dirs: Sequence[str]) -> str:
    files: set[str] = set()
    for item in (item for group in groups for item in group if item.live is None):
        files |= {str(item.path), *(search(item.path, include_dirs).files if is_slang(item.path) else ())}
    return _hash(sorted(_hash([text_of(file)]) for file in files))


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _costs(
    groups: Sequence[tuple[Input, ...]], include_dirs: Sequence[str], recorded: Mapping[str, float]
) -> dict[tuple[Input, ...], float]:
    """Return what each group costs: in seconds if any are recorded, else in functions."""
    estimates = {group: _estimate(group, include_dirs) for group in groups}
    known = {
        group: sum(recorded[str(item.path)] for item in group)
        for group in groups
        if all(str(item.path) in recorded for item in group)
    }
    seconds, functions = sum(known.values()), sum(estimates[group] for group in known)
    rate = seconds / functions if seconds and functions else 1.0
    return {group: known[group] if seconds and group in known else rate * estimates[group] for group in groups}


def _estimate(group: tuple[Input, ...], include_dirs: Sequence[str]) -> int:
    """Return an estimate: a file costs as much as a function, besides its functions and those that it includes."""
    paths = {item.path.resolve() for item in group}
    for item in group:
        paths |= search(item.path, include_dirs).textual if is_slang(item.path) else frozenset()
    return sum(1 + len(_MARKS.findall(text_of(str(path)))) for path in paths)
