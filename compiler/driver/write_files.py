"""Files are written as a group: all of them appear, or none does and what was there before is untouched.

Each text goes to a temporary file beside its destination first; only when all are complete are they renamed. A file
whose content would not change keeps its modification time, so that build tools see no work in it.
"""

from __future__ import annotations

import errno
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_files(files: Mapping[Path, bytes]) -> tuple[Path, ...]:
    """Write all files, making folders as needed; return those whose content changed.

    Raises:
        ToolchainError: Something can't be written: a full disk, no permission. Nothing was changed.
    """
    temporary: dict[Path, Path] = {}
    folders: list[Path] = []
    try:
        for path, content in files.items():
            if not _is_unchanged(path, content):
                folders += _make_folders(path.parent)
                _require_replaceable(path)
                temporary[path] = _write_beside(path, content)
        for path, written in temporary.items():
            written.replace(path)
    except OSError as error:
        raise failed("SA405", f"can't write {error.filename}: {error.strerror}", help=_HELP) from None
    finally:
        _discard(temporary, folders)
    return tuple(temporary)


_HELP = "make room or choose another folder with -o; the files there are unchanged"


def _is_unchanged(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and its parents; return those that were new, innermost first."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _write_beside(path: Path, content: bytes) -> Path:
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            error.filename = str(path)
        raise
    return temporary


def _require_replaceable(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder of that name is in the way", str(path))


def _discard(temporary: Mapping[Path, Path], folders: list[Path]) -> None:
    """Remove what is left over: temporary files, and new folders if nothing came to lie in them."""
    for written in temporary.values():
        with suppress(OSError):
            written.unlink()
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
