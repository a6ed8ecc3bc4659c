"""The words for derivatives in bodies: ``bwd_diff``, ``fwd_diff``, ``diff_pair``, ``no_diff``, ``probe``.

Front ends know these objects by identity. In Python execution ``tracing`` takes the derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from slangad.compiler.lang.decorators.functions import DescribedFunction
from slangad.compiler.lang.decorators.python_execution import python_execution
from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slangad.compiler.lang.types.annotations import DiffPair

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BackwardOf:
    """``sa.bwd_diff(g)``: takes g's arguments and the cotangent of its result, returns gradients."""

    function: object

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Return the gradients of g's differentiable parameters, a tuple if there are several."""
        return python_execution().backward(self.function, args, kwargs)


@dataclass(frozen=True, slots=True)
class ForwardOf:
    """``sa.fwd_diff(g)``: takes pairs for differentiable parameters, returns a pair."""

    function: object

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Return the value and tangent of g."""
        return python_execution().forward(self.function, args, kwargs)


def bwd_diff(g: Callable[..., object]) -> Callable[..., Any]:
    """Return the reverse mode of g: a function of g's arguments and ``d_out`` that returns gradients.

    Raises:
        DescriptionError: when g is not a function of the language.
    """
    return BackwardOf(_function("bwd_diff", g))


def fwd_diff(g: Callable[..., object]) -> Callable[..., Any]:
    """Return the forward mode of g: a function of pairs that returns a pair.

    Raises:
        DescriptionError: when g is not a function of the language.
    """
    return ForwardOf(_function("fwd_diff", g))


def _function(form: str, g: object) -> object:
    if not callable(g) or isinstance(g, (type, BackwardOf, ForwardOf)):
        raise DescriptionError(f"sa.{form} takes a described function, not {g!r}")
    if isinstance(g, DescribedFunction) and not g.differentiable:
        raise DescriptionError(f"{g.name} is not differentiated", "decorate it with @sa.differentiable")
    return g


def diff_pair(value: T, tangent: T) -> DiffPair[T]:
    """Return a differential pair, ``.p`` and ``.d``."""
    return cast("DiffPair[T]", python_execution().make_pair(value, tangent))


def no_diff(value: T) -> T:
    """Return the value without its derivative."""
    return cast("T", python_execution().cut(value))


def probe(name: str, value: T) -> T:
    """Return the value itself; its gradient is recorded under ``name`` by ``slangad run`` and ``train``."""
    from slangad.compiler.lang.activation import note_probe

    note_probe(name)
    return value


__all__ = ["bwd_diff", "diff_pair", "fwd_diff", "no_diff", "probe"]
