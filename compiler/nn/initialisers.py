"""Initialisers: the distributions of a layer's weights and biases when training starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.bounds import ANY, POSITIVE
from slangad.compiler.ir.distributions import Distribution, Normal, Uniform
from slangad.compiler.nn.activations import RECTIFIERS
from slangad.compiler.nn.arguments import check_number, nearest, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

BY_ACTIVATION: Final = "by_activation"
"""The initialiser of layers that name none."""
FREQUENCY: Final = 30.0
"""The angular frequency of SIREN's first layer. The function at the start oscillates more as it grows."""


@dataclass(frozen=True, slots=True)
class WeightShape:
    """What an initialiser knows of a layer.

    Attributes:
        inputs: The length of x.
        outputs: The length of y.
        activation: The name of the activation after it; empty if it is unknown.
        is_first: True for the first layer of a network.
    """

    inputs: int
    outputs: int
    activation: str = ""
    is_first: bool = False


def _within(square: float) -> Uniform:
    """Return the range between the two roots of a square."""
    bound = math.sqrt(square)
    return Uniform(-bound, bound)


def _by_activation(of: WeightShape) -> Distribution:
    return INITIALISERS["he_uniform" if of.activation in RECTIFIERS else "xavier_uniform"](of)


def _siren(of: WeightShape) -> Distribution:
    return _within((FREQUENCY / of.inputs) ** 2 if of.is_first else 6.0 / of.inputs)


INITIALISERS: Final[dict[str, Callable[[WeightShape], Distribution]]] = {
    BY_ACTIVATION: _by_activation,
    "xavier_uniform": lambda of: _within(6.0 / (of.inputs + of.outputs)),
    "xavier_normal": lambda of: Normal(math.sqrt(2.0 / (of.inputs + of.outputs))),
    "he_uniform": lambda of: _within(6.0 / of.inputs),
    "he_normal": lambda of: Normal(math.sqrt(2.0 / of.inputs)),
    "lecun_uniform": lambda of: _within(3.0 / of.inputs),
    "lecun_normal": lambda of: Normal(math.sqrt(1.0 / of.inputs)),
    "siren": _siren,
    "zeros": lambda _: Uniform(0.0, 0.0),
}
"""The initialisers by name: Glorot and Bengio, 2010 (xavier); He and others, 2015; LeCun and others, 1998; Sitzmann and
others, 2020 (siren, with the frequency in the weights of the first layer)."""

OTHER_NAMES: Final = {
    "glorot_normal": "xavier_normal",
    "glorot_uniform": "xavier_uniform",
    "kaiming_normal": "he_normal",
    "kaiming_uniform": "he_uniform",
}
"""Names of initialisers in other libraries, and their names here."""


def normal(deviation: float) -> Normal:
    """Initial values of a normal distribution with mean 0, for ``init=`` of layers and ``initial=`` of structs.

    Args:
        deviation: The standard deviation, above 0.

    Raises:
        ArgumentError: for other deviations.
    """
    check_number("normal", "deviation", 0, deviation, POSITIVE)
    return Normal(float(deviation))


def initialiser_of(callee: str, position: int, init: object) -> str | Distribution:
    """Return the name of an initialiser, or the distribution that ``init=`` describes.

    Raises:
        ArgumentError: for unknown names, and pairs that are no range.
    """
    if isinstance(init, Distribution) or (isinstance(init, str) and init in INITIALISERS):
        return init
    if isinstance(init, str):
        near = f"did you mean '{OTHER_NAMES[init]}'?" if init in OTHER_NAMES else nearest(init, INITIALISERS)
        raise refuse(callee, "init", position, f"unknown initialiser {init!r}", near)
    if isinstance(init, (tuple, list)) and len(init) == 2 and all(map(ANY.contain, init)) and init[0] <= init[1]:
        return Uniform(float(init[0]), float(init[1]))
    help_ = "a name such as 'he_uniform', two numbers from low to high, or sa.nn.normal(deviation)"
    raise refuse(callee, "init", position, f"init of {callee} is {init!r}", help_)


def weights_of(init: str | Distribution, of: WeightShape) -> Distribution:
    """Return the distribution of a layer's weights."""
    return INITIALISERS[init](of) if isinstance(init, str) else init


def biases_of(init: str | Distribution, of: WeightShape) -> Distribution:
    """Return the distribution of a layer's biases: 0, except for ``siren``.

    The code of that paper computes sin(30 (W x + b)), and leaves b as PyTorch does. Here 30 is in W and b.
    """
    if init != "siren":
        return Uniform(0.0, 0.0)
    return _within((FREQUENCY if of.activation == "sine" else 1.0) ** 2 / of.inputs)
