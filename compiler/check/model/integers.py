"""Define values of integer parameters that samples should try, and indices that must differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.nodes import Range

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Integers:
    """Integers without a declared range that are worth a try.

    Attributes:
        tried: Paths of parameters or parts, each with a value.
        sizes: Paths that index into an array, with its size.
        stores: Paths of indices at which threads store: threads must have different ones.
        threads: Axes of the domain, each with a number of threads at which something may change.
        counted: Pairs of paths: a thread's number along an axis, and the number of threads. Either may be empty.
    """

    tried: tuple[tuple[str, int], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    stores: tuple[str, ...] = ()
    threads: tuple[tuple[int, int], ...] = ()
    counted: tuple[tuple[str, str], ...] = ()

    def ranges(self) -> Iterator[Range]:
        """Return the ranges of indices into arrays; declared ranges override them."""
        return (Range(path, 0.0, float(size - 1)) for path, size in self.sizes)


NO_INTEGERS: Final = Integers()
