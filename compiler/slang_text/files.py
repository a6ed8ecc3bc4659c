"""Cache the Slang files of a program. Each is read and parsed once, and again after a change."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from slangad.compiler.slang_text.bodies import SlangSource, read_source


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
