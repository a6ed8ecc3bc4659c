"""Decorated objects of a running program, described without executing a file: a cell, a script, standard input.

The object and its globals exist already. Their source comes from ``linecache``, so spans point into the cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.signatures import MISSING
from slangad.compiler.lang.decorators.factories import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.lang.decorators.functions import DescribedFunction
    from slangad.compiler.lang.decorators.kernels import KernelObject, PipelineObject


@dataclass(frozen=True, slots=True)
class NameRead:
    """A name that a body uses, and the value that it had when the body was read.

    Attributes:
        current: Returns its present value.
        value: The value.
        content: Equal for values of equal content; arrays and lists can change without becoming another object.
    """

    current: Callable[[], object]
    value: object
    content: object

    @classmethod
    def now(cls, current: Callable[[], object]) -> NameRead:
        """Return the present value of a name."""
        value = current()
        return cls(current, value, _content(value))

    def holds(self) -> bool:
        """Return True if the name still has this value."""
        value = self.current()
        if isinstance(self.content, int):
            return value is self.value
        return _content(value) == self.content


def _content(value: object) -> object:
    """Return what is equal for values of equal content; for functions, classes and modules their identity."""
    data = hasattr(value, "slangad_type") or hasattr(value, "__slangad_struct__")
    if type(value).__module__.startswith("slangad.") and not data:
        return id(value)
    try:
        return content_key(value)
    except RecursionError:  # a value that contains itself
        return id(value)


@dataclass(slots=True, eq=False)
class LiveDescription:
    """One decorated object, described with everything that it reaches.

    Attributes:
        object: The kernel, pipeline or function.
        sampled: For a function: parameters that have one value for each element of a kernel that calls it, in place of
            one value for all. None describes the function alone.
        reads: Receives the names that its bodies use. If none has changed, the description is still right.
    """

    object: KernelObject[object] | PipelineObject[object] | DescribedFunction[..., object]
    sampled: frozenset[str] | None = None
    reads: list[NameRead] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the object, with the arguments of its factory."""
        return getattr(self.object, "emitted_name", self.object.name)

    @property
    def file(self) -> str:
        """The file name of its code: a path, or that of a cell."""
        return self.object.python.__code__.co_filename

    def holds(self) -> bool:
        """Return True if every name that the bodies use still has its value."""
        return all(read.holds() for read in self.reads)


def current_in(names: Mapping[str, object], name: str) -> Callable[[], object]:
    """Return the function that looks up a name in a namespace."""
    return lambda: names.get(name, MISSING)
