"""Comments of a description: ``description:`` keys and docstrings of bodies."""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.yaml.nodes import MappingNode, Node, ScalarNode

if TYPE_CHECKING:
    from slangad.compiler.frontends.lowering.body import BodySource

_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def doc_of(node: Node | None) -> tuple[str, ...]:
    """Return the lines of a ``description:`` as of a docstring."""
    text = node.get("description") if isinstance(node, MappingNode) else None
    return _lines(text.text) if isinstance(text, ScalarNode) else ()


def _lines(text: str) -> tuple[str, ...]:
    """Return the lines of a docstring; every character that ends a line becomes a newline, since comments end there."""
    lines = re.sub(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    clean = inspect.cleandoc(_CONTROL.sub("", lines))
    return tuple(clean.split("\n")) if clean else ()


def full_doc(node: Node, source: BodySource | None) -> tuple[str, ...]:
    """Return the description, or the docstring of the body if there is none."""
    doc = doc_of(node)
    if doc or source is None or not source.statements:
        return doc
    first = source.statements[0]
    text = first.value.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None
    return _lines(text) if isinstance(text, str) else ()
