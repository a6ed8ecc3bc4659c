"""Read the names that a file describes without running it, for the completion of shells."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.bodies import read_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KERNELS: Final = ("kernel", "pipeline")
_FUNCTIONS: Final = (*_KERNELS, "differentiable", "function")


def described_names(path: Path, *, kernels_only: bool) -> list[str]:
    """Return the kernels and pipelines of a file, and its functions too; empty for files that can't be read."""
    try:
        text = path.read_text(encoding="utf-8")
        match path.suffix:
            case ".py":
                found = _of_python(text, _KERNELS if kernels_only else _FUNCTIONS)
            case ".yaml" | ".yml":
                found = _of_yaml(text, kernels_only=kernels_only)
            case _:
                found = (function.header.name for function in read_source(text, str(path)).functions)
        return list(dict.fromkeys(found))
    except (OSError, ValueError, SyntaxError):
        return []


def _of_python(text: str, decorators: tuple[str, ...]) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            calls = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if any(getattr(call, "attr", getattr(call, "id", "")) in decorators for call in calls):
                yield node.name


def _of_yaml(text: str, *, kernels_only: bool) -> Iterator[str]:
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return
    sections = ("kernels", "pipelines") if kernels_only else ("kernels", "pipelines", "functions")
    for section in sections:
        names = document.get(section) if isinstance(document, dict) else None
        yield from (str(name) for name in names or () if isinstance(names, dict))
