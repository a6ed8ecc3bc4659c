"""Modules that a description imports are compiled from their source each time, never taken from byte code on disk.

Python trusts byte code whose source has the same size and the same second of change: an edit right after a build could
otherwise compile the program it was before.
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
    """Loads a module as if there were no byte code, and leaves none."""

    def path_stats(self, path: str) -> NoReturn:
        """Say that byte code can't be compared with the source."""
        raise OSError(path)


class _Finder:
    """Finds modules as Python does, but has the user's own loaded from source."""

    def __init__(self, is_library: Callable[[str], bool]) -> None:
        self._is_library = is_library

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's spec; None, so that others look, for what isn't source of the user's."""
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
    """While it lasts, modules for which ``is_library`` is false are compiled from their source."""
    finder = _Finder(is_library)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
