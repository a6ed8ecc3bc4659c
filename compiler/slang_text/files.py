"""The files that are checked, as text and as functions: each is read once, and again when it has changed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from slangad.compiler.slang_text.bodies import Bodies, read_bodies


def text_of(file: str) -> str:
    """The text of a file; empty if it can't be read."""
    try:
        return _text(file, _state(file))
    except OSError:
        return ""


def bodies_of(file: str) -> Bodies:
    """The functions of a Slang file; none if it can't be read."""
    try:
        return _bodies(file, _state(file))
    except OSError:
        return read_bodies("", file)


def _state(file: str) -> tuple[int, int]:
    """What is another when the file has changed."""
    found = Path(file).stat()
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=64)
def _text(file: str, _: tuple[int, int]) -> str:
    return Path(file).read_text(encoding="utf-8", errors="replace")


@lru_cache(maxsize=64)
def _bodies(file: str, state: tuple[int, int]) -> Bodies:
    return read_bodies(_text(file, state), file)
