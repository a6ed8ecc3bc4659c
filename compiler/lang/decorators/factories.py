"""Factories: functions that define structs, functions or kernels. Equal arguments give one definition and one name.

An ``Instance`` holds the suffix of a definition's name (``_4_16``) and a key that is equal for equal definitions. Only
arguments that the definition uses count, directly or through locals and helpers.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from slangad.compiler.lang.decorators.source import definition_of_code
from slangad.compiler.lang.errors import DescriptionError
from slangad.compiler.lang.types.arrays import ArrayValue

if TYPE_CHECKING:
    from slangad.compiler.lang.decorators.frames import DecoratorLocation

DefinitionNode = ast.FunctionDef | ast.ClassDef
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Instance:
    """One definition made by a factory.

    Attributes:
        suffix: The suffix of the definition's name, ``_4_16``; empty if no argument is used.
        identity: Equal for equal definitions while they live.
        arguments: The arguments used, in parameter order.
    """

    suffix: str = ""
    identity: tuple[object, ...] | None = None
    arguments: tuple[tuple[str, object], ...] = field(default=())


PLAIN: Final = Instance()
_MADE: Final[WeakValueDictionary[tuple[object, ...], object]] = WeakValueDictionary()


def instance_of(
    location: DecoratorLocation, node: DefinitionNode, options: Mapping[str, object] | None = None
) -> Instance:
    """Return the instance of a definition; ``PLAIN`` at module level and in classes.

    Args:
        location: The location of the decorator.
        node: Its tree.
        options: The decorator's keywords.
    """
    if location.factory is None or location.in_class:
        return PLAIN
    try:
        factory = definition_of_code(location.factory).tree
    except DescriptionError:
        return PLAIN
    if not any(statement is node for statement in ast.walk(factory)):
        return PLAIN
    used = _used_names(factory, node)
    names = [n for n in _parameters(location.factory) if n in used and n in location.locals]
    arguments = tuple((n, location.locals[n]) for n in names)
    helpers = {s.name for s in ast.walk(factory) if isinstance(s, Named)}
    values = tuple((n, content_key(location.locals[n])) for n in sorted(used - helpers) if n in location.locals)
    suffix = "".join(f"_{name_part(v)}" for _, v in _distinctive(arguments, _defaults(factory, location.globals)))
    return Instance(
        suffix, (id(location.factory), location.line, node.name, values, content_key(options or {})), arguments
    )


def _distinctive(
    arguments: tuple[tuple[str, object], ...], defaults: Mapping[str, object]
) -> tuple[tuple[str, object], ...]:
    """Return the arguments without those at the end that equal their defaults."""
    count = len(arguments)
    while count and arguments[count - 1][0] in defaults:
        name, value = arguments[count - 1]
        if content_key(value) != content_key(defaults[name]):
            break
        count -= 1
    return arguments[:count]


def _defaults(factory: ast.FunctionDef, names: Mapping[str, object]) -> dict[str, object]:
    """Return the defaults of a factory's parameters that are literals or names."""
    positional = [*factory.args.posonlyargs, *factory.args.args]
    pairs = [*zip(reversed(positional), reversed(factory.args.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(factory.args.kwonlyargs, factory.args.kw_defaults, strict=True) if d is not None]
    result: dict[str, object] = {}
    for argument, node in pairs:
        if isinstance(node, ast.Name):
            result[argument.arg] = names.get(node.id, getattr(builtins, node.id, None))
        else:
            with contextlib.suppress(ValueError):
                result[argument.arg] = ast.literal_eval(node)
    return result


def made(instance: Instance) -> object | None:
    """Return the living definition with the same identity, if any."""
    return None if instance.identity is None else _MADE.get(instance.identity)


def remember(instance: Instance, definition: object) -> None:
    """Keep a definition for the next call of its factory while it is in use."""
    if instance.identity is not None:
        _MADE[instance.identity] = definition


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:count]


def _used_names(factory: ast.FunctionDef, node: DefinitionNode) -> set[str]:
    """Return the names that a definition reads, directly or through the factory's statements that bind them."""
    bindings = _bindings(factory)
    result: set[str] = set()
    waiting = set(_free_names(node))
    while waiting:
        name = waiting.pop()
        result.add(name)
        waiting |= bindings.get(name, set()) - result
    return result


def _free_names(node: DefinitionNode) -> Iterator[str]:
    """Yield the names that a definition reads, without a function's own parameters in its body."""
    if isinstance(node, ast.ClassDef):
        for decorator in node.decorator_list:
            yield from _names(decorator)
        for statement in node.body:
            yield from _free_names(statement) if isinstance(statement, ast.FunctionDef) else _names(statement)
        return
    arguments = node.args
    arguments_names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    head = (arguments, *node.decorator_list, *([node.returns] if node.returns is not None else []))
    for part in head:
        yield from _names(part)
    for statement in node.body:
        yield from (name for name in _names(statement) if name not in arguments_names)


def _bindings(factory: ast.FunctionDef) -> dict[str, set[str]]:
    bindings: dict[str, set[str]] = {}
    for statement in ast.walk(factory):
        if statement is factory:
            continue
        if isinstance(statement, Named):
            bindings.setdefault(statement.name, set()).update(_names(statement))
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.NamedExpr)):
            for name in _targets(statement):
                bindings.setdefault(name, set()).update(_names(statement))
    return bindings


