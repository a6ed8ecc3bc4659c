"""Name cells of a notebook as IPython's own tracebacks do: ``In[3]``, not the file name of the cell's code."""

from __future__ import annotations

import re
import sys
from typing import Final

_FILE_NAME: Final = re.compile(r"<ipython-input-[^>\s]*>|[^\s\"<>&]*ipykernel_\d+[/\\]\d+\.py")
_FRAME: Final = re.compile(r'File "(In\[\d+\])"')


def with_cell_names(text: str) -> str:
    """Return a text with ``In[3]`` for every file name of a cell that the running IPython knows."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    label = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if label is None:
        return text

    def named(match: re.Match[str]) -> str:
        found = label(match[0])  # ("Cell", "In[3]"), None for other files
        return str(found[1]) if found else match[0]

    return _FRAME.sub(r"Cell \1", _FILE_NAME.sub(named, text))


__all__ = ["with_cell_names"]
