"""Write files that appear complete, all together or none.

Each file goes to a temporary file beside its destination. When all are complete, they are renamed.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    Write = Callable[[IO[bytes]], object]


def write_atomically(path: Path, content: bytes) -> None:
    """Write one file; other processes see the old file or the new one.

    Raises:
        OSError: It can't be written. The old file is unchanged.
    """
    write_together({path: lambda file: file.write(content)})


def write_together(outputs: Mapping[Path, Write], *, sync: bool = False) -> None:
    """Write some files and make their folders.

    Args:
        outputs: By destination, a function that writes the content. A device or pipe is written directly, since
            renaming a file over it would remove it for everyone.
        sync: Wait until the contents are on the disk.

    Raises:
        OSError: One can't be written; ``filename`` is its path or its folder. Nothing is changed.
    """
    devices = [path for path in outputs if path.exists() and not (path.is_file() or path.is_dir())]
    besides: dict[Path, Path] = {}
    folders: list[Path] = []
    try:
        for path, write in outputs.items():
            if path not in devices:
                folders += _make_folders(path.parent)
                besides[path] = path.with_name(f".{secrets.token_hex(8)}.tmp")
                with _naming(path):
                    _write_beside(path, besides[path], write, sync=sync)
        for path in devices:
            with _naming(path):
                _send(path, outputs[path])
        for path, beside in besides.items():
            with _naming(path):
                beside.replace(path)
    finally:
        for beside in besides.values():
            with suppress(OSError):
                beside.unlink()
        for folder in folders:
            with suppress(OSError):  # a folder with files in it stays
                folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and its parents; return those that were new, innermost first."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
    return missing


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Give errors the name of the destination, in place of that of the temporary file."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _write_beside(path: Path, beside: Path, write: Write, *, sync: bool) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder of that name is in the way")
    with beside.open("xb") as file:
        write(file)
        if sync:
            file.flush()
            os.fsync(file.fileno())


def _send(path: Path, write: Write) -> None:
    content = io.BytesIO()
    write(content)
    with path.open("wb") as file:
        file.write(content.getbuffer())
