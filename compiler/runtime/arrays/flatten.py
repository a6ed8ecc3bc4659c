"""Convert Python values to arrays by key, and back.

Input: mappings, objects with attributes, arrays. Output: ``{"m.albedo": array}``; or nested mappings from that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelSignature, KernelValue, Path


def flatten_named(prefix: str, values: object, signature: KernelSignature, example: str = "x") -> dict[str, object]:
    """Return arrays by key from values by name; None means omitted. ``example`` is a name for messages.

    Raises:
        TypeError: The values aren't by name.
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        word = prefix.rstrip(".") or "arguments"
        raise TypeError(f"{word} of {signature.name} is a mapping by name: {word}={{{example!r}: …}}")
    known = {value.name: value for value in signature.values}
    flat: dict[str, object] = {}
    for name, given in values.items():
        if given is None:
            continue
        flat |= dict(_flat(prefix, known[name], given)) if name in known else {f"{prefix}{name}": given}
    return flat


def _flat(prefix: str, value: KernelValue, given: object) -> Iterator[tuple[str, object]]:
    """Yield the arrays of one value; a mapping may leave parts out, which is reported later if they are needed.

    Parts that the value lacks are yielded too, for the report.
    """
    yield from _strays(f"{prefix}{value.name}", given, [part.path for part in value.parts])
    if len(value.parts) == 1 and not value.parts[0].path:
        if isinstance(given, Mapping):
            return
        yield f"{prefix}{value.parts[0].key}", given
        return
    for part in value.parts:
        found = _part(given, part)
        if found is not None:
            yield f"{prefix}{part.key}", found


def _strays(key: str, given: object, paths: Collection[Path]) -> Iterator[tuple[str, object]]:
    if not isinstance(given, Mapping):
        return
    below: dict[object, list[Path]] = {}
    for path in (path for path in paths if path):
        below.setdefault(path[0], []).append(path[1:])
    for name, inner in given.items():
        if name in below:
            yield from _strays(f"{key}.{name}", inner, below[name])
        else:
            yield f"{key}.{name}", inner


def _part(given: object, part: ArrayPart) -> object:
    for step in part.path:
        given = given.get(step) if isinstance(given, Mapping) else getattr(given, str(step), None)
        if given is None:
            return None
    return given


def nested(arrays: Mapping[str, Any], values: tuple[KernelValue, ...]) -> dict[str, Any]:
    """Return arrays by name; those of structs as mappings by field."""
    found: dict[str, Any] = {}
    for value in values:
        parts = [part for part in value.parts if part.key in arrays]
        if len(parts) == 1 and not parts[0].path:
            found[value.name] = arrays[parts[0].key]
            continue
        for part in parts:
            place = found.setdefault(value.name, {})
            for step in part.path[:-1]:
                place = place.setdefault(step, {})
            place[part.path[-1]] = arrays[part.key]
    return found
