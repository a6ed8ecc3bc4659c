"""Losses of two vectors or arrays of floats of one length: the mean over their entries."""

from __future__ import annotations

import slangad as sa
from slangad.compiler.ir.bounds import POSITIVE
from slangad.compiler.lang.errors import Argument, ArgumentError
from slangad.compiler.nn.activations import is_row


def _check(name, prediction, target):
    """Refuse anything but two vectors or arrays of floats of one type."""
    if not is_row(prediction):
        at = Argument("found", callee=name, position=0)
        raise ArgumentError(at, f"{name} takes vectors or arrays of floats, not {prediction.__name__}", "convert it")
    if target is not prediction:
        at = Argument("target", callee=name, position=1)
        raise ArgumentError(at, f"found is {prediction.__name__}, target is {target.__name__}", "give two of one type")


@sa.generic
def l2(prediction, target):
    """The mean of (found - target)²."""
    _check("l2", prediction, target)
    T = prediction

    @sa.differentiable
    def l2(prediction: T, target: T) -> float:
        total = 0.0
        for i in range(len(prediction)):
            error = prediction[i] - target[i]
            total += error * error
        return total / len(prediction)

    return l2


@sa.generic
def relative_l2(prediction, target):
    """The mean of (found - target)² / (found² + 0.01), whose denominator has no gradient."""
    _check("relative_l2", prediction, target)
    T = prediction

    @sa.differentiable
    def relative_l2(prediction: T, target: T) -> float:
        total = 0.0
        for i in range(len(prediction)):
            error = prediction[i] - target[i]
            size = sa.no_diff(prediction[i] * prediction[i] + 0.01)
            total += error * error / size
        return total / len(prediction)

    return relative_l2


@sa.generic
def huber(prediction, target, delta=float):  # noqa: ARG001  (calls may give it)
    """The mean of e² / 2 where |e| is at most delta, else of delta (|e| - delta / 2); e is found - target."""
    _check("huber", prediction, target)
    T = prediction

    @sa.differentiable
    def huber(prediction: T, target: T, delta: sa.NoDiff[float] = 1.0) -> float:
        total = 0.0
        for i in range(len(prediction)):
            error = abs(prediction[i] - target[i])
            total += 0.5 * error * error if error <= delta else delta * (error - 0.5 * delta)
        return total / len(prediction)

    return huber


huber.bounds["delta"] = POSITIVE
