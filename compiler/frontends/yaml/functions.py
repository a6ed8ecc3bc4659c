"""Lower every body and make every function of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering.body import BodyRole, lower_body, role_of
from slangad.compiler.frontends.lowering.constants import table_of
from slangad.compiler.frontends.lowering.functions import (
    custom_derivative,
    external_function,
    kernel_function,
    plain_function,
)
from slangad.compiler.frontends.python.module import lower_reached
from slangad.compiler.frontends.yaml.bodies import read_body, slang_body, slang_words
from slangad.compiler.frontends.yaml.derivatives import CustomBody, custom_bodies, derivative_of
from slangad.compiler.frontends.yaml.docs import doc_of, full_doc
from slangad.compiler.frontends.yaml.nodes import ScalarNode
from slangad.compiler.frontends.yaml.scope import YamlScope
from slangad.compiler.ir.nodes import Function, Kernel, SlangBody, Stmt

if TYPE_CHECKING:
    from slangad.compiler.frontends.yaml.definitions import Definitions
    from slangad.compiler.frontends.yaml.kernels import DeclaredKernel
    from slangad.compiler.frontends.yaml.world import Routine, YamlWorld


def lower_all(world: YamlWorld, definitions: Definitions) -> tuple[dict[str, Function], tuple[Kernel, ...]]:
    """Return every function by key, in the same order as other front ends, and the kernels."""
    lowered: dict[str, Function] = {}
    kernels = tuple(_kernel(world, k, lowered) for k in definitions.kernels)
    routines = [r for r in (*world.methods.values(), *world.functions.values()) if r is not None]
    for routine in routines:
        name = routine.signature.name
        if routine.signature.owner is None and name in definitions.externals:
            continue
        lowered[routine.signature.key] = _function(world, routine)
        for custom in custom_bodies(world, routine):
            lowered[custom.signature.key] = _custom(world, routine, custom)
    for name, external in definitions.externals.items():
        declared = world.functions[name]
        if declared is not None:
            lowered[declared.signature.key] = external_function(
                declared.signature, external, span=declared.key.span, ranges=declared.ranges
            )
    lower_reached(world.library, lowered)
    lowered.update(world.used.powers)
    order = [*world.used.powers, *(r.signature.key for r in routines), *world.library.functions, *lowered]
    return {key: lowered[key] for key in dict.fromkeys(order) if key in lowered}, kernels


def _function(world: YamlWorld, routine: Routine) -> Function:
    signature, prefer, precision = routine.signature, routine.node.get("prefer"), routine.node.get("precision")
    body, doc = _body(world, routine, role_of(signature))
    return plain_function(
        signature, body, derivative_of(world, routine), prefer.text if isinstance(prefer, ScalarNode) else "",
        precision.text if isinstance(precision, ScalarNode) and precision.text != "float" else "",
        doc=doc, ranges=routine.ranges, span=routine.key.span,
    )  # fmt: skip


def _body(world: YamlWorld, routine: Routine, role: BodyRole) -> tuple[tuple[Stmt, ...] | SlangBody, tuple[str, ...]]:
    """Return a routine's body and its comment; an empty body after a report."""
    raw = routine.node.get("slang")
    if isinstance(raw, ScalarNode):
        written = slang_body(world, raw, routine.signature.params)
        if written is not None:
            _use_constants(world, written, role)
        return written or (), doc_of(routine.node)
    source = read_body(world, routine.node, routine.key.span)
    if source is None:
        return (), ()
    scope = YamlScope(world, source.locations)
    lowered = lower_body(source, scope, routine.signature, role, world.used, world.problems)
    return lowered.statements, full_doc(routine.node, source)


def _use_constants(world: YamlWorld, body: SlangBody, role: BodyRole) -> None:
    """Record the constants that a raw body names; the Slang defines them under these names."""
    words = slang_words(body) - role.params.keys()
    for name in (n for n in world.constants if n in words):
        table = table_of(world.constants[name])
        if table is not None:
            key = world.constant(name).key
            world.used.used[key] = (name, *table)
            world.in_slang.add(key)


def _custom(world: YamlWorld, routine: Routine, custom: CustomBody) -> Function:
    scope = YamlScope(world, custom.source.locations)
    role = role_of(custom.signature, custom.role)
    body = lower_body(custom.source, scope, custom.signature, role, world.used, world.problems)
    doc = full_doc(custom.node, custom.source)
    return custom_derivative(
        routine.signature, custom.signature, custom.role, body.statements, doc=doc, span=custom.key.span
    )


def _kernel(world: YamlWorld, declared: DeclaredKernel, functions: dict[str, Function]) -> Kernel:
    routine, signature = declared.routine, declared.routine.signature
    body, doc = _body(world, routine, role_of(signature, dims=declared.dims))
    functions[signature.key] = kernel_function(
        signature, declared.params, body, doc=doc, ranges=routine.ranges, span=routine.key.span
    )
    return Kernel(
        signature.name, signature.key, declared.params, declared.results, declared.dims, declared.group_size,
        doc, routine.key.span, shapes=declared.shapes, tile=declared.tile,
    )  # fmt: skip
