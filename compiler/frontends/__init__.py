"""Front ends: they load a description as an ``ir`` module. ``load`` picks one by the file's name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.errors.spans import Span
from slangad.compiler.ir.group_operations import size_groups
from slangad.compiler.slang_text.endings import SLANG_ENDINGS, is_slang

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.frontends.python.live import LiveDescription
    from slangad.compiler.frontends.slang.model import SlangSetting
    from slangad.compiler.ir.nodes import Module


def _python(path: Path) -> Module:
    from slangad.compiler.frontends.python.module import load_python

    return load_python(path)


def _yaml(path: Path) -> Module:
    from slangad.compiler.frontends.yaml.module import load_yaml

    return load_yaml(path)


def _slang(path: Path, setting: SlangSetting | None) -> Module:
    from slangad.compiler.frontends.slang.module import load_slang

    if setting is None:
        raise ValueError("Slang files need a Slang compiler to be loaded")
    return load_slang(path, setting)


_LOADERS: dict[str, Callable[[Path], Module]] = {".py": _python, ".yaml": _yaml, ".yml": _yaml}


def load(path: Path | LiveDescription, slang: SlangSetting | None = None) -> Module:
    """Load a description.

    Args:
        path: The describing file, or a decorated object of the running program.
        slang: The settings for Slang files; needed for those only.

    Raises:
        CompileError: with all its errors.
    """
    if not isinstance(path, Path):
        from slangad.compiler.frontends.python.module import load_live

        return size_groups(load_live(path))
    if is_slang(path):
        return _slang(path, slang)
    loader = _LOADERS.get(path.suffix)
    if loader is None:
        raise CompileError(
            [
                Diagnostic(
                    "SA002",
                    f"'{path.name}' is not a description",
                    Span(str(path), 1, 1, 1, 1),
                    help=_near_input(path) or f"inputs end in {', '.join(sorted((*_LOADERS, *SLANG_ENDINGS)))}",
                )
            ]
        )
    return size_groups(loader(path))


def _near_input(path: Path) -> str:
    """Return a hint at a description with nearly this name, if there is no file of the name itself."""
    from difflib import get_close_matches

    if path.exists() or not path.parent.is_dir():
        return ""
    endings = (*_LOADERS, *SLANG_ENDINGS)
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix in endings)
    near = get_close_matches(path.name, names, n=1, cutoff=0.8)
    return f"there is no such file; did you mean '{near[0]}'?" if near else ""


__all__ = ["load"]
