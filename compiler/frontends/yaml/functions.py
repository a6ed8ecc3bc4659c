"""The second half of reading a description: every body is lowered, every function of the module made."""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.kernel_rules.memories import is_active
from slangad.compiler.frontends.lowering.body import BodyRole, BodySource, lower_body
from slangad.compiler.frontends.lowering.constants import table_of
from slangad.compiler.frontends.yaml.bodies import read_body, slang_body, slang_words
from slangad.compiler.frontends.yaml.derivatives import OwnDerivative, all_params, derivative_of, own_derivatives
from slangad.compiler.frontends.yaml.nodes import MappingNode, Node, ScalarNode
from slangad.compiler.frontends.yaml.world import YamlScope
from slangad.compiler.ir.nodes import Function, Kernel, Param, SlangBody, Stmt
from slangad.compiler.ir.types import carries_gradient

if TYPE_CHECKING:
    from slangad.compiler.frontends.lowering.entities import Parameter, Signature
    from slangad.compiler.frontends.yaml.definitions import Definitions
    from slangad.compiler.frontends.yaml.kernels import DeclaredKernel
    from slangad.compiler.frontends.yaml.world import Routine, World
    from slangad.compiler.ir.nodes import External


_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def lower_all(world: World, definitions: Definitions) -> tuple[dict[str, Function], tuple[Kernel, ...]]:
    """Every function by key, in the order front ends agree on, and the kernels."""
    lowered: dict[str, Function] = {}
    kernels = tuple(_kernel(world, k, lowered) for k in definitions.kernels)
    routines = [r for r in (*world.methods.values(), *world.functions.values()) if r is not None]
    for routine in routines:
        name = routine.signature.name
        if routine.signature.owner is None and name in definitions.externals:
            continue
        lowered[routine.signature.key] = _function(world, routine)
        for own in own_derivatives(world, routine):
            lowered[own.signature.key] = _own(world, routine, own)
    for name, external in definitions.externals.items():
        declared = world.functions[name]
        if declared is not None:
            lowered[declared.signature.key] = _external(declared, external)
    lowered.update(world.used.powers)
    order = [*world.used.powers, *(r.signature.key for r in routines), *lowered]
    return {key: lowered[key] for key in dict.fromkeys(order) if key in lowered}, kernels


def doc_of(node: Node | None) -> tuple[str, ...]:
    """The lines of a ``description:``, as a docstring gives them; nothing else that ends lines gets into a comment."""
    text = node.get("description") if isinstance(node, MappingNode) else None
    return doc_lines(text.text) if isinstance(text, ScalarNode) else ()


def doc_lines(text: str) -> tuple[str, ...]:
    """A docstring's lines."""
    lines = re.sub(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    clean = inspect.cleandoc(_CONTROL.sub("", lines))
    return tuple(clean.split("\n")) if clean else ()


def full_doc(node: Node, source: BodySource | None) -> tuple[str, ...]:
    """The description, or the docstring the body begins with."""
    given = doc_of(node)
    if given or source is None or not source.statements:
        return given
    first = source.statements[0]
    text = first.value.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None
    return doc_lines(text) if isinstance(text, str) else ()


def _params(params: tuple[Parameter, ...]) -> tuple[Param, ...]:
    return tuple(Param(p.name, p.type, p.no_diff, p.span) for p in params)


def _is_active(params: tuple[Parameter, ...], signature: Signature) -> bool:
    return any(carries_gradient(p.type) and not p.no_diff for p in params) and carries_gradient(signature.result)


def _function(world: World, routine: Routine) -> Function:
    signature, node = routine.signature, routine.node
    params = all_params(signature)
    role = BodyRole({p.name: p.type for p in params}, frozenset(p.name for p in params if p.no_diff))
    body, doc = _body(world, routine, role)
    prefer = node.get("prefer")
    return Function(
        signature.key,
        signature.name,
        _params(params),
        signature.result,
        body,
        signature.differentiable and _is_active(params, signature),
        derivative_of(world, routine),
        prefer.text if isinstance(prefer, ScalarNode) else "",
        owner=signature.owner.key if signature.owner is not None else "",
        static=signature.static,
        doc=doc,
        ranges=routine.ranges,
        span=routine.key.span,
    )


def _body(world: World, routine: Routine, role: BodyRole) -> tuple[tuple[Stmt, ...] | SlangBody, tuple[str, ...]]:
    """A routine's body and its comment; an empty body after a report."""
    raw = routine.node.get("slang")
    if isinstance(raw, ScalarNode):
        written = slang_body(world, raw, routine.signature.params)
        if written is not None:
            _use_constants(world, written, role)
        return written or (), doc_of(routine.node)
    source = read_body(world, routine.node, routine.key.span)
    if source is None:
        return (), ()
    scope = YamlScope(world, source.places)
    lowered = lower_body(source, scope, routine.signature, role, world.used, world.problems)
    return lowered.statements, full_doc(routine.node, source)


def _use_constants(world: World, body: SlangBody, role: BodyRole) -> None:
    """Constants that a raw body names are defined in the Slang under their names."""
    words = slang_words(body) - role.params.keys()
    for name in (n for n in world.constants if n in words):
        table = table_of(world.constants[name])
        if table is not None:
            key = world.constant(name).key
            world.used.used[key] = (name, *table)
            world.in_slang.add(key)


def _own(world: World, routine: Routine, own: OwnDerivative) -> Function:
    signature, owner = own.signature, routine.signature.owner
    scope = YamlScope(world, own.source.places)
    body = lower_body(own.source, scope, signature, own.role, world.used, world.problems)
    passive = {p.name for p in all_params(routine.signature) if p.no_diff}
    return Function(
        signature.key,
        signature.name,
        tuple(Param(p.name, p.type, p.name in passive, p.span) for p in signature.params),
        signature.result,
        body.statements,
        differentiable=False,
        role=own.role.role,
        of=routine.signature.key,
        owner=owner.key if owner is not None else "",
        static=owner is not None,
        doc=full_doc(own.node, own.source),
        span=own.key.span,
    )


def _external(routine: Routine, external: External) -> Function:
    signature = routine.signature
    return Function(
        signature.key,
        signature.name,
        _params(signature.params),
        signature.result,
        external,
        signature.differentiable,
        ranges=routine.ranges,
        span=routine.key.span,
    )


def _kernel(world: World, declared: DeclaredKernel, functions: dict[str, Function]) -> Kernel:
    routine, signature = declared.routine, declared.routine.signature
    passive = frozenset(p.name for p in declared.params if p.no_diff)
    role = BodyRole({p.name: p.type for p in declared.params}, passive, dims=declared.dims)
    body, doc = _body(world, routine, role)
    params = signature.params
    functions[signature.key] = Function(
        signature.key,
        signature.name,
        _params(params),
        signature.result,
        body,
        is_active(declared.params, signature.result),
        doc=doc,
        ranges=routine.ranges,
        span=routine.key.span,
    )
    return Kernel(
        signature.name,
        signature.key,
        declared.params,
        declared.results,
        declared.dims,
        declared.group_size,
        doc,
        routine.key.span,
        shapes=declared.shapes,
    )
