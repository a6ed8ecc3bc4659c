"""Files of a report as programs name them: a path as the user wrote it goes in, one from the working folder out."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from slangad.compiler.report.figures import encodable


def below_here(file: str) -> str:
    """Return the file with slashes, relative to the working folder if it lies there; else as it was named."""
    if not file:
        return ""
    path = Path(file)
    here = Path.cwd()
    whole = Path(os.path.normpath(here / path))
    return encodable((whole.relative_to(here) if whole.is_relative_to(here) else path).as_posix())


def uri(file: str) -> str:
    """Return the file as a URI: relative if it lies below the working folder."""
    path = below_here(file)
    return Path(path).as_uri() if Path(path).is_absolute() else quote(path)
