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
        message = f"{word} of {signature.name} is a mapping by name: {word}={{{example!r}: …}}"
        if any(value.name == word for value in signature.values):
            message += f"; the parameter {word} is given by position"
        raise TypeError(message)
    known = {value.name: value for value in signature.values}
    flat: dict[str, object] = {}
    for name, item in values.items():
        if item is None:
            continue
        flat |= dict(_flat(prefix, known[name], item)) if name in known else {f"{prefix}{name}": item}
    return flat


def _flat(prefix: str, value: KernelValue, argument: object) -> Iterator[tuple[str, object]]:
    """Yield the arrays of one value; a mapping may leave parts out, which is reported later if they are needed.

    Parts that the value lacks are yielded too, for the report.
    """
    yield from _strays(f"{prefix}{value.name}", argument, [part.path for part in value.parts])
    if len(value.parts) == 1 and not value.parts[0].path:
        if isinstance(argument, Mapping):
            return
        yield f"{prefix}{value.parts[0].key}", argument
        return
    for part in value.parts:
        item = _part(argument, part)
        if item is not None:
            yield f"{prefix}{part.key}", item


def _strays(key: str, value: object, paths: Collection[Path]) -> Iterator[tuple[str, object]]:
    if not isinstance(value, Mapping):
        return
    below: dict[object, list[Path]] = {}
    for path in (path for path in paths if path):
        below.setdefault(path[0], []).append(path[1:])
    for name, inner in value.items():
        if name in below:
            yield from _strays(f"{key}.{name}", inner, below[name])
        else:
            yield f"{key}.{name}", inner


def _part(value: object, part: ArrayPart) -> object:
    for step in part.path:
        value = value.get(step) if isinstance(value, Mapping) else getattr(value, str(step), None)
        if value is None:
            return None
    return value


def nested(arrays: Mapping[str, Any], values: tuple[KernelValue, ...]) -> dict[str, Any]:
    """Return arrays by name; those of structs as mappings by field."""
    result: dict[str, Any] = {}
    for value in values:
        parts = [part for part in value.parts if part.key in arrays]
        if len(parts) == 1 and not parts[0].path:
            result[value.name] = arrays[parts[0].key]
            continue
        for part in parts:
            place = result.setdefault(value.name, {})
            for step in part.path[:-1]:
                place = place.setdefault(step, {})
            place[part.path[-1]] = arrays[part.key]
    return result
