"""Gradient policies, for ``derivative=`` of a described function: frozen records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.lang.errors import Argument, ArgumentError, DescriptionError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class FiniteDifference:
    """Central differences, ``step`` wide to each side; ``relative`` scales it by ``max(1, |x|)``."""

    step: float
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The value of the function, the derivative of another with the same parameters and result."""

    function: Callable[..., object]


@dataclass(frozen=True, slots=True)
class StraightThrough:
    """The derivative of the identity."""


@dataclass(frozen=True, slots=True)
class Subgradient:
    """``value`` as the derivative at one point, the automatic one elsewhere."""

    at: float
    value: float


Bounded = FiniteDifference | Surrogate | StraightThrough | Subgradient
"""Policies whose gradients can be clipped."""


@dataclass(frozen=True, slots=True)
class ClipGradient:
    """Gradients of ``of`` (automatic when None): components within ±``limit``, or every parameter's norm ``norm``."""

    limit: float | None = None
    norm: float | None = None
    of: Bounded | None = None


Policy = Bounded | ClipGradient


def finite_difference(step: float, *, relative: bool = False) -> FiniteDifference:
    """Return a derivative by central differences.

    Args:
        step: Half the distance between the two evaluations, positive.
        relative: True if the step is scaled by ``max(1, |x|)``.

    Raises:
        DescriptionError: when the step is not a positive number.
    """
    return FiniteDifference(_positive("finite_difference", "step", step), bool(relative))


def surrogate(g: object) -> Surrogate:
    """Return the derivative of ``g``, which has the same parameters and result.

    Raises:
        DescriptionError: when g is not a function, or has no derivative.
    """
    at = Argument("g", callee="surrogate", position=0)
    if getattr(g, "differentiable", True) is False:
        message = f"the surrogate '{getattr(g, 'name', g)}' is not differentiable"
        raise ArgumentError(at, message, "decorate it with @sa.differentiable, or sa.extern(…, differentiable=True)")
    if not callable(g) or isinstance(g, type):
        raise ArgumentError(at, f"sa.surrogate needs a function, not {g!r}", "write sa.surrogate(soft)")
    return Surrogate(g)


def straight_through() -> StraightThrough:
    """Return the derivative of the identity; for functions with one differentiable parameter of the result's type."""
    return StraightThrough()


def clip_gradient(limit: float | None = None, *, norm: float | None = None, of: object = None) -> ClipGradient:
    """Return a policy with bounded gradients.

    Args:
        limit: Every component of every gradient stays in [-limit, limit].
        norm: Instead, the largest norm over one parameter's components.
        of: The derivative to bound; the automatic one by default.

    Raises:
        DescriptionError: unless exactly one of limit and norm is a positive number.
    """
    if (limit is None) == (norm is None):
        raise DescriptionError("sa.clip_gradient takes a limit or a norm", "write sa.clip_gradient(1e6)")
    if of is not None and not isinstance(of, Bounded):
        message = "of= of sa.clip_gradient is another policy"
        raise ArgumentError(Argument("of"), message, "of=sa.finite_difference(step=1e-3)")
    if limit is not None:
        return ClipGradient(limit=_positive("clip_gradient", "limit", limit), of=of)
    return ClipGradient(norm=_positive("clip_gradient", "norm", norm), of=of)


def subgradient(*, at: float, value: float) -> Subgradient:
    """Return a chosen derivative at one point of a function of one float.

    Args:
        at: The point.
        value: The derivative there.

    Raises:
        DescriptionError: when either is not a finite number.
    """
    return Subgradient(_finite("subgradient", "at", at), _finite("subgradient", "value", value))


def _finite(policy: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ArgumentError(_at(policy, name), f"{name}= of sa.{policy} is {value!r}, not a finite number")
    return float(value)


def _positive(policy: str, name: str, value: object) -> float:
    number = _finite(policy, name, value)
    if number <= 0.0:
        raise ArgumentError(_at(policy, name), f"{name}= of sa.{policy} is {value!r}, not positive")
    return number


def _at(policy: str, name: str) -> Argument:
    return Argument(name, callee=policy, position=0 if name in ("limit", "step") else None)


__all__ = ["clip_gradient", "finite_difference", "straight_through", "subgradient", "surrogate"]
