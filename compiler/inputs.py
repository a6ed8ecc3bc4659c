"""What to compile: the words of the command line go in, files and kernel names come out; before any front end runs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMED = re.compile(r"(?P<path>.+):(?P<kernel>[^\W\d]\w*)")
_DRIVE = re.compile(r"[A-Za-z]:\w*")


@dataclass(frozen=True, slots=True)
class Input:
    """One describing file, and the kernels of it that are wanted; none named means all."""

    path: Path
    kernels: tuple[str, ...] = ()


def parse_inputs(words: Iterable[str]) -> tuple[Input, ...]:
    """Read ``brdf.py`` or ``brdf.py:fit``; each file once, in order. A whole file makes a kernel of it superfluous.

    A file that is named in two ways, such as ``brdf.py`` and ``other/../brdf.py``, goes by the first.
    """
    wanted: dict[Path, tuple[str, ...]] = {}
    named: dict[str, Path] = {}
    for word, kernel in map(_parse, words):
        path = named.setdefault(os.path.realpath(word), word)
        known = wanted.get(path)
        whole = kernel is None or known == ()
        wanted[path] = () if whole or kernel is None else tuple(dict.fromkeys((*(known or ()), kernel)))
    return tuple(Input(path, kernels) for path, kernels in wanted.items())


def _parse(word: str) -> tuple[Path, str | None]:
    """An existing file of the whole name wins, and so does a Windows drive."""
    named = _NAMED.fullmatch(word)
    if named is None or _DRIVE.fullmatch(word) or os.path.exists(word):  # noqa: PTH110  (Path.exists raises for long names)
        return Path(word), None
    return Path(named["path"]), named["kernel"]
