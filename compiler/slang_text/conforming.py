"""Find Slang files with types that declare an interface, by their text alone."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.endings import SLANG
from slangad.compiler.slang_text.files import state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CONFORMS: Final = re.compile(r"\bstruct\s+\w+\s*(?:<[^{;]*>)?\s*:(?P<bases>[^{;()]*)\{")
_DECLARED: Final = re.compile(r"\binterface\s+(\w+)")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_MOST: Final = 2000
"""Most files of a folder, with those of its subfolders, that are read. If it grows, large projects take longer."""


def conforming_files(interface: str, sources: Sequence[str], folders: Sequence[str]) -> Iterator[Path]:
    """Yield the modules that a program does not read and that have a type with an interface of the program.

    First come those of the folder of the interface, then those of the other folders and their subfolders.

    Args:
        interface: The name of the interface.
        sources: The files that the program reads.
        folders: The folders in which imports are searched.
    """
    known = {Path(file).resolve() for file in sources}
    declaring = [Path(file).parent for file in sources if interface in _names(Path(file))[0]]
    near = (file for folder in declaring for file in sorted(folder.glob(f"*{SLANG}")))
    far = (file for folder in folders for file in _below(str(folder)))
    for every in (near, far):
        reached_interface = False
        for file in (one.resolve() for one in every):
            if file not in known and interface in _names(file)[1]:
                known.add(file)
                reached_interface = True
                yield file
        if reached_interface:
            return


@lru_cache(maxsize=16)
def _below(folder: str) -> tuple[Path, ...]:
    """Return the modules in a folder and its subfolders."""
    return tuple(sorted(islice(Path(folder).rglob(f"*{SLANG}"), _MOST)))


def _names(file: Path) -> tuple[frozenset[str], frozenset[str]]:
    try:
        return _cached_names(str(file), state_of(str(file)))
    except OSError:
        return frozenset(), frozenset()


@lru_cache(maxsize=2 * _MOST)
def _cached_names(file: str, _: tuple[int, int]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the interfaces of a file, and the words behind the colons of its structs."""
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    bases = (word for match in _CONFORMS.finditer(text) for word in _WORD.findall(match["bases"]))
    return frozenset(_DECLARED.findall(text)), frozenset(bases)
