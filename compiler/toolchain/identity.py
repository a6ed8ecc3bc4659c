"""Tell one compiler, and one state of slangad's own code, from another: parts of the keys of caches and manifests.

Both depend on contents alone, so that machines share results, and a build gives the same manifest in every folder.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

_SAMPLE = 65536
"""Bytes at the start and at the end of a program that are compared: they hold its build id, tables and signature."""


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
    """Return a hash of slangad's own files, so that work on slangad itself never sees stale Slang."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for folder in (root, root.parent / "templates"):
        for place, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".py", ".slang", ".hpp")):
                    with open(os.path.join(place, name), "rb") as file:  # noqa: PTH118, PTH123  (hundreds of them)
                        text = file.read()
                    digest.update(f"{name}|{len(text)}\n".encode() + text)
    return digest.hexdigest()
