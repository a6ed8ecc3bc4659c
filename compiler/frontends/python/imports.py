"""Compile the modules that a description imports from source each time, never from byte code on disk.

Python trusts byte code whose source has the same size and second of change. After a quick edit it would
use the old program.
"""

from __future__ import annotations

import contextlib
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType


class _FromSource(SourceFileLoader):
    """Load a module without reading or writing byte code."""

    def path_stats(self, path: str) -> NoReturn:
        """Return an error: byte code can't be compared with the source."""
        raise OSError(path)


class _Finder:
    """Find modules like Python, but load the user's modules from source."""

    def __init__(self, is_library: Callable[[str], bool]) -> None:
        self._is_library = is_library

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a user's source module; None for others, so that the next finder looks."""
        if name in sys.builtin_module_names:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or self._is_library(spec.loader.path):
            return None
        spec.loader = _FromSource(spec.loader.name, spec.loader.path)
        spec.cached = None
        return spec


@contextlib.contextmanager
def fresh_imports(is_library: Callable[[str], bool]) -> Iterator[None]:
    """Compile modules for which ``is_library`` is false from source, inside the block."""
    finder = _Finder(is_library)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
