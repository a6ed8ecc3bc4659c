"""Define every optimizer: its settings, its state, and the kind of kernel that makes its step.

Front ends, the schema, the command line and training follow this table. The class that users write, ``sa.Adam``, is in
``lang/decorators/kernels.py``; the text of the kernels is in ``emit/entry_points/steps.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slangad.compiler.ir.bounds import FRACTION, NOT_NEGATIVE, POSITIVE, Bounds


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of an optimizer.

    Attributes:
        usual: Its default; None if it is required.
        bounds: The values that it may have.
    """

    name: str
    doc: str
    usual: float | None
    bounds: Bounds = NOT_NEGATIVE


@dataclass(frozen=True, slots=True)
class OptimizerKind:
    """A row of the table.

    Attributes:
        settings: The settings, in the order of the class that users write.
        state: The names of the buffers that a parameter's state has.
        kernel: The kind of kernel that updates the parameters.
    """

    doc: str
    settings: tuple[Setting, ...]
    state: tuple[str, ...]
    kernel: str

    @property
    def usual(self) -> dict[str, float | None]:
        """Return the defaults by name, in order; None if a setting is required."""
        return {setting.name: setting.usual for setting in self.settings}


LEARNING_RATE: Final = POSITIVE
"""The values of every ``lr``."""

_LR: Final = Setting("lr", "The learning rate.", None, LEARNING_RATE)
_ADAM: Final = (
    _LR,
    Setting("beta1", "Decay of the mean of gradients.", 0.9, FRACTION),
    Setting("beta2", "Decay of the mean of their squares.", 0.999, FRACTION),
    Setting("eps", "Added to the denominator.", 1e-8, POSITIVE),
)
_DECAY: Final = Setting("weight_decay", "", 0.01)
_SCHEDULE: Final = (
    Setting("warmup", "Steps in which the learning rate grows from 0.", 0.0),
    Setting("half_life", "Steps in which it halves, after those; 0 if it stays.", 0.0),
)

OPTIMIZERS: Final[dict[str, OptimizerKind]] = {
    "sgd": OptimizerKind(
        "Gradient descent.", (_LR, Setting("momentum", "", 0.0, FRACTION), *_SCHEDULE), ("velocity",), "sgd"
    ),
    "adam": OptimizerKind("Adam.", (*_ADAM, *_SCHEDULE), ("mean", "square"), "adam"),
    "adamw": OptimizerKind("Adam with weight decay.", (*_ADAM, _DECAY, *_SCHEDULE), ("mean", "square"), "adam"),
}
"""Every optimizer by its name."""
