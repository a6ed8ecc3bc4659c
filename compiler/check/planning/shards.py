"""Split the files of a check into shards that cost about the same, for several machines.

The split depends only on the paths and texts of the inputs, so every machine finds the same one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from slangad.compiler.driver.inputs import Input

_MARKS: Final = re.compile(
    r"\[\s*(?:(?:Backward|Forward)?Differentiable|(?:Backward|Forward)Derivative(?:Of)?)\b"
    r"|@(?:\w+\.)?(?:differentiable|kernel|pipeline)\b"
    r"|^\s+body\s*:",
    re.MULTILINE,
)
"""The beginning of a checked function: in Slang, in Python, in YAML."""


def paths_of_shard(
    groups: Iterable[tuple[Input, ...]], shard: tuple[int, int], include_dirs: Sequence[str] = ()
) -> frozenset[Path]:
    """Return the files of one shard.

    Args:
        groups: Files that are checked through each other stay together.
        shard: The number of the shard, from 1, and the number of shards.
        include_dirs: The folders in which included files are searched.
    """
    number, count = shard
    costs = {group: _cost(group, include_dirs) for group in groups}
    shards: list[tuple[int, list[Path]]] = [(0, []) for _ in range(count)]
    for group in sorted(costs, key=lambda one: (-costs[one], min(item.path.as_posix() for item in one))):
        lightest = min(range(count), key=lambda k: shards[k][0])
        cost, paths = shards[lightest]
        shards[lightest] = cost + costs[group], [*paths, *(item.path for item in group)]
    return frozenset(shards[number - 1][1])


def _cost(group: tuple[Input, ...], include_dirs: Sequence[str]) -> int:
    """Return an estimate: a file costs as much as a function, besides its functions and those that it includes."""
    paths = {item.path.resolve() for item in group}
    for item in group:
        paths |= search(item.path, include_dirs).textual if is_slang(item.path) else frozenset()
    return sum(1 + len(_MARKS.findall(text_of(str(path)))) for path in paths)
