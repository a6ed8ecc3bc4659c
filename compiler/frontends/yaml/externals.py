"""Functions in Slang files: the file and the name there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode, SequenceNode

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.yaml.nodes import Node
    from slangad.compiler.frontends.yaml.world import Routine, YamlWorld

_SUFFIX = ".slang"


def imported_files(world: YamlWorld) -> tuple[str, ...]:
    """Return the files under ``imports:`` in order, as written; missing ones are reported."""
    node = world.document.root.get("imports")
    texts = [item for item in node.items if isinstance(item, ScalarNode)] if isinstance(node, SequenceNode) else []
    return tuple(dict.fromkeys(t.text for t in texts if _is_there(world, t.text, t.span)))


def path_of(world: YamlWorld, file: str) -> Path:
    """Return the path of a Slang file that the description names."""
    return Path(world.file).parent / file


def _is_there(world: YamlWorld, file: str, span: Span) -> bool:
    if os.path.isfile(path_of(world, file)):  # noqa: PTH113  (Path.is_file raises for names that are too long)
        return True
    world.problems.error(
        "SA062", span, f"there is no Slang file {file} beside {world.file}", help="the path is relative to this file"
    )
    return False


def external_of(world: YamlWorld, routine: Routine, imports: tuple[str, ...]) -> tuple[str, str] | None:
    """Return name and file of the Slang function that an ``extern:`` names; None after a report."""
    node = routine.node.get("extern")
    symbol, file = _named(routine, node)
    span = node.span if node is not None else routine.key.span
    if file is not None:
        return (symbol, file) if _is_there(world, file, span) else None
    defining = [f for f in imports if _defines(path_of(world, f), symbol)]
    if not defining and not imports and "imports" in world.document.root:
        return None
    if not defining:
        where = f"none of {', '.join(imports)} defines" if imports else "no imported Slang file defines"
        world.problems.error("SA062", span, f"{where} '{symbol}'", help="extern: {file: bsdf.slang, name: …}")
        return None
    return symbol, defining[0]


def _named(routine: Routine, node: Node | None) -> tuple[str, str | None]:
    """Return the function's name in Slang, and its file if given."""
    called = routine.signature.name
    match node:
        case ScalarNode(value=str() as text):
            return (called, text) if text.endswith(_SUFFIX) else (text, None)
        case MappingNode():
            name, file = node.get("name"), node.get("file")
            return (name.text if isinstance(name, ScalarNode) else called), (
                file.text if isinstance(file, ScalarNode) else None
            )
        case _:
            return called, None


def _defines(path: Path, symbol: str) -> bool:
    """Return True if a Slang file seems to define a function: its name, then parameters."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(rf"\b{re.escape(symbol)}\s*(<[^;{{}}()]*>)?\s*\(", text) is not None
