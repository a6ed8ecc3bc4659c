"""Values of integer parameters that samples should try, and indices that must differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.nodes import Range

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Integers:
    """Where integers that nobody declared are worth a try.

    Attributes:
        tried: Paths of parameters or parts, each with a value.
        sizes: Paths that index into an array, with its size.
        stores: Paths that say where threads store: no two of them may store at the same place.
        threads: Axes of the domain, each with a number of threads at which something may change.
        counted: Paths of a thread's number along an axis and of how many threads there are, in pairs; either may be
            empty.
    """

    tried: tuple[tuple[str, int], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    stores: tuple[str, ...] = ()
    threads: tuple[tuple[int, int], ...] = ()
    counted: tuple[tuple[str, str], ...] = ()

    def ranges(self) -> Iterator[Range]:
        """Where indices may lie; what is declared wins over it."""
        return (Range(path, 0.0, float(size - 1)) for path, size in self.sizes)


NO_INTEGERS: Final = Integers()