def _targets(statement: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names read below a node, words of quoted annotations included."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield from re.findall(r"[^\W\d]\w*", child.value)


def content_key(value: object) -> object:
    """Return a hashable key, equal for values of equal meaning; for other objects their identity."""
    if isinstance(value, (bool, int, float, str, bytes, type(None))):
        return (type(value).__name__, repr(value))
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, tuple(content_key(v) for v in value))
    if isinstance(value, Mapping):
        return ("mapping", tuple((content_key(k), content_key(v)) for k, v in value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, tuple(content_key(getattr(value, f.name)) for f in fields(value)))
    if isinstance(value, type):
        return id(value)
    if hasattr(value, "__slangad_struct__"):
        return (id(type(value)), tuple((name, content_key(part)) for name, part in vars(value).items()))
    if hasattr(value, "slangad_type") or hasattr(value, "tobytes"):
        return (type(value).__name__, _text(value))
    return id(value)


def _text(value: object) -> str:
    data = getattr(value, "data", value)
    raw = data.tobytes() if hasattr(data, "tobytes") else repr(value).encode()
    return f"{getattr(data, 'dtype', '')}{getattr(data, 'shape', '')}{hashlib.sha256(raw).hexdigest()}"


def name_part(value: object) -> str:
    """Return a value as part of an identifier: ``16``, ``0p5``, ``m1``, ``float3``, ``Material``."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        return _identifier(value)
    if isinstance(value, (tuple, list)):
        return "_".join(name_part(v) for v in value) or "empty"
    if is_dataclass(value) and not isinstance(value, type):
        return "_".join((type(value).__name__.lower(), *(name_part(getattr(value, f.name)) for f in fields(value))))
    if isinstance(value, type) and issubclass(value, ArrayValue):
        return f"{name_part(value.element)}_{value.size}"
    name = _definition_name(value)
    return _identifier(name) if name else hashlib.sha256(_text(value).encode()).hexdigest()[:6]


def _number(value: float) -> str:
    text = repr(int(value) if isinstance(value, int) else float(value))
    return text.replace("-", "m").replace("+", "").replace(".", "p")


def _definition_name(value: object) -> str:
    record = getattr(value, "__slangad_struct__", None)
    if record is not None and isinstance(value, type):
        return str(record.name)
    if isinstance(value, (type, FunctionType, ModuleType)):
        return value.__name__.rpartition(".")[2]
    name = getattr(value, "emitted_name", "") or getattr(value, "__name__", "")
    return name if isinstance(name, str) else ""


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_") or "empty"
