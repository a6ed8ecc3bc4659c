"""Signatures of functions and kernels, the same for every front end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.ir.nodes import Role
from slangad.compiler.ir.types import DiffPair, Tuple, carries_gradient

if TYPE_CHECKING:
    from slangad.compiler.ir.types import Struct, Type


@dataclass(frozen=True, slots=True)
class Missing:
    """The type of ``MISSING``."""


MISSING = Missing()
"""The default of a parameter that has none."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature.

    Attributes:
        default: A Python constant or ``MISSING``.
        passed: ``keyword`` or ``positional`` if callers must pass it that way, else empty.
    """

    name: str
    type: Type
    no_diff: bool = False
    default: object = MISSING
    passed: Literal["", "keyword", "positional"] = ""
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def has_gradient(self) -> bool:
        """True if a derivative flows through the parameter."""
        return not self.no_diff and carries_gradient(self.type)


@dataclass(frozen=True, slots=True)
class CallSignature:
    """The name, parameters and result of a function.

    The object of a method that is not ``static`` is in ``all_params`` and not in ``params``.
    """

    key: str
    name: str
    params: tuple[Parameter, ...]
    result: Type
    differentiable: bool = True
    owner: Struct | None = None
    static: bool = False

    @property
    def all_params(self) -> tuple[Parameter, ...]:
        """The parameters, the object of a method first."""
        if self.owner is None or self.static:
            return self.params
        return (Parameter("self", self.owner), *self.params)

    @property
    def has_gradient(self) -> bool:
        """True if a derivative flows from a parameter to the result."""
        return carries_gradient(self.result) and any(p.has_gradient for p in self.all_params)


def gradient_types(params: tuple[Parameter, ...]) -> tuple[Type, ...]:
    """Return the types of the gradients that a backward derivative returns."""
    return tuple(p.type for p in params if p.has_gradient)


def derivative_signature(of: CallSignature, role: Role, name: str) -> CallSignature:
    """Return the signature of a function's custom derivative: ``Role.BACKWARD`` or ``Role.FORWARD``."""
    params = of.all_params
    if role is Role.BACKWARD:
        gradients = gradient_types(params)
        result: Type = gradients[0] if len(gradients) == 1 else Tuple(gradients)
        seen = {**{p.name: p.type for p in params}, "d_out": of.result}
    else:
        result = DiffPair(of.result)
        seen = {p.name: DiffPair(p.type) if p.has_gradient else p.type for p in params}
    parameters = tuple(Parameter(name, type_) for name, type_ in seen.items())
    return CallSignature(f"{of.key}.{role.value}", name, parameters, result, owner=of.owner, static=True)
