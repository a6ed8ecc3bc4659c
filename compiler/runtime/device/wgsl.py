"""Read the bindings of a WGSL shader from its code and Slang's reflection.

Slang omits what an entry point does not use. So the declarations of the code give the bindings, and the reflection
gives their names.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.runtime.device.std140 import packed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from slangad.compiler.runtime.device.layout import Json

_DECLARATION: Final = re.compile(r"^@binding\((\d+)\) @group\(0\) var(?:<([\w, ]+)>)? \w+ : (\w+)", re.MULTILINE)
_HALF: Final = "enable f16;"
_KINDS: Final = {
    "uniform": "uniform",
    "storage, read": "read-only-storage",
    "storage, read_write": "storage",
    "sampler": "sampler",
}

UNIFORM: Final = "uniform"
STORAGE: Final = ("storage", "read-only-storage")


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding of an entry point.

    Attributes:
        number: Its binding.
        kind: ``uniform``, ``storage``, ``read-only-storage``, ``sampler`` or ``texture``.
        name: The parameter's name; of a uniform block, none.
        parameters: Of a uniform block, Slang's reflection of all that may be in it.
        shared: True for a parameter of the whole module.
    """

    number: int
    kind: str
    name: str = ""
    parameters: tuple[Json, ...] = ()
    shared: bool = False

    def block(self, values: Mapping[str, object], shared: Collection[str]) -> bytes:
        """Return the bytes of a uniform block.

        Args:
            values: The bound values, by name.
            shared: Those of the names that are parameters of the whole module.
        """
        return packed(self.parameters, {name: v for name, v in values.items() if (name in shared) == self.shared})


@dataclass(frozen=True, slots=True)
class Shader:
    """An entry point in WGSL: its code, the size of its groups, its bindings."""

    entry: str
    code: str
    group: tuple[int, int, int]
    slots: tuple[Binding, ...]

    @property
    def has_half(self) -> bool:
        """Return True if it computes in half precision, which not every device does."""
        return self.code.startswith(_HALF)

    @property
    def storage_buffers(self) -> int:
        """Return the number of buffers bound at once."""
        return sum(slot.kind in STORAGE for slot in self.slots)


def read_shader(entry: str, code: str, reflection: str) -> Shader:
    """Return the shader that Slang made of an entry point."""
    parsed = json.loads(reflection)
    point = next(point for point in parsed["entryPoints"] if point["name"] == entry)
    x, y, z = point["threadGroupSize"]
    return Shader(entry, code, (x, y, z), tuple(_slots(code, tuple(parsed["parameters"]), point)))


def _slots(code: str, module: tuple[Json, ...], point: Json) -> Iterator[Binding]:
    slots = tuple(point.get("parameters", ()))
    block = point.get("uniformBlock", {}).get("index")
    named = {n: (p["name"], False) for p in slots if (n := _number(p)) is not None}
    named |= {n: (p["name"], True) for p in module if (n := _number(p)) is not None}
    for match in _DECLARATION.finditer(code):
        number = int(match[1])
        kind = _KINDS.get(match[2] or match[3], "texture")
        if kind == UNIFORM:
            yield Binding(number, kind, "", slots if number == block else module, number != block)
        else:
            name, shared = named[number]
            yield Binding(number, kind, name, (), shared)


def _number(parameter: Json) -> int | None:
    binding = parameter.get("binding", {})
    return int(binding["index"]) if binding.get("kind") == "descriptorTableSlot" else None
