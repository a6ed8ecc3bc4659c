"""Split the files of a check into shards that cost about the same, for several machines.

The split depends only on the order of the inputs and on their texts, so every machine finds the same one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.files import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from slangad.compiler.driver.inputs import Input

_MARKS: Final = re.compile(
    r"\[\s*(?:(?:Backward|Forward)?Differentiable|(?:Backward|Forward)Derivative(?:Of)?)\b"
    r"|@(?:\w+\.)?(?:differentiable|kernel|pipeline)\b"
    r"|^\s+body\s*:",
    re.MULTILINE,
)
"""What begins a function that is checked: in Slang, in Python, in YAML."""


def paths_of_shard(groups: Iterable[tuple[Input, ...]], shard: tuple[int, int]) -> frozenset[Path]:
    """Return the files of one shard.

    Args:
        groups: Files that are checked through each other stay together.
        shard: The number of the shard, from 1, and the number of shards.
    """
    number, count = shard
    shards: list[tuple[int, list[Path]]] = [(0, []) for _ in range(count)]
    for group in sorted(groups, key=_cost, reverse=True):
        lightest = min(range(count), key=lambda k: shards[k][0])
        cost, paths = shards[lightest]
        shards[lightest] = cost + _cost(group), [*paths, *(item.path for item in group)]
    return frozenset(shards[number - 1][1])


def _cost(group: tuple[Input, ...]) -> int:
    """Return an estimate: a file costs as much as a function, besides its functions."""
    return sum(1 + len(_MARKS.findall(text_of(str(item.path)))) for item in group)
