"""Cache the Slang files of a program. Each is read and parsed once, and again after a change."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zlib import crc32

from slangad.compiler.slang_text.bodies import SlangSource, read_source

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTSIDE: Final = "slangad_outside_"
"""Begins the name of a folder for files outside of all folders of imports."""


def text_of(file: str) -> str:
    """Return the text of a file; an empty text if it cannot be read."""
    try:
        return _text(file, state_of(file))
    except OSError:
        return ""


def source_of(file: str) -> SlangSource:
    """Return a Slang file with its functions; an empty one if it cannot be read."""
    try:
        return _source(file, state_of(file))
    except OSError:
        return read_source("", file)


def state_of(file: str) -> tuple[int, int]:
    """Return a mark that differs after a change of the file."""
    status = Path(file).stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _text(file: str, _: tuple[int, int]) -> str:
    return Path(file).read_text(encoding="utf-8", errors="replace")


@lru_cache(maxsize=64)
def _source(file: str, state: tuple[int, int]) -> SlangSource:
    return read_source(_text(file, state), file)


def places(file: str, folders: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths of a file from the folders that contain it. A file outside of them gets a folder of its own."""
    found = [
        full.relative_to(root).as_posix()
        for full in (Path(file).absolute(), Path(file).resolve())
        for folder in folders
        for root in (Path(folder).absolute(), Path(folder).resolve())
        if full.is_relative_to(root)
    ]
    yield from found or [f"{OUTSIDE}{crc32(str(Path(file).parent).encode())}/{Path(file).name}"]
