"""Derivatives of described functions: custom functions and policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.frontends.kernel_rules.policies import (
    check_active,
    check_custom_derivative,
    check_policy,
    check_surrogate,
)
from slangad.compiler.frontends.lowering.entities import FunctionEntity
from slangad.compiler.frontends.reading.fence import fence_function
from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.frontends.reading.signatures import CallSignature, derivative_signature
from slangad.compiler.ir import nodes as ir
from slangad.compiler.lang.decorators import policies
from slangad.compiler.lang.decorators.source import Definition, definition_of
from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    import ast
    from types import FunctionType

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.python.signatures import DescribedSource
    from slangad.compiler.frontends.python.world import PythonWorld


@dataclass(frozen=True, slots=True)
class CustomFunction:
    """A user's backward or forward function, ready to be lowered."""

    function: FunctionType
    definition: Definition
    locations: SourceLocations
    signature: CallSignature
    role: ir.Role


def derivative_of(world: PythonWorld, described: DescribedSource) -> ir.Derivative:
    """Return the derivative of a function; custom functions are named by key."""
    value, signature = described.object, described.signature
    custom = value.backward_function is not None or value.forward_function is not None
    span = described.locations.name_span(described.definition.tree)
    check_custom_derivative(
        signature.name,
        span,
        world.problems,
        policy=value.policy is not None,
        custom=custom,
        advice="" if value.differentiable else "use @sa.differentiable",
    )
    if custom:
        return ir.Custom(
            f"{signature.key}.backward" if value.backward_function is not None else None,
            f"{signature.key}.forward" if value.forward_function is not None else None,
        )
    if value.policy is None:
        return ir.Automatic()
    check_active(signature, span, world.problems)
    return _policy(world, described, value.policy, span)


def _policy(world: PythonWorld, described: DescribedSource, policy: policies.Policy, span: Span) -> ir.Derivative:
    match policy:
        case policies.FiniteDifference(step=step, relative=relative):
            node_policy: ir.Derivative = ir.FiniteDifference(step, relative)
        case policies.StraightThrough():
            node_policy = ir.StraightThrough()
        case policies.Subgradient(at=at, value=value):
            node_policy = ir.Subgradient(at, value)
        case policies.Surrogate(function=g):
            node_policy = _surrogate(world, described, g, span)
        case policies.ClipGradient(limit=limit, norm=norm, of=of):
            inner = ir.Automatic() if of is None else _policy(world, described, of, span)
            if isinstance(inner, (ir.Custom, ir.ClipGradient)):
                return inner
            node_policy = ir.ClipGradient(limit, norm, inner)
        case _:
            assert_never(policy)
    check_policy(node_policy, described.signature, span, world.problems)
    return node_policy


def _surrogate(world: PythonWorld, described: DescribedSource, g: object, span: Span) -> ir.Derivative:
    entity = world.entity(g, "", "")
    if not isinstance(entity, FunctionEntity):
        world.problems.error(
            "SA029", span, "the surrogate is not a described function", help="decorate it with @sa.differentiable"
        )
        return ir.Automatic()
    check_surrogate(described.signature, entity.signature, span, world.problems)
    return ir.Surrogate(entity.signature.key)


def custom_functions(world: PythonWorld, described: DescribedSource) -> list[CustomFunction]:
    """Return the user's backward and forward functions of a function."""
    value = described.object
    pairs = ((value.backward_function, ir.Role.BACKWARD), (value.forward_function, ir.Role.FORWARD))
    functions = [_custom(world, described, f, role) for f, role in pairs if f is not None]
    return [o for o in functions if o is not None]


def _custom(
    world: PythonWorld, described: DescribedSource, function: FunctionType, role: ir.Role
) -> CustomFunction | None:
    try:
        definition = definition_of(function)
    except DescriptionError as error:
        world.report(error, described.locations.name_span(described.definition.tree), "SA038")
        return None
    locations = SourceLocations(definition.path, definition.text)
    before = len(world.problems)
    fence_function(definition.tree, locations, world.problems)
    _check_names(world, described, definition.tree, locations, role)
    if len(world.problems) != before:
        return None
    of = described.signature
    if not check_active(of, locations.name_span(definition.tree), world.problems, "SA028"):
        return None
    signature = derivative_signature(of, role, function.__name__)
    return CustomFunction(function, definition, locations, signature, role)


def _check_names(
    world: PythonWorld, described: DescribedSource, tree: ast.FunctionDef, locations: SourceLocations, role: ir.Role
) -> None:
    wanted = [*(p.name for p in described.signature.all_params), *(["d_out"] if role is ir.Role.BACKWARD else [])]
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    if names == wanted:
        return
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    wrong = next((i for i, name in enumerate(names) if i >= len(wanted) or name != wanted[i]), len(names))
    span = locations.span(arguments[wrong]) if wrong < len(arguments) else locations.name_span(tree)
    world.problems.error(
        "SA028",
        span,
        f"the {role.value} derivative of '{described.signature.name}' takes other parameters",
        label=f"expected '{wanted[wrong]}'" if wrong < len(wanted) else "one too many",
        help=f"write def {tree.name}({', '.join(wanted)}):",
    )
