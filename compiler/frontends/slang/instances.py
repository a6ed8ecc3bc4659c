"""Choose instances of generic functions, such as ``f<float, 4>``, that Slang accepts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.frontends.slang.arguments import thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slangad.compiler.frontends.slang.arguments import Row
    from slangad.compiler.frontends.slang.reflected import ReflectedModule

    Candidates = tuple[Mapping[str, Row], ...]
    Reader = Callable[[tuple[str, ...]], ReflectedModule]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Instances that Slang accepts, others that are not used, and the module read with both, if there are any."""

    names: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    declared: ReflectedModule | None = None

    def joined(self, names: Iterable[str], unused: Iterable[str]) -> Chosen:
        """Return these and other instances."""
        return replace(self, names=(*self.names, *names), unused=(*self.unused, *unused))


def chosen_instances(wanted: Iterable[Candidates], read: Reader, most: tuple[int, int]) -> Chosen:
    """Return instances that Slang accepts.

    Args:
        wanted: Groups of instances with arguments, for each function. The first group with an accepted one counts.
        read: Reads the module, and looks up functions by name.
        most: The most instances of one function, and of all functions if one each is not more. Every argument occurs
            in the instances of a function if possible.
    """
    functions = list(wanted)
    names = list(dict.fromkeys(name for groups in functions for group in groups for name in group))
    if not names:
        return Chosen()
    try:
        declared = read(tuple(names))
    except CompileError:
        declared = read(tuple(_harmless(names, read)))
    accepted = {name for name in names if any(one.differentiable for one in declared.asked.get(name, ()))}
    groups = [next((group for group in of if not accepted.isdisjoint(group)), {}) for of in functions]
    usable = [{row: name for name, row in group.items() if name in accepted} for group in groups]
    limit, of_all = most
    chosen = _thinned(usable, limit)
    while len(chosen) > of_all and limit > 1:
        limit //= 2
        chosen = _thinned(usable, limit)
    unused = (name for of in usable for name in of.values() if name not in chosen)
    return Chosen(chosen, tuple(dict.fromkeys(unused)), declared)


def _thinned(functions: Iterable[Mapping[Row, str]], limit: int) -> tuple[str, ...]:
    """Return so many instances of each function at most."""
    return tuple(dict.fromkeys(chain(*([rows[row] for row in thinned(rows, limit)] for rows in functions))))


def _harmless(names: Sequence[str], read: Reader) -> list[str]:
    """Return the names that Slang can look up, where it crashes on one of them."""
    if len(names) == 1:
        return []
    good: list[str] = []
    middle = len(names) // 2
    for half in (names[:middle], names[middle:]):
        try:
            read(tuple(half))
            good += half
        except CompileError:  # noqa: PERF203  (the other half may be good)
            good += _harmless(half, read)
    return good
