"""Write files as a group: all of them appear, or none does and what was there before is unchanged.

A file whose content would not change keeps its modification time, so that build tools see no work in it.
"""

from __future__ import annotations

from functools import partial
from typing import IO, TYPE_CHECKING

from slangad.compiler.toolchain.atomic import write_together
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_HELP = "make room or choose another folder with -o; the files there are unchanged"


def write_files(files: Mapping[Path, bytes]) -> tuple[Path, ...]:
    """Write all files, making folders as needed; return those whose content changed.

    Raises:
        ToolchainError: Something can't be written: a full disk, no permission. Nothing was changed.
    """
    changed = {path: content for path, content in files.items() if not _is_unchanged(path, content)}
    try:
        write_together({path: partial(_write, content) for path, content in changed.items()})
    except OSError as error:
        raise failed("SA405", f"can't write {error.filename}: {error.strerror}", help=_HELP) from None
    return tuple(changed)


def _write(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def _is_unchanged(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False
