"""The functions that run decorated objects in Python, bound late.

The room ``execution`` stands above this one and needs numpy. ``lang/__init__.py`` binds it, and the first run loads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class PythonExecution:
    """The functions of ``execution`` that decorated objects call.

    Attributes:
        call: Call a described function: function, arguments, keywords.
        launch: Run a kernel: kernel, arguments, keywords, domain.
        backward: Run ``sa.bwd_diff(g)``: function, arguments, keywords.
        forward: Run ``sa.fwd_diff(g)``: function, arguments, keywords.
        make_pair: Make a pair of a value and its tangent.
        cut: Return a value without its derivative.
        bin_items: Run ``sa.bin``: lower, upper, depth, tiles, capacity.
        group_memory: Make the memory of a group: what stands in the brackets of ``Shared``.
    """

    call: Callable[..., object]
    launch: Callable[..., object]
    backward: Callable[..., object]
    forward: Callable[..., object]
    make_pair: Callable[..., object]
    cut: Callable[..., object]
    bin_items: Callable[..., Any]
    group_memory: Callable[[object], object]


_LOADERS: Final[list[Callable[[], PythonExecution]]] = []


def bind(load: Callable[[], PythonExecution]) -> None:
    """Use the functions that ``load`` returns."""
    _LOADERS[:] = [load]


def python_execution() -> PythonExecution:
    """Return the bound functions."""
    return _LOADERS[0]()
