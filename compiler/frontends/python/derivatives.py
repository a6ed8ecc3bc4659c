"""Derivatives of described functions: own backward and forward functions become functions, policies become nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.frontends.kernel_rules.policies import (
    check_active,
    check_own_derivative,
    check_policy,
    check_surrogate,
)
from slangad.compiler.frontends.lowering.body import BodyRole
from slangad.compiler.frontends.lowering.entities import FunctionEntity, Parameter, Signature
from slangad.compiler.frontends.lowering.forms import gradient_types
from slangad.compiler.frontends.reading.fence import fence_function
from slangad.compiler.frontends.reading.locations import Places
from slangad.compiler.ir.nodes import (
    Automatic,
    ClipGradient,
    Custom,
    Derivative,
    FiniteDifference,
    Role,
    StraightThrough,
    Subgradient,
    Surrogate,
)
from slangad.compiler.ir.types import DiffPair, Tuple, Type, carries_gradient
from slangad.compiler.lang.decorators import policies
from slangad.compiler.lang.decorators.source import Definition, definition_of
from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    import ast
    from types import FunctionType

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.python.world import Described, World


@dataclass(frozen=True, slots=True)
class OwnDerivative:
    """A user's backward or forward function, ready to be lowered."""

    function: FunctionType
    definition: Definition
    places: Places
    signature: Signature
    role: BodyRole


def all_params(described: Described) -> tuple[Parameter, ...]:
    """A function's parameters, the object of a method first."""
    signature = described.signature
    if signature.owner is None or signature.static:
        return signature.params
    return (Parameter("self", signature.owner), *signature.params)


def derivative_of(world: World, described: Described) -> Derivative:
    """What a function says about its derivative; own functions are named by key."""
    value, signature = described.object, described.signature
    own = value.backward_function is not None or value.forward_function is not None
    span = described.places.name_span(described.definition.tree)
    check_own_derivative(
        signature.name,
        span,
        world.problems,
        policy=value.policy is not None,
        own=own,
        advice="" if value.differentiable else "use @sa.differentiable",
    )
    if own:
        return Custom(
            f"{signature.key}.backward" if value.backward_function is not None else None,
            f"{signature.key}.forward" if value.forward_function is not None else None,
        )
    if value.policy is None:
        return Automatic()
    check_active(signature.name, all_params(described), signature.result, span, world.problems)
    return _policy(world, described, value.policy, span)


def _policy(world: World, described: Described, policy: policies.Policy, span: Span) -> Derivative:
    match policy:
        case policies.FiniteDifference(step=step, relative=relative):
            found: Derivative = FiniteDifference(step, relative)
        case policies.StraightThrough():
            found = StraightThrough()
        case policies.Subgradient(at=at, value=value):
            found = Subgradient(at, value)
        case policies.Surrogate(function=g):
            found = _surrogate(world, described, g, span)
        case policies.ClipGradient(limit=limit, norm=norm, of=of):
            inner = Automatic() if of is None else _policy(world, described, of, span)
            if isinstance(inner, (Custom, ClipGradient)):
                return inner
            found = ClipGradient(limit, norm, inner)
        case _:
            assert_never(policy)
    signature = described.signature
    check_policy(found, signature.name, all_params(described), signature.result, span, world.problems)
    return found


def _surrogate(world: World, described: Described, g: object, span: Span) -> Derivative:
    entity = world.entity(g, "", "")
    if not isinstance(entity, FunctionEntity):
        world.problems.error(
            "SA029", span, "the surrogate is not a described function", help="decorate it with @sa.differentiable"
        )
        return Automatic()
    check_surrogate(described.signature, entity.signature, span, world.problems)
    return Surrogate(entity.signature.key)


def own_derivatives(world: World, described: Described) -> list[OwnDerivative]:
    """The user's backward and forward functions of a function."""
    value = described.object
    pairs = ((value.backward_function, Role.BACKWARD), (value.forward_function, Role.FORWARD))
    found = [_own(world, described, f, role) for f, role in pairs if f is not None]
    return [o for o in found if o is not None]


def _own(world: World, described: Described, function: FunctionType, role: Role) -> OwnDerivative | None:
    try:
        definition = definition_of(function)
    except DescriptionError as error:
        world.report(error, described.places.name_span(described.definition.tree), "SA038")
        return None
    places = Places(definition.path, definition.text)
    before = len(world.problems)
    fence_function(definition.tree, places, world.problems)
    _check_names(world, described, definition.tree, places, role)
    if len(world.problems) != before:
        return None
    params, of = all_params(described), described.signature
    if not check_active(of.name, params, of.result, places.name_span(definition.tree), world.problems, "SA028"):
        return None
    if role is Role.BACKWARD:
        gradients = gradient_types(params)
        result: Type = gradients[0] if len(gradients) == 1 else Tuple(gradients)
        seen = {**{p.name: p.type for p in params}, "d_out": described.signature.result}
    else:
        result = DiffPair(described.signature.result)
        seen = {p.name: p.type if _passive(p) else DiffPair(p.type) for p in params}
    signature = Signature(
        f"{described.signature.key}.{role.value}", function.__name__,
        tuple(Parameter(n, t) for n, t in seen.items()), result, owner=described.signature.owner, static=True,
    )  # fmt: skip
    return OwnDerivative(function, definition, places, signature, BodyRole(seen, role=role))


def _passive(param: Parameter) -> bool:
    return param.no_diff or not carries_gradient(param.type)


def _check_names(world: World, described: Described, tree: ast.FunctionDef, places: Places, role: Role) -> None:
    wanted = [*(p.name for p in all_params(described)), *(["d_out"] if role is Role.BACKWARD else [])]
    found = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    if found == wanted:
        return
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    wrong = next((i for i, name in enumerate(found) if i >= len(wanted) or name != wanted[i]), len(found))
    span = places.span(arguments[wrong]) if wrong < len(arguments) else places.name_span(tree)
    world.problems.error(
        "SA028",
        span,
        f"the {role.value} derivative of '{described.signature.name}' takes other parameters",
        label=f"expected '{wanted[wrong]}'" if wrong < len(wanted) else "one too many",
        help=f"write def {tree.name}({', '.join(wanted)}):",
    )
