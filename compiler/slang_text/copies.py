"""Place changed copies of Slang files where the imports of a text find them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os.path import relpath, sep
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from zlib import crc32

from slangad.compiler.slang_text.files import text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_CLIMBING: Final = re.compile(r'((?:\bimport|\b__include|#\s*include)\s+")((?:[^"\n]*/)?\.\./[^"\n]*)(")')
_OUTSIDE: Final = "slangad_outside_"


@dataclass(frozen=True, slots=True)
class SourceTexts:
    """Slang files that a text imports or includes.

    Attributes:
        root: The file that no other one imports, if there is one.
        files: All files, each with the text to use.
        folders: The folders in which imports look.
    """

    root: str
    files: Mapping[str, str]
    folders: tuple[str, ...]


def with_copies(
    main: str, sources: SourceTexts, libraries: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[str, dict[str, str]]:
    """Return a text that imports Slang files, and copies of the files with a changed text, by their places.

    If a file besides the root is changed, all are copied, because an import finds its neighbours first. A copy keeps
    its path from the folders in which an import may find it.

    Args:
        main: The text.
        sources: The files.
        libraries: Files beside the text, each with the files that import it.
    """
    files, folders = sources.files, sources.folders
    placed = places_of(sources)
    texts = {place: files[file] + "".join(_imports(file, place, libraries)) for place, file in placed.items()}
    changed = [place for place, text in texts.items() if text != text_of(placed[place])]
    if all(placed[place] == sources.root for place in changed):
        return main, {place: texts[place] for place in changed}
    touched = {_folder(place) for place in changed}
    kept = [place for place in texts if not place.startswith(_OUTSIDE) or _folder(place) in touched]
    at = {Path(placed[place]).resolve(): place for place in sorted(kept, key=len, reverse=True)}
    copies = {place: _led(texts[place], place, (str(Path(placed[place]).parent), *folders), at) for place in kept}
    return _led(main, "", folders, at), copies


def _imports(file: str, place: str, libraries: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield the imports of libraries at the end of a file's copy."""
    for library, users in libraries.items():
        if file in users:
            yield f'\nimport "{"../" * place.count("/")}{library}";\n'


def places_of(texts: SourceTexts) -> dict[str, str]:
    """Return the files by the places of their copies."""
    return {p: file for file in reversed([*texts.files]) for p in reversed([*_places(file, texts.folders)])}


def _places(file: str, folders: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths of a file from the folders that contain it. A file outside of them gets a separate folder."""
    folders_of_file = [
        full.relative_to(root).as_posix()
        for full in (Path(file).absolute(), Path(file).resolve())
        for folder in folders
        for root in (Path(folder).absolute(), Path(folder).resolve())
        if full.is_relative_to(root)
    ]
    yield from folders_of_file or [f"{_OUTSIDE}{crc32(str(Path(file).parent).encode())}/{Path(file).name}"]


def _folder(place: str) -> str:
    return place.rpartition("/")[0]


def _led(text: str, place: str, folders: tuple[str, ...], at: Mapping[Path, str]) -> str:
    """Return the text with imports by ``../`` redirected to the copies of their files."""

    def lead(match: re.Match[str]) -> str:
        meant = ((Path(folder) / match[2]).resolve() for folder in folders)
        copy = next((at[path] for path in meant if path in at), None)
        if copy is None:
            return match[0]
        return f"{match[1]}{relpath(copy, _folder(place) or '.').replace(sep, '/')}{match[3]}"

    return _CLIMBING.sub(lead, text)
