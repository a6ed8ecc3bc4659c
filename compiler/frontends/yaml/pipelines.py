"""Pipelines of a YAML description: parameters and results from type words, stages from the body."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering.entities import RefusedEntity
from slangad.compiler.frontends.lowering.pipelines import BinEntity, CalledKernel, PipelineHead, lower_pipeline
from slangad.compiler.frontends.yaml.bodies import read_body
from slangad.compiler.frontends.yaml.docs import full_doc
from slangad.compiler.frontends.yaml.kernels import kernel_params, kernel_results
from slangad.compiler.frontends.yaml.literals import finite
from slangad.compiler.frontends.yaml.nodes import MappingNode, Node, ScalarNode, entries_of
from slangad.compiler.frontends.yaml.signatures import flag
from slangad.compiler.ir.built_in_stages import BIN
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.ir.pipelines import Optimizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.frontends.lowering.pipelines import PipelineMeaning
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.frontends.yaml.kernels import DeclaredKernel
    from slangad.compiler.frontends.yaml.world import YamlWorld
    from slangad.compiler.ir.pipelines import Pipeline


@dataclass(frozen=True, slots=True)
class YamlPipelineScope:
    """The names of a body; ``refused`` are kernels with errors of their own."""

    world: YamlWorld
    kernels: Mapping[str, CalledKernel]
    refused: frozenset[str]

    def meaning(self, node: ast.expr) -> PipelineMeaning | None:
        """Return the meaning of a name."""
        name = node.id if isinstance(node, ast.Name) else ""
        if name in self.kernels:
            return self.kernels[name]
        if name in self.world.constants:
            return self.world.constant(name)
        if name in (*self.world.functions, *self.world.structs, *self.world.kernels):
            return RefusedEntity(f"'{name}' is no kernel", reported=name in self.refused)
        if ast.unparse(node) in ("bin", BIN):
            return BinEntity()
        return None if name else RefusedEntity("no kernel")

    def names(self) -> Sequence[str]:
        """Return the names to suggest."""
        return [*self.kernels, *self.world.constants]


def read_pipelines(
    world: YamlWorld, declared: Sequence[DeclaredKernel], names: Mapping[str, tuple[ScalarNode, Node]]
) -> tuple[Pipeline, ...]:
    """Return the pipelines of a description; errors go to the world's problems."""
    kernels = {
        k.routine.signature.name: CalledKernel(k.routine.signature.name, k.params, k.results, k.dims) for k in declared
    }
    scope = YamlPipelineScope(world, kernels, frozenset(world.kernels) - kernels.keys() - names.keys())
    made = [_pipeline(world, scope, name, key, node) for name, (key, node) in names.items()]
    return tuple(pipeline for pipeline in made if pipeline is not None)


def _pipeline(world: YamlWorld, scope: YamlPipelineScope, name: str, key: ScalarNode, node: Node) -> Pipeline | None:
    if not isinstance(node, MappingNode):
        return None
    before = len(world.problems)
    params = kernel_params(world, node)
    results = kernel_results(world, node)
    source = read_body(world, node, key.span)
    if len(world.problems) != before or results is None or params is None or source is None:
        return None
    returns = node.get("returns")
    where = returns.span if returns is not None else key.span
    fuse = flag(node, "fuse", default=True)
    doc, optimizer = full_doc(node, source), _optimizer(node.get("optimizer"), world.problems)
    head = PipelineHead(name, params, results, where, optimizer, fuse, doc, key.span)
    return lower_pipeline(head, source.statements, source.locations, scope, world.problems)


def _optimizer(node: Node | None, problems: Problems) -> Optimizer | None:
    """Return the optimizer: ``{adam: {lr: 0.02}}``."""
    for key, settings in entries_of(node):
        numbers = {k.text: finite(v, problems) for k, v in entries_of(settings) if isinstance(v, ScalarNode)}
        usual = OPTIMIZERS[key.text].usual
        return Optimizer(key.text, tuple(numbers.get(name, default) or 0.0 for name, default in usual.items()))
    return None
