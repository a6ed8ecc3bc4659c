"""Write a module's text to a file and import it, because Warp reads the text of kernels from files."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = Path(tempfile.mkdtemp(prefix="zoo_of_warp"))


def loaded(name: str, text: str) -> ModuleType:
    """Write a module and import it."""
    path = FOLDER / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
