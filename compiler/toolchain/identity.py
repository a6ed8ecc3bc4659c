"""Tell one compiler, and one state of slangad's own code, from another: parts of the keys of caches and manifests.

Both depend on contents alone, so that machines share results, and a build gives the same manifest in every folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.toolchain.atomic import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SAMPLE = 65536
"""Bytes at the start and at the end of a program that are compared: they hold its build id, tables and signature."""
_OWN: Final = (".py", ".slang", ".hpp")
"""The endings of slangad's own files."""
_SETTLED: Final = 2_000_000_000
"""Nanoseconds since the last change of a file before its hash is kept. Sooner, two changes may have the same time."""


def fingerprint(compiler: Path) -> str:
    """Return a hash of a compiler and of Slang's libraries by it: their names, sizes, first and last bytes."""
    real = compiler.resolve()
    folders = (real.parent, real.parent.parent / "lib")
    parts = sorted(part for folder in folders for part in folder.glob("*slang-*.*") if part.is_file())
    digest = hashlib.sha256()
    for file in (real, *parts):
        with file.open("rb") as content:
            size = content.seek(0, os.SEEK_END)
            digest.update(f"{file.name}|{size}\n".encode())
            for start in (0, max(0, size - _SAMPLE)):
                content.seek(start)
                digest.update(content.read(_SAMPLE))
    return digest.hexdigest()


@cache
def own_code() -> str:
    """Return a hash of slangad's own files, so that work on slangad itself never sees stale Slang.

    The hash is kept beside the byte code of this file, with the sizes and times of all files.
    """
    root = Path(__file__).resolve().parents[1]
    files = sorted((*_own_files(root), *_own_files(root.parent / "templates")))
    state = hashlib.sha256(repr(files).encode()).hexdigest()
    memo = Path(cache_from_source(__file__)).with_name("own_code")
    with suppress(OSError, UnicodeDecodeError):
        known, _, code = memo.read_text(encoding="ascii").partition(" ")
        if known == state:
            return code
    code = _digest_of(name for name, *_ in files)
    settled = max(changed for _, _, changed, _ in files) < time.time_ns() - _SETTLED
    if settled and not sys.dont_write_bytecode:
        with suppress(OSError):
            write_atomically(memo, f"{state} {code}".encode())
    return code


def _own_files(folder: Path | str) -> Iterator[tuple[str, int, int, int]]:
    """Yield slangad's own files in a folder: the path, then the numbers that change when a file is written."""
    for entry in os.scandir(folder):  # the listing of a pathlib folder takes twice as long
        if entry.name.endswith(_OWN):
            info = entry.stat()
            yield entry.path, info.st_size, info.st_mtime_ns, info.st_ctime_ns
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _own_files(entry.path)


def _digest_of(names: Iterable[str]) -> str:
    """Return a hash of files: their names without folders, and their contents."""
    digest = hashlib.sha256()
    for name in names:
        with open(name, "rb") as file:  # noqa: PTH123  (hundreds of them)
            text = file.read()
        digest.update(f"{os.path.basename(name)}|{len(text)}\n".encode() + text)  # noqa: PTH119
    return digest.hexdigest()
