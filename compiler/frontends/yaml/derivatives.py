"""Derivatives of a description's functions: custom bodies and policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.frontends.kernel_rules.policies import check_active, check_policy, check_surrogate
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.frontends.reading.signatures import CallSignature, derivative_signature
from slangad.compiler.frontends.yaml.bodies import read_body, read_text
from slangad.compiler.frontends.yaml.literals import finite
from slangad.compiler.frontends.yaml.names import OWN_DERIVATIVES
from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode
from slangad.compiler.ir import nodes as ir

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.body import BodySource
    from slangad.compiler.frontends.yaml.nodes import Node
    from slangad.compiler.frontends.yaml.world import Routine, YamlWorld


@dataclass(frozen=True, slots=True)
class CustomBody:
    """A ``backward:`` or ``forward:`` body, ready to be lowered."""

    key: ScalarNode
    node: Node
    signature: CallSignature
    role: ir.Role
    source: BodySource


def derivative_of(world: YamlWorld, routine: Routine) -> ir.Derivative:
    """Return the derivative of a function; custom derivatives are named by key."""
    node, signature = routine.node, routine.signature
    policy = node.get("derivative")
    parts = [part for part in OWN_DERIVATIVES if part in node]
    if parts:
        backward, forward = (f"{signature.key}.{part}" if part in node else None for part in OWN_DERIVATIVES)
        return ir.Custom(backward, forward)
    if not isinstance(policy, MappingNode):
        return ir.Automatic()
    check_active(signature, node.key("derivative").span, world.problems)
    return _policy(world, routine, policy)


def _policy(world: YamlWorld, routine: Routine, node: MappingNode) -> ir.Derivative:
    entry = node.entries[0]
    policy = _read_policy(world, routine, entry.key, entry.value)
    check_policy(policy, routine.signature, entry.key.span, world.problems)
    return policy


def _read_policy(world: YamlWorld, routine: Routine, key: ScalarNode, value: Node) -> ir.Derivative:
    match key.text:
        case "finite_difference":
            return ir.FiniteDifference(_number(world, value, "step") or 0.0, _is_true(value, "relative"))
        case "surrogate" if isinstance(value, ScalarNode):
            return _surrogate(world, routine, value)
        case "straight_through":
            return ir.StraightThrough()
        case "subgradient":
            return ir.Subgradient(_number(world, value, "at") or 0.0, _number(world, value, "value") or 0.0)
        case _:
            return _clip(world, routine, value)


def _clip(world: YamlWorld, routine: Routine, value: Node) -> ir.Derivative:
    if isinstance(value, ScalarNode):
        return ir.ClipGradient(finite(value, world.problems), None, ir.Automatic())
    of = value.get("of") if isinstance(value, MappingNode) else None
    inner = _policy(world, routine, of) if isinstance(of, MappingNode) else ir.Automatic()
    if isinstance(inner, (ir.Custom, ir.ClipGradient)):
        return inner
    return ir.ClipGradient(_number(world, value, "limit"), _number(world, value, "norm"), inner)


def _number(world: YamlWorld, node: Node, name: str) -> float | None:
    value = node.get(name) if isinstance(node, MappingNode) else None
    return finite(value, world.problems) if isinstance(value, ScalarNode) else None


def _is_true(node: Node, name: str) -> bool:
    value = node.get(name) if isinstance(node, MappingNode) else None
    return isinstance(value, ScalarNode) and value.value is True


def _surrogate(world: YamlWorld, routine: Routine, value: ScalarNode) -> ir.Derivative:
    other = world.functions.get(value.text)
    if value.text not in world.functions:
        near = did_you_mean(value.text[:64], world.functions)
        world.problems.error("SA029", value.span, f"there is no function '{value.text[:64]}'", help=near)
    if other is None:
        return ir.Automatic()
    check_surrogate(routine.signature, other.signature, value.span, world.problems)
    return ir.Surrogate(other.signature.key)


def custom_bodies(world: YamlWorld, routine: Routine) -> list[CustomBody]:
    """Return the custom backward and forward derivatives of a function."""
    functions = (_custom(world, routine, ir.Role(part)) for part in OWN_DERIVATIVES if part in routine.node)
    return [function for function in functions if function is not None]


def _custom(world: YamlWorld, routine: Routine, role: ir.Role) -> CustomBody | None:
    of, key, node = routine.signature, routine.node.key(role.value), routine.node.get(role.value)
    source = _source(world, node, key.span)
    active = check_active(of, key.span, world.problems, "SA028")
    if any(p.name == "d_out" for p in of.all_params) and role is ir.Role.BACKWARD:
        world.problems.error(
            "SA057", key.span, "'d_out' is the gradient of the result here", help="rename the parameter"
        )
    if source is None or node is None or not active:
        return None
    signature = derivative_signature(of, role, f"{of.name}_{OWN_DERIVATIVES[role.value]}")
    return CustomBody(key, node, signature, role, source)


def _source(world: YamlWorld, node: Node | None, name: Span) -> BodySource | None:
    if isinstance(node, MappingNode):
        return read_body(world, node, name)
    return read_text(world, node, name) if isinstance(node, ScalarNode) else None
