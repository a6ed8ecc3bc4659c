"""Refuse writes to a value that has two names: Python changes both names, Slang only one.

While a body is lowered, bindings, writes, reads and jumps are logged in its structure of branches and loops. Then
one walk forwards finds the names that may share a value, one backwards the names that are still read. A write into a
value shared with a name that is still read is refused. Values of parameters and module constants are
always shared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from slangad.compiler.errors.exhaustive import assert_never

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.errors.spans import Span

CONSTANT: Final = "constant "
"""The prefix of module constants in the log. Their values are always shared."""
ANY: Final = "[*]"
"""The step of a path for an index that is known only at run time."""
Path = tuple[str, ...]
JumpKind = Literal["break", "continue", "return"]


@dataclass(frozen=True, slots=True, eq=False)
class Bind:
    """``name`` is bound to a part of one of the values of ``sources``; without sources to a new value."""

    name: str
    sources: tuple[tuple[str, Path], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """The part of ``name``'s value at the end of ``path`` is overwritten."""

    name: str
    path: Path
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class AliasRead:
    """``name`` is read."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Jump:
    """The block is left."""

    kind: JumpKind


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One of several blocks runs."""

    arms: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A block runs some number of times."""

    body: Block


Event = Bind | Write | AliasRead | Jump | Branch | Loop
Block = tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class AliasedWrite:
    """A write into ``name`` that also changes ``other`` (empty: a value outside the body)."""

    name: str
    other: str
    span: Span


@dataclass(slots=True)
class AliasLog:
    """The events of one body, while it is lowered."""

    _open: list[list[Event]] = field(default_factory=lambda: [[]])

    def bind(self, name: str, sources: Iterable[tuple[str, Path]] = ()) -> None:
        """Log a binding of a name."""
        self._open[-1].append(Bind(name, tuple(sources)))

    def write(self, name: str, path: Path, span: Span) -> None:
        """Log a store into a part of a name's value."""
        self._open[-1].append(Write(name, path, span))

    def read(self, name: str) -> None:
        """Log that a name is read."""
        self._open[-1].append(AliasRead(name))

    def jump(self, kind: JumpKind) -> None:
        """Log a ``break``, ``continue`` or ``return``."""
        self._open[-1].append(Jump(kind))

    def open(self) -> None:
        """Begin a nested block."""
        self._open.append([])

    def close(self) -> Block:
        """End the last begun block and return its events."""
        return tuple(self._open.pop())

    def branch(self, *arms: Block) -> None:
        """Log that one of these blocks runs."""
        self._open[-1].append(Branch(arms))

    def loop(self, body: Block) -> None:
        """Log that a block runs some number of times."""
        self._open[-1].append(Loop(body))

    def conflicts(self, outside: frozenset[str]) -> Iterator[AliasedWrite]:
        """Return the writes that also change another name; ``outside`` are names with shared values (parameters)."""
        body = tuple(self._open[0])
        read_after: dict[Write, frozenset[str]] = {}
        _live(body, frozenset(), {"return": frozenset()}, read_after)
        sharing = _Sharing(read_after, outside)
        sharing.follow(body, {name: frozenset({(name, ())}) for name in outside}, {})
        yield from sharing.writes.values()


def _live(
    block: Block, after: frozenset[str], jumps: dict[JumpKind, frozenset[str]], read_after: dict[Write, frozenset[str]]
) -> frozenset[str]:
    """Return the names read from the start of a block on, and for each write the names read after it."""
    live = after
    for event in reversed(block):
        match event:
            case AliasRead(name):
                live |= {name}
            case Bind(name):
                live -= {name}
            case Write(name):
                read_after[event] = read_after.get(event, frozenset()) | live
                live |= {name}
            case Jump(kind):
                live = jumps[kind]
            case Branch(arms):
                live = frozenset().union(*(_live(arm, live, jumps, read_after) for arm in arms))
            case Loop(body):
                live = _live_loop(body, live, jumps, read_after)
            case _:
                assert_never(event)
    return live


def _live_loop(
    body: Block, after: frozenset[str], jumps: dict[JumpKind, frozenset[str]], read_after: dict[Write, frozenset[str]]
) -> frozenset[str]:
    head = after
    while True:
        inside: dict[JumpKind, frozenset[str]] = {**jumps, "break": after, "continue": head}
        grown = head | _live(body, head, inside, read_after)
        if grown == head:
            return head
        head = grown


Shared = frozenset[tuple[str, Path]]
State = dict[str, Shared]


@dataclass(slots=True)
class _Sharing:
    """The parts of values that each name may be bound to. A value is named by its first binding."""

    read_after: dict[Write, frozenset[str]]
    outside: frozenset[str]
    writes: dict[Span, AliasedWrite] = field(default_factory=dict)

    def follow(self, block: Block, start: State, jumps: dict[JumpKind, list[State]]) -> State | None:
        """Return the state after a block; None if its end is not reached."""
        state = dict(start)
        for event in block:
            match event:
                case Bind():
                    state = _bind(event, state)
                case Write():
                    self._check(event, state)
                case Jump(kind):
                    jumps.setdefault(kind, []).append(state)
                    return None
                case Branch(arms):
                    ends = [self.follow(arm, state, jumps) for arm in arms]
                    reached = [end for end in ends if end is not None]
                    if not reached:
                        return None
                    state = _join(reached)
                case Loop(body):
                    state = self._follow_loop(body, state, jumps)
                case AliasRead():
                    continue
                case _:
                    assert_never(event)
        return state

    def _follow_loop(self, body: Block, start: State, jumps: dict[JumpKind, list[State]]) -> State:
        head = start
        while True:
            inside: dict[JumpKind, list[State]] = {"return": jumps.setdefault("return", [])}
            end = self.follow(body, head, inside)
            turned = [*([end] if end is not None else []), *inside.get("continue", [])]
            grown = _join([head, *turned])
            if grown == head:
                return _join([head, *inside.get("break", [])])
            head = grown

    def _check(self, write: Write, state: State) -> None:
        others = sorted(self.read_after.get(write, frozenset()) - {write.name})
        for value, path in sorted(state.get(write.name, frozenset())):
            if value in self.outside or value.startswith(CONSTANT):
                self.writes.setdefault(write.span, AliasedWrite(write.name, "", write.span))
            changed = (*path, *write.path[:-1])
            for other in others:
                if any(v == value and _leads_to(p, changed) for v, p in state.get(other, frozenset())):
                    self.writes.setdefault(write.span, AliasedWrite(write.name, other, write.span))


def _bind(event: Bind, state: State) -> State:
    if not event.sources:
        fresh = f"{event.name} {id(event)}"
        older = {name: frozenset((f"{v}'" if v == fresh else v, p) for v, p in s) for name, s in state.items()}
        return {**older, event.name: frozenset({(fresh, ())})}
    shared: set[tuple[str, Path]] = set()
    for source, path in event.sources:
        parts = frozenset({(source, ())}) if source.startswith(CONSTANT) else state.get(source, frozenset())
        shared |= {(value, (*at, *path)) for value, at in parts}
    return {**state, event.name: frozenset(shared)}


def _join(states: list[State]) -> State:
    names = {name for state in states for name in state}
    return {name: frozenset().union(*(state.get(name, frozenset()) for state in states)) for name in names}


def _leads_to(path: Path, changed: Path) -> bool:
    """Return True if the part at ``path`` contains, or is inside, the changed part."""
    return len(path) <= len(changed) and all(a == b or ANY in (a, b) for a, b in zip(path, changed, strict=False))
