"""Front ends: from a description to an ``ir`` module. ``load`` picks the one a file's name asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.diagnostics import CompileError, Diagnostic
from slangad.compiler.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from slangad.compiler.ir.nodes import Module


def _python(path: Path) -> Module:
    from slangad.compiler.frontends.python.module import load_python

    return load_python(path)


def _yaml(path: Path) -> Module:
    from slangad.compiler.frontends.yaml.module import load_yaml

    return load_yaml(path)


_LOADERS: dict[str, Callable[[Path], Module]] = {".py": _python, ".yaml": _yaml, ".yml": _yaml}


def load(path: Path) -> Module:
    """Loads a description.

    Raises:
        CompileError: with everything that is wrong with it.
    """
    loader = _LOADERS.get(path.suffix)
    if loader is None:
        known = ", ".join(sorted(_LOADERS))
        raise CompileError(
            [
                Diagnostic(
                    "SA002",
                    f"'{path.name}' is not a description",
                    Span(str(path), 1, 1, 1, 1),
                    help=f"inputs end in {known}",
                )
            ]
        )
    return loader(path)


__all__ = ["load"]
