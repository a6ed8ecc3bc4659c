"""What a function of the zoo is, as data, and the description all of them share."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Animal:
    """A right function; ``params`` and ``body`` as in a description.

    ``ranges`` say where it is sampled; ``flat`` inputs get no gradient, so breaking that changes nothing; of
    ``symmetric`` functions all inputs of one type have the same gradient. ``before`` is text that it needs,
    ``backward`` the body of its own backward function, and ``breaks`` are ways to get that wrong: what
    to put in stead of what.
    """

    name: str
    params: str
    result: str
    body: str
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    flat: tuple[str, ...] = ()
    symmetric: bool = False
    options: str = ""
    before: str = ""
    backward: str = ""
    breaks: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, str]:
        """The type of each parameter."""
        return dict(part.strip().split(": ", 1) for part in self.params.split(";"))

    @property
    def text(self) -> str:
        """The function as a description."""
        return self.before + self.text_as(self.name, self.backward)

    def text_as(self, name: str, backward: str) -> str:
        """The function under another name, with another backward function."""
        params = ", ".join(part.strip() for part in self.params.split(";"))
        text = (
            f"@sa.differentiable({self._keywords()})\ndef {name}({params}) -> {self.result}:\n{indented(self.lines)}\n"
        )
        if not backward:
            return text
        names = ", ".join(self.types)
        return f"{text}\n\n@{name}.backward\ndef {name}_bwd({names}, d_out):\n{indented(backward.split(chr(10)))}\n"

    @property
    def lines(self) -> list[str]:
        """The statements of its body."""
        lines = self.body.strip("\n").split("\n")
        return lines if len(lines) > 1 or lines[0].startswith("return") else [f"return {lines[0]}"]

    def _keywords(self) -> str:
        ranges = f"ranges={self.ranges!r}" if self.ranges else ""
        return ", ".join(part for part in (ranges, self.options) if part)


def indented(lines: list[str]) -> str:
    """The lines as a block."""
    return "\n".join(f"    {line}" for line in lines)


HEAD = """import math

import slangad as sa
from slangad import NoDiff, float2, float2x2, float2x3, float3, float3x3, float4, float4x4

K = (0.5, -1.5, 2.0, 3.25)


@sa.struct
class Lamp:
    at: float3
    power: float = 1.0
    kind: int = 0


@sa.struct
class Room:
    lamp: Lamp
    weights: sa.Array[float, 3]
    gain: NoDiff[float] = 2.0


@sa.struct
class Lobe:
    sharp: float
    weight: float

    def at(self, x: float) -> float:
        return self.weight * sa.exp(self.sharp * (x - 1.0))

    @staticmethod
    def shared(x: float) -> float:
        return x * x * 0.5


"""
