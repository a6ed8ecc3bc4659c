"""Checks of the arguments of layers and encodings; errors point at the user's argument."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.bounds import Bounds
from slangad.compiler.lang.errors import Argument, ArgumentError
from slangad.compiler.lang.types.scalars import half

if TYPE_CHECKING:
    from collections.abc import Iterable

STORAGES: Final[dict[object, type]] = {float: float, half: half, "float": float, "half": half}
"""Values of ``storage=``. Layers always compute in float."""
PRECISIONS: Final = ("float", "half")
"""Values of ``precision=``."""
MOST: Final = 1 << 24
"""Largest size of one axis of a parameter."""
GROWTH: Final = Bounds(1.0)
"""Values of ``growth=``: no grid is coarser than the one before it."""


def refuse(callee: str, name: str, position: int, message: str, help_: str) -> ArgumentError:
    """Return the error of one argument."""
    return ArgumentError(Argument(name, callee=callee, position=position), message, help_)


def check_size(callee: str, name: str, position: int, value: object, low: int = 1, high: int = MOST) -> None:
    """Refuse anything but an integer from ``low`` to ``high``.

    Raises:
        ArgumentError: at the argument.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise refuse(callee, name, position, f"{name} of {callee} is {value!r}", f"an integer from {low} to {high}")


def check_number(callee: str, name: str, position: int, value: object, bounds: Bounds) -> None:
    """Refuse anything but a number within bounds.

    Raises:
        ArgumentError: at the argument.
    """
    if not bounds.contain(value):
        raise refuse(callee, name, position, f"{name} of {callee} is {value!r}", str(bounds))


def storage_of(callee: str, position: int, storage: object) -> type:
    """Return the type in which parameters are kept.

    Raises:
        ArgumentError: for anything but float and half.
    """
    known = STORAGES.get(storage) if isinstance(storage, (str, type)) else None
    if known is None:
        shown = getattr(storage, "__name__", repr(storage))
        raise refuse(callee, "storage", position, f"storage of {callee} is {shown}", "float or sa.half")
    return known


def precision_of(callee: str, position: int, precision: object) -> str:
    """Return the precision of a layer's products.

    Raises:
        ArgumentError: for anything but ``float`` and ``half``.
    """
    if not isinstance(precision, str) or precision not in PRECISIONS:
        message = f"precision of {callee} is {precision!r}"
        raise refuse(callee, "precision", position, message, '"float" or "half"')
    return precision


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the nearest of the known words as a question, or all of them."""
    words = sorted(known)
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"one of {', '.join(words)}"
