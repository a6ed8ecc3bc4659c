"""Two names for one value: where Python would show a write through one name under the other, and Slang would not.

While a body is lowered, bindings of one name to (a part of) another's value, writes into values, reads and rebindings
are logged in order. Afterwards every write is checked: if the other name of the value is still read later, the program
would mean two things, and is refused. Values of parameters and module constants are always visible outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.spans import Span


CONSTANT: Final = "constant "
"""How names of module constants begin in the log; their values are always seen elsewhere."""


@dataclass(frozen=True, slots=True)
class _Event:
    kind: str
    name: str
    others: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class AliasedWrite:
    """A write into ``name`` that would also be seen through ``other`` (empty: by the caller)."""

    name: str
    other: str
    span: Span


@dataclass(slots=True)
class AliasLog:
    """Events of one body in the order they are lowered; loops are logged with their extent."""

    events: list[_Event] = field(default_factory=list)
    loops: list[tuple[int, int]] = field(default_factory=list)

    def bind(self, name: str, others: tuple[str, ...], span: Span) -> None:
        """``name`` now names (a part of) the value of one of ``others``; none of them means a value of its own."""
        self.events.append(_Event("bind", name, others, span))

    def write(self, name: str, span: Span) -> None:
        """A part of ``name``'s value is overwritten."""
        self.events.append(_Event("write", name, (), span))

    def read(self, name: str, span: Span) -> None:
        """``name`` is read."""
        self.events.append(_Event("read", name, (), span))

    def loop(self, start: int) -> None:
        """The events from ``start`` on belong to a loop's body."""
        self.loops.append((start, len(self.events)))

    def conflicts(self, outside: frozenset[str]) -> Iterator[AliasedWrite]:
        """Writes another name would show; ``outside`` are names whose values are seen elsewhere (parameters)."""
        seen: set[Span] = set()
        for position, event in enumerate(self.events):
            if event.kind != "write" or event.span in seen:
                continue
            other = self._other_name(position, event.name, outside)
            if other is not None:
                seen.add(event.span)
                yield AliasedWrite(event.name, other, event.span)

    def _other_name(self, position: int, name: str, outside: frozenset[str]) -> str | None:
        for group in self._sharing(position, name, outside):
            for other in sorted(group - {name}):
                if other == "" or self._read_later(position, other):
                    return other
        return None

    def _sharing(self, position: int, name: str, outside: frozenset[str]) -> Iterator[frozenset[str]]:
        """The sets of names that may share ``name``'s value at a position, over the ways round enclosing loops."""
        yield self._replay([*range(position)], name, outside)
        for start, end in self.loops:
            if start <= position < end:
                yield self._replay([*range(end), *range(start, position)], name, outside)

    def _replay(self, order: list[int], name: str, outside: frozenset[str]) -> frozenset[str]:
        groups: dict[str, frozenset[str]] = {p: frozenset({p, ""}) for p in outside}
        for position in order:
            event = self.events[position]
            if event.kind != "bind":
                continue
            old = groups.pop(event.name, frozenset())
            for member in old - {event.name, ""}:
                groups[member] = old - {event.name}
            for other in event.others:
                if other != event.name:
                    _join(groups, event.name, other)
        return groups.get(name, frozenset({name}))

    def _read_later(self, position: int, name: str) -> bool:
        end = len(self.events)
        spans = [range(position + 1, end), *(range(s, e) for s, e in self.loops if s <= position < e)]
        return any(self.events[i].kind in ("read", "write") and self.events[i].name == name for r in spans for i in r)


def _join(groups: dict[str, frozenset[str]], name: str, other: str) -> None:
    alone = frozenset({other, ""}) if other.startswith(CONSTANT) else frozenset({other})
    joined = groups.get(other, alone) | groups.get(name, frozenset()) | {name}
    for member in joined - {""}:
        groups[member] = joined
