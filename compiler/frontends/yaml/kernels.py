"""Kernels of a description: memories of parameters and results, and a function for one thread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.frontends.kernel_rules.memories import (
    check_has_output,
    check_param_memory,
    check_result_memory,
    kernel_signature,
    type_in,
    yaml_spelling,
)
from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode, SequenceNode, entries_of
from slangad.compiler.frontends.yaml.signatures import Declared, lacks_params, ranges_of, read_params, result_words
from slangad.compiler.frontends.yaml.world import Routine
from slangad.compiler.ir.nodes import KernelParam, KernelResult, Memory
from slangad.compiler.lang.decorators.kernels import GROUP_SIZES, MAX_GROUP, tile_fault

if TYPE_CHECKING:
    from slangad.compiler.frontends.yaml.nodes import Node
    from slangad.compiler.frontends.yaml.world import YamlWorld


@dataclass(frozen=True, slots=True)
class DeclaredKernel:
    """A kernel ready to be lowered."""

    routine: Routine
    params: tuple[KernelParam, ...]
    results: tuple[KernelResult, ...]
    dims: int
    group_size: tuple[int, ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    tile: tuple[int, ...] | None = None


def declare_kernel(world: YamlWorld, name: str, key: ScalarNode, node: MappingNode) -> DeclaredKernel | None:
    """Return a kernel with its signature; None after all its errors were reported."""
    before = len(world.problems)
    declared = read_params(world, node)
    params = [_param(world, p) for p in declared]
    results = kernel_results(world, node)
    dims = _whole(node.get("dims"), 1)
    group_size = _group_size(world, node.get("group_size"))
    tile = _tile(world, node.get("tile"), dims, group_size)
    if lacks_params(node, declared):
        return None
    ranges = ranges_of(world, node, declared)
    if results is None or len(world.problems) != before:
        return None
    known = tuple(p for p in params if p is not None)
    check_has_output(name, known, results, key.span, world.problems)
    if len(world.problems) != before:
        return None
    signature = kernel_signature(world.key(name), name, known, results)
    return DeclaredKernel(
        Routine(key, node, signature, ranges), known, results, dims, group_size or tile or GROUP_SIZES[dims],
        _shapes(node.get("shapes")), tile,
    )  # fmt: skip


def shape_of(node: Node) -> tuple[int, ...]:
    """Return a number of elements for each axis; one number for one axis."""
    items = node.items if isinstance(node, SequenceNode) else (node,)
    values = (item.value for item in items if isinstance(item, ScalarNode))
    return tuple(value for value in values if isinstance(value, int))


def _shapes(node: Node | None) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((key.text, shape_of(value)) for key, value in entries_of(node))


def _param(world: YamlWorld, declared: Declared) -> KernelParam | None:
    words, where = declared.words, declared.text.span
    if words.memory is None:
        text = declared.text.text.strip()
        world.problems.error(
            "SA030", where, f"'{declared.name}' does not declare its memory",
            help=f"write each {text} for one value per thread, uniform {text} for one value for all threads",
        )  # fmt: skip
        return None
    if not check_param_memory(words.memory, words.type, yaml_spelling, where, world.problems):
        return None
    passive = words.no_diff or words.memory is Memory.UNIFORM
    type_ = type_in(words.memory, words.type, words.rank, words.options)
    return KernelParam(declared.name, words.memory, type_, passive, declared.key.span)


def kernel_params(world: YamlWorld, node: MappingNode) -> tuple[KernelParam, ...] | None:
    """Return the parameters of a kernel or pipeline; None after all their errors were reported."""
    before = len(world.problems)
    declared = read_params(world, node)
    params = [_param(world, p) for p in declared]
    if len(world.problems) != before or lacks_params(node, declared):
        return None
    return tuple(p for p in params if p is not None)


def kernel_results(world: YamlWorld, node: MappingNode) -> tuple[KernelResult, ...] | None:
    """Return the results of a kernel or pipeline; None after all their errors were reported."""
    if node.get("returns") is None:
        return ()
    declared = result_words(world, node.get("returns"))
    if declared is None:
        return None
    parts, several = declared
    results: list[KernelResult] = []
    for index, (text, words) in enumerate(parts):
        if words.memory is None:
            world.problems.error(
                "SA030", text.span, "the result does not declare its memory", help=f"write each {text.text.strip()}"
            )
            return None
        if not check_result_memory(words.memory, words.type, yaml_spelling, text.span, world.problems):
            return None
        results.append(KernelResult(f"result.{index}" if several else "result", words.memory, words.type))
    return tuple(results)


def _whole(node: Node | None, default: int) -> int:
    value = node.value if isinstance(node, ScalarNode) else None
    return int(value) if isinstance(value, (int, float)) else default


def _tile(world: YamlWorld, node: Node | None, dims: int, group: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the extents of a kernel's tiles, none for ``rows``; None if it gives nothing."""
    if node is None:
        return None
    tile = shape_of(node)
    fault = tile_fault(dims, group, tile)
    if fault is not None:
        world.problems.error("SA061", node.span, f"the tile {fault[0]}", help=fault[1])
    return tile


def _group_size(world: YamlWorld, node: Node | None) -> tuple[int, ...]:
    """Return the extents of a kernel's groups; none if it gives none."""
    if node is None:
        return ()
    items = node.items if isinstance(node, SequenceNode) else (node,)
    sizes = tuple(_whole(item, 1) for item in items)
    if math.prod(sizes) > MAX_GROUP:
        world.problems.error("SA061", node.span, f"groups of {math.prod(sizes)} threads", help=f"at most {MAX_GROUP}")
    return sizes
