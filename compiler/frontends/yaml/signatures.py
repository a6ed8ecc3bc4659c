"""Signatures of functions, methods and kernels: types and memories from ``params:`` and ``returns:``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.frontends.kernel_rules.memories import check_function_memory, type_in, yaml_spelling
from slangad.compiler.frontends.reading.parameter_paths import part_type
from slangad.compiler.frontends.reading.signatures import MISSING, CallSignature, Parameter
from slangad.compiler.frontends.yaml.literals import bounds, typed_value
from slangad.compiler.frontends.yaml.names import good_name
from slangad.compiler.frontends.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode, entries_of
from slangad.compiler.frontends.yaml.type_words import TypeWords, read_type
from slangad.compiler.frontends.yaml.world import Routine
from slangad.compiler.ir.nodes import Range
from slangad.compiler.ir.types import Struct, Tuple, Type
from slangad.compiler.lang.decorators.struct import CALL, CALL_IN_SLANG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.frontends.yaml.world import YamlWorld


@dataclass(frozen=True, slots=True)
class Declared:
    """One parameter as it is written."""

    name: str
    key: ScalarNode
    text: ScalarNode
    words: TypeWords
    default: object
    range: tuple[float, float] | None


def declare_function(
    world: YamlWorld, name: str, key: ScalarNode, node: MappingNode, owner: Struct | None = None
) -> Routine | None:
    """Return a function or method with its signature; None after all its errors were reported."""
    before = len(world.problems)
    static = owner is None or flag(node, "static", default=False)
    declared = read_params(world, node, taken=() if static else ("self",))
    params = [_parameter(world, p) for p in declared]
    result = _result(world, node)
    differentiable = flag(node, "differentiable", default="extern" not in node)
    if result is None or len(world.problems) != before or lacks_params(node, declared):
        return None
    function_key = f"{owner.key}.{name}" if owner is not None else world.key(name)
    shown = CALL_IN_SLANG if owner is not None and name == CALL else name
    signature = CallSignature(
        function_key, shown, tuple(p for p in params if p is not None), result, differentiable, owner,
        static=owner is not None and static,
    )  # fmt: skip
    receiver = {} if owner is None or static else {"self": owner}
    return Routine(key, node, signature, ranges_of(world, node, declared, receiver))


def flag(node: MappingNode, name: str, *, default: bool) -> bool:
    """Return a bool of a mapping."""
    value = node.get(name)
    return value.value if isinstance(value, ScalarNode) and isinstance(value.value, bool) else default


def read_params(world: YamlWorld, node: MappingNode, taken: tuple[str, ...] = ()) -> list[Declared]:
    """Return the parameters in order; wrong ones are reported and left out."""
    result: list[Declared] = []
    for key, value in entries_of(node.get("params")):
        declared = _declared(world, key, value)
        if declared is None:
            continue
        if declared.name in (*taken, *(p.name for p in result)):
            world.problems.error("SA057", key.span, f"there are two parameters '{declared.name}'")
        elif declared.default is MISSING and any(p.default is not MISSING for p in result):
            world.problems.error(
                "SA061", key.span, f"'{declared.name}' has no default but follows one that has", help="put it first"
            )
        else:
            result.append(declared)
    return result


def lacks_params(node: MappingNode, declared: Sequence[Declared]) -> bool:
    """Return True if parameters were left out, as those of a struct that was refused."""
    return len(declared) != sum(1 for _ in entries_of(node.get("params")))


def _declared(world: YamlWorld, key: ScalarNode, value: Node) -> Declared | None:
    name = good_name(key, world.problems)
    text = value.get("type") if isinstance(value, MappingNode) else value
    words = read_type(world.locations(text), world, world.problems) if isinstance(text, ScalarNode) else None
    if name is None or words is None or not isinstance(text, ScalarNode):
        return None
    default: object = MISSING
    range_ = None
    if isinstance(value, MappingNode):
        literal, interval = value.get("default"), value.get("range")
        default = MISSING if literal is None else typed_value(literal, words.type, world.problems)
        range_ = None if interval is None else bounds(interval, world.problems)
    return Declared(name, key, text, words, MISSING if default is None else default, range_)


def _parameter(world: YamlWorld, declared: Declared) -> Parameter | None:
    words, type_ = declared.words, declared.words.type
    if words.memory is not None:
        if not check_function_memory(words.memory, type_, yaml_spelling, declared.text.span, world.problems):
            return None
        if declared.default is not MISSING:
            world.problems.error("SA061", declared.text.span, f"'{declared.name}' can't have a default")
            return None
        type_ = type_in(words.memory, type_, words.rank, words.options)
    return Parameter(declared.name, type_, words.no_diff, declared.default, span=declared.key.span)


def result_words(world: YamlWorld, node: Node | None) -> tuple[tuple[tuple[ScalarNode, TypeWords], ...], bool] | None:
    """Return the parts of ``returns:``, and True if they were written as a list; None after a report."""
    texts = node.items if isinstance(node, SequenceNode) else (node,)
    parts = [(t, read_type(world.locations(t), world, world.problems)) for t in texts if isinstance(t, ScalarNode)]
    known = tuple((text, words) for text, words in parts if words is not None)
    for text, words in known:
        if words.no_diff:
            world.problems.error(
                "SA058", text.span, "a result can't be no_diff", help="write no_diff at the parameters"
            )
            return None
    return (known, isinstance(node, SequenceNode)) if len(known) == len(texts) else None


def _result(world: YamlWorld, node: MappingNode) -> Type | None:
    results = result_words(world, node.get("returns"))
    if results is None:
        return None
    parts, several = results
    for text, words in parts:
        if words.memory is not None:
            world.problems.error(
                "SA031",
                text.span,
                "only a kernel's results declare memory",
                help="return the value itself, for example float",
            )
            return None
    return Tuple(tuple(words.type for _, words in parts)) if several else parts[0][1].type


def ranges_of(
    world: YamlWorld, node: MappingNode, declared: list[Declared], receiver: Mapping[str, Type] | None = None
) -> tuple[Range, ...]:
    """Return the ranges of samples that the function declares; ``receiver`` is the object of a method."""
    ranges = {p.name: p.range for p in declared if p.range is not None}
    types = {**(receiver or {}), **{p.name: p.words.type for p in declared}}
    for key, value in entries_of(node.get("ranges")):
        interval = bounds(value, world.problems)
        if interval is not None and part_type(world.problems, key.span, key.text, types) is not None:
            ranges[key.text] = interval
    return tuple(Range(path, low, high) for path, (low, high) in ranges.items())
