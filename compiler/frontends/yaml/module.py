"""The YAML front end: file -> nodes -> structure -> definitions -> lowered bodies -> ``Module``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.lowering import assembly
from slangad.compiler.frontends.python.module import other_sources, struct_defs
from slangad.compiler.frontends.reading.encoding import decode, read_bytes
from slangad.compiler.frontends.reading.paths import import_path, shown_path
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.frontends.reading.wording import YAML
from slangad.compiler.frontends.yaml.compose import compose
from slangad.compiler.frontends.yaml.definitions import Definitions, define
from slangad.compiler.frontends.yaml.docs import doc_of
from slangad.compiler.frontends.yaml.externals import path_of
from slangad.compiler.frontends.yaml.functions import lower_all
from slangad.compiler.frontends.yaml.nodes import Document, ScalarNode, SequenceNode
from slangad.compiler.frontends.yaml.sections import TABLE
from slangad.compiler.frontends.yaml.validate import validate
from slangad.compiler.frontends.yaml.world import YamlWorld
from slangad.compiler.ir.nodes import Function, Kernel, Module, StructDef
from slangad.compiler.ir.types import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


def load_yaml(path: Path) -> Module:
    """Load a description written in YAML; nothing in it is executed.

    Raises:
        CompileError: with all its errors.
    """
    document = compose(str(path), read_text(path))
    problems = Problems(YAML)
    validate(document.root, TABLE, problems)
    problems.raise_if_any()
    world = YamlWorld(document, problems)
    definitions = define(world)
    problems.raise_if_any()
    functions, kernels = lower_all(world, definitions)
    problems.raise_if_any()
    if not functions:
        raise _failure("SA005", path, "nothing is described in this file", "add functions: or kernels:")
    ordered = assembly.checked_order(functions, kernels, problems)
    return _module(world, definitions, ordered, kernels)


def read_text(path: Path) -> str:
    """Return the text of a YAML file, which is UTF-8.

    Raises:
        CompileError: when it can't be read.
    """
    return decode(read_bytes(path), "utf-8", path)


def _failure(code: str, path: Path, message: str, help_: str = "") -> CompileError:
    return CompileError([Diagnostic(code, message, Span(str(path), 1, 1, 1, 1), help=help_)])


def _module(
    world: YamlWorld, definitions: Definitions, functions: tuple[Function, ...], kernels: tuple[Kernel, ...]
) -> Module:
    document = world.document
    constants = assembly.used_constants(world.used.used, functions, world.in_slang)
    known = _struct_defs(world)
    structs = assembly.used_structs(functions, kernels, constants, (d.struct for d in known.values()))
    files = [path_of(world, file) for file in definitions.imports]
    imports = tuple(dict.fromkeys(import_path(file, world.file) for file in files))
    return Module(
        _name_of(document),
        world.file,
        assembly.struct_defs(structs, known),
        constants,
        functions,
        kernels,
        imports,
        tuple(sorted({shown_path(file) for file in files} | other_sources(world.library))),
        tuple(sorted(world.bound.items())),
        doc_of(document.root),
        targets=_targets_of(document),
        pipelines=definitions.pipelines,
        sampling=definitions.sampling,
    )


def _struct_defs(world: YamlWorld) -> Mapping[str, StructDef]:
    made = ((entry.type, entry) for entry in world.structs.values())
    own = {t.key: StructDef(t, doc_of(e.node), e.key.span) for t, e in made if isinstance(t, Struct)}
    return {**own, **struct_defs(world.library)}


def _name_of(document: Document) -> str:
    node = document.root.get("name")
    return node.text if isinstance(node, ScalarNode) else Path(document.source.file).stem


def _targets_of(document: Document) -> tuple[str, ...]:
    node = document.root.get("targets")
    items = node.items if isinstance(node, SequenceNode) else ()
    return tuple(dict.fromkeys(item.text for item in items if isinstance(item, ScalarNode)))
