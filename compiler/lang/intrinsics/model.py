"""The fields of one row of the intrinsics table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from slangad.compiler.ir.types import Type
from slangad.compiler.lang.errors import TypeRuleError

Meaning = Callable[..., object]
"""Called with the numpy module (or the traced functions, for derivatives) and then the arguments' data."""


@dataclass(frozen=True, slots=True)
class IntrinsicSignature:
    """The types that the arguments of a call convert to, and the type of its result."""

    params: tuple[Type, ...]
    result: Type


Rule = Callable[[Sequence[Type]], IntrinsicSignature]
"""From argument types (literals are ``Weak``) to a signature; raises ``TypeRuleError``."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The domain of an argument or its components. An end is open if value or derivative is not finite there."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.low_open else value >= self.low
        return above and (value < self.high if self.high_open else value <= self.high)


EVERYWHERE = Interval()
POSITIVE = Interval(0.0, low_open=True)


@dataclass(frozen=True, slots=True)
class Kinks:
    """A condition at which a derivative jumps (``kink``) or the value jumps (``jump``).

    Attributes:
        text: The condition in words, ``x == y``.
        distance: The distance of arguments from the condition, called like ``meaning``; 0 if it holds.
    """

    kind: Literal["kink", "jump"]
    text: str
    distance: Meaning


@dataclass(frozen=True, slots=True)
class IntrinsicRow:
    """One intrinsic function.

    Attributes:
        name: The name, as in ``sa.name``.
        params: Parameter names.
        types: Maps argument types to a signature. Call ``rule`` instead, which checks their number first.
        meaning: The value, from numpy and arguments of the signature's types; the last axes are the value's.
        slang: The spelling before the ``(``.
        partials: The derivatives of a function by component: one per parameter (None is zero), from functions that take
            arrays and traced values alike, then the arguments in float64.
        composed: The value of another function, written in those; it is differentiated.
        differentiable: False if there is no derivative; then results carry no gradient.
        kinks: The points at which derivative or value is not continuous.
        domain: Per parameter, the values at which value and derivative are finite.
        valid: A further condition on all arguments, called like ``meaning``; returns bools.
        variadic: Two or more arguments are folded from the left.
        cast_of: This is ``int(...)`` of another row: ``floor_to_int`` is ``int(floor(x))``.
        typed: The signature for type checkers, if it is not the usual one of the rule (``intrinsics/typed.py``).
        doc: One line for users.
    """

    name: str
    params: tuple[str, ...]
    types: Rule
    meaning: Meaning
    slang: str
    doc: str
    partials: tuple[Meaning | None, ...] | None = None
    composed: Meaning | None = None
    differentiable: bool = True
    kinks: tuple[Kinks, ...] = ()
    domain: tuple[Interval, ...] = ()
    valid: Meaning | None = None
    variadic: bool = False
    cast_of: str = ""
    typed: str = ""

    def interval(self, index: int) -> Interval:
        """Return the domain of one parameter."""
        return self.domain[index] if index < len(self.domain) else EVERYWHERE

    def rule(self, types: Sequence[Type]) -> IntrinsicSignature:
        """Return the signature for these argument types.

        Raises:
            TypeRuleError: if their number or a type is wrong.
        """
        wanted = len(self.params)
        if len(types) != wanted and not (self.variadic and len(types) > wanted):
            count = f"at least {wanted}" if self.variadic else str(wanted)
            plural = "" if wanted == 1 else "s"
            usage = f"{self.name}({', '.join(self.params)}{', …' if self.variadic else ''})"
            raise TypeRuleError(None, f"{self.name} takes {count} argument{plural}, not {len(types)}", usage)
        return self.types(types)
