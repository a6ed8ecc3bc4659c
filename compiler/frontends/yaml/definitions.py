"""Read all parts of a description except bodies: names, constants, structs and signatures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.paths import shown_path
from slangad.compiler.frontends.yaml.externals import external_of, imported_files, path_of
from slangad.compiler.frontends.yaml.kernels import DeclaredKernel, declare_kernel
from slangad.compiler.frontends.yaml.literals import constant_value, typed_value
from slangad.compiler.frontends.yaml.names import check_names, good_name
from slangad.compiler.frontends.yaml.networks import layer_of
from slangad.compiler.frontends.yaml.nodes import MappingNode, Node, ScalarNode, entries_of
from slangad.compiler.frontends.yaml.pipelines import read_pipelines
from slangad.compiler.frontends.yaml.ranges import add_check_ranges, read_sampling
from slangad.compiler.frontends.yaml.signatures import declare_function
from slangad.compiler.frontends.yaml.type_words import UnusableType, read_type
from slangad.compiler.frontends.yaml.world import StructEntry, YamlWorld, struct_type
from slangad.compiler.ir.nodes import External
from slangad.compiler.ir.types import Struct

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Sampling
    from slangad.compiler.ir.pipelines import Pipeline


@dataclass(slots=True)
class Definitions:
    """The kernels, pipelines and settings of a description.

    Attributes:
        kernels: The kernels in the order of the file.
        externals: Functions that exist in Slang, by name.
        imports: Slang files to import, as written.
        pipelines: Lowered pipelines, since their bodies only call kernels.
        sampling: The settings of the samples of a check.
    """

    kernels: list[DeclaredKernel] = field(default_factory=list)
    externals: dict[str, External] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    sampling: tuple[Sampling, ...] = ()


def define(world: YamlWorld) -> Definitions:
    """Read all parts except bodies; errors go to the world's problems."""
    root = world.document.root
    names = check_names(root, world.problems)
    for name, key in names["structs"].items():
        node = _value(root, "structs", key)
        if isinstance(node, MappingNode):
            world.structs[name] = StructEntry(name, key, node)
    for name, key in names["nn"].items():
        node = _value(root, "nn", key)
        world.layers[name] = layer_of(node, world.problems) if isinstance(node, MappingNode) else None
    for name, key in names["constants"].items():
        _constant(world, name, _value(root, "constants", key))
    world.kernels = {n: key for section in ("kernels", "pipelines") for n, key in names[section].items()}
    world.functions = dict.fromkeys(names["functions"])
    for entry in world.structs.values():
        _struct(world, entry)
    for name, key in names["functions"].items():
        node = _value(root, "functions", key)
        if isinstance(node, MappingNode):
            world.functions[name] = declare_function(world, name, key, node)
    definitions = Definitions(imports=imported_files(world))
    for name, key in names["kernels"].items():
        node = _value(root, "kernels", key)
        declared = declare_kernel(world, name, key, node) if isinstance(node, MappingNode) else None
        if declared is not None:
            definitions.kernels.append(declared)
    sections = {name: (key, _value(root, "pipelines", key)) for name, key in names["pipelines"].items()}
    definitions.pipelines = read_pipelines(world, definitions.kernels, sections)
    _externals(world, definitions)
    add_check_ranges(world, definitions.kernels)
    definitions.sampling = tuple(read_sampling(world, definitions.kernels))
    return definitions


def _value(root: MappingNode, section: str, key: ScalarNode) -> Node:
    return next(value for key_node, value in entries_of(root.get(section)) if key_node is key)


def _constant(world: YamlWorld, name: str, node: Node) -> None:
    value = constant_value(node, world.problems) if not isinstance(node, MappingNode) else _full_constant(world, node)
    world.constants[name] = value


def _full_constant(world: YamlWorld, node: MappingNode) -> object | None:
    literal, text = node.get("value"), node.get("type")
    if literal is None:
        return None
    if not isinstance(text, ScalarNode):
        return constant_value(literal, world.problems)
    words = read_type(world.locations(text), world, world.problems)
    if words is None:
        return None
    if words.memory is not None or words.no_diff:
        world.problems.error("SA058", text.span, "a constant has a type only", help="for example float3")
        return None
    return typed_value(literal, words.type, world.problems)


def _struct(world: YamlWorld, entry: StructEntry) -> None:
    try:
        owner = struct_type(world, entry)
    except UnusableType:
        return
    if not isinstance(owner, Struct):
        return
    for key, node in entries_of(entry.node.get("methods")):
        name = good_name(key, world.problems)
        if name is None or not isinstance(node, MappingNode):
            continue
        if any(f.name == name for f in owner.fields) or (entry.name, name) in world.methods:
            world.problems.error("SA057", key.span, f"'{entry.name}' has a '{name}' already", label="the second")
            continue
        world.methods[entry.name, name] = declare_function(world, name, key, node, owner)


def _externals(world: YamlWorld, definitions: Definitions) -> None:
    result: dict[str, None] = dict.fromkeys(definitions.imports)
    for name, routine in world.functions.items():
        if routine is None or "extern" not in routine.node:
            continue
        external = external_of(world, routine, definitions.imports)
        if external is not None:
            symbol, file = external
            definitions.externals[name] = External(symbol, shown_path(path_of(world, file)))
            result[file] = None
    definitions.imports = tuple(result)
