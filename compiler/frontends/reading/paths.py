"""Paths of files as Slang imports them and as users see them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def import_path(path: Path, describing: str) -> str:
    """Return the path of a Slang file in an import: relative to the describing file, with forward slashes."""
    resolved, folder = path.resolve(), Path(describing).resolve().parent
    with contextlib.suppress(ValueError):  # on another drive
        return Path(os.path.relpath(resolved, folder)).as_posix()
    return resolved.as_posix()


def shown_path(path: Path) -> str:
    """Return a path for users: relative if the file is in the working folder."""
    resolved = path.resolve()
    with contextlib.suppress(ValueError):
        return str(resolved.relative_to(Path.cwd()))
    return str(resolved)
