"""Names of a description: valid identifiers, each defined once."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.reading.parameter_paths import normal
from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode, entries_of
from slangad.compiler.frontends.yaml.shape import MAX_NAME

if TYPE_CHECKING:
    from slangad.compiler.frontends.reading.problems import Problems

SECTIONS: Final = ("constants", "structs", "nn", "functions", "kernels", "pipelines")
"""The sections whose names share one namespace."""
OWN_DERIVATIVES: Final = {"backward": "bwd", "forward": "fwd"}


def good_name(key: ScalarNode, problems: Problems) -> str | None:
    """Return the name that a key spells; None after a report."""
    name = normal(key.text)
    if keyword.iskeyword(name):
        problems.error("SA057", key.span, f"'{name}' is a keyword of the expression language", help=f"call it {name}_")
        return None
    if not name.isidentifier() or len(name) > MAX_NAME:
        problems.error(
            "SA057",
            key.span,
            f"'{key.text[:40]}' is not a name",
            help="letters, digits and _, not beginning with a digit",
        )
        return None
    return name


def check_names(root: MappingNode, problems: Problems) -> dict[str, dict[str, ScalarNode]]:
    """Return every valid name of every section with its key; report names that are taken."""
    result: dict[str, dict[str, ScalarNode]] = {section: {} for section in SECTIONS}
    seen: dict[str, ScalarNode] = {}
    for section in SECTIONS:
        for key, _ in entries_of(root.get(section)):
            name = good_name(key, problems)
            if name is not None and _is_free(name, key, seen, problems):
                seen[name] = key
                result[section][name] = key
    for key, node in entries_of(root.get("functions")):
        for part, ending in OWN_DERIVATIVES.items():
            name = f"{normal(key.text)}_{ending}"
            if isinstance(node, MappingNode) and part in node and name in seen:
                problems.error(
                    "SA057", seen[name].span, f"'{name}' is the name of the {part} derivative of '{key.text}'",
                    label="taken", help="call this something else",
                )  # fmt: skip
    return result


def _is_free(name: str, key: ScalarNode, seen: dict[str, ScalarNode], problems: Problems) -> bool:
    first = seen.get(name)
    if first is not None:
        problems.error(
            "SA057", key.span, f"'{name}' is defined already", label="the second",
            help=f"all sections share one namespace; the first is in line {first.span.line}",
        )  # fmt: skip
    return first is None
