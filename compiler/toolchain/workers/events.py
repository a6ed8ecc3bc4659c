"""Define the events of a running compile: one ``Front``, then three for each unit.

The three are ``Begin``, ``UnitReflection`` and ``UnitCode``.

Both back ends (the library in a worker, an external slangc) speak it. ``Begin`` comes before the work, so that when a
worker dies the last one names the culprit. Kept free of dataclasses: workers should start fast.
"""

from __future__ import annotations

from typing import NamedTuple, Union


class Front(NamedTuple):
    """Parsing and checking ended; without ``ok`` no unit follows."""

    ok: bool
    output: str
    dependencies: tuple[str, ...]


class Begin(NamedTuple):
    """Code generation for one unit starts."""

    target: str
    entry: str


class UnitReflection(NamedTuple):
    """Slang's reflection of one unit, as JSON."""

    target: str
    entry: str
    text: str


class UnitCode(NamedTuple):
    """One unit ended: its code, or None if Slang refused; ``output`` has Slang's messages about it."""

    target: str
    entry: str
    data: bytes | None
    output: str


class CompilerUnusable(NamedTuple):
    """The compiler itself could not be used, and why; nothing follows."""

    reason: str


class End(NamedTuple):
    """The call is over. It took these seconds of processor time."""

    seconds: float = 0.0


Event = Union[Front, Begin, UnitReflection, UnitCode, CompilerUnusable, End]  # noqa: UP007  (a value: Python 3.10 needs Union)


class CompilerCall(NamedTuple):
    """One call of the compiler: slangc's arguments, and the units to produce from it.

    ``targets`` and ``entries`` are in the order of the arguments. ``units`` holds indices into both; the entry index is
    -1 where one artefact holds all entry points. With ``declarations``, what the module declares is reflected in
    stead of generating code, with these functions looked up by name.
    """

    arguments: tuple[str, ...]
    targets: tuple[str, ...]
    entries: tuple[str, ...]
    units: tuple[tuple[int, int], ...]
    declarations: tuple[str, ...] | None = None

    def names(self, unit: tuple[int, int]) -> tuple[str, str]:
        """Return the target and entry point of a unit; the entry is empty when the artefact holds all."""
        target, entry = unit
        return self.targets[target], self.entries[entry] if entry >= 0 else ""
