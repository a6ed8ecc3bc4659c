"""Describe structs that hold memory: a wrapper builds such an object from memory and from values that it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.emit.memory.buffers import chosen_case
from slangad.compiler.frontends.slang.layout import shown_name
from slangad.compiler.slang_text.global_parameters import POINTER, GlobalParameter, memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.frontends.slang.reflected import DeclaredStruct, Json
    from slangad.compiler.slang_text.global_parameters import MemoryType

_ENUM: Final = re.compile(r"\benum\s+(?:class\s+)?(\w+)[^{;]*\{([^}]*)\}")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Value:
    """A field that the wrapper takes as a parameter.

    Attributes:
        name: The name of that parameter.
        path: The field, as it follows the name of the object: ``.layer.scale``.
        type: The type of the parameter.
        expression: The value of the field.
    """

    name: str
    path: str
    type: str
    expression: str


@dataclass(frozen=True, slots=True)
class HeldObject:
    """An object that a function takes, and that holds memory.

    Attributes:
        name: The name of the variable in the wrapper.
        type: Its type.
        memory: Its memory. ``place`` is the field.
        values: Its other fields.
        pointed: True if the function takes a pointer to it.
    """

    name: str
    type: str
    memory: tuple[GlobalParameter, ...]
    values: tuple[Value, ...]
    pointed: bool = False

    @property
    def argument(self) -> str:
        """The expression that the function gets."""
        return f"__getAddress({self.name})" if self.pointed else self.name


class Unbuildable(Exception):  # noqa: N818  (control flow, not an error users see)
    """A field can have no value. The text names it."""


def enums_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return the cases of the enums that a text declares, by name."""
    plain = _COMMENT.sub(" ", text)
    cases = ((name, (one.partition("=")[0].strip() for one in body.split(","))) for name, body in _ENUM.findall(plain))
    return {name: tuple(case for case in names if case.isidentifier()) for name, names in cases}


def reflected_memory(record: Json) -> MemoryType | None:
    """Return what memory a reflected type is; None for other types."""
    return memory_of(shown_name(record["name"])) if record.get("kind") in ("other", "struct") else None


def pointed_struct(record: Json, structs: Mapping[str, DeclaredStruct]) -> str:
    """Return the struct with memory to which a reflected pointer leads; empty if there is none."""
    memory = reflected_memory(record)
    is_held = memory is not None and memory.kind == POINTER and holds_memory(memory.element, structs)
    return memory.element if memory and is_held else ""


def holds_memory(name: str, structs: Mapping[str, DeclaredStruct]) -> bool:
    """Return True if a struct is no memory itself, and has a field that is memory, or one that holds some."""
    return memory_of(shown_name(name)) is None and any(
        _has_memory(field.type, structs) for field in (structs[name].fields if name in structs else ())
    )


def _has_memory(record: Json, structs: Mapping[str, DeclaredStruct]) -> bool:
    if reflected_memory(record):
        return True
    if record["kind"] == "array":
        return _has_memory(record["element"], structs)
    return record["kind"] == "struct" and holds_memory(record["name"], structs)


def spelled(record: Json) -> str:
    """Return a reflected type as Slang reads it."""
    match record["kind"]:
        case "vector":
            return f"vector<{record['scalar']}, {record['count']}>"
        case "matrix":
            return f"matrix<{record['scalar']}, {record['rows']}, {record['columns']}>"
        case "array":
            return f"{spelled(record['element'])}[{record['count']}]"
        case "scalar":
            return str(record["scalar"])
        case _:
            return shown_name(record["name"])


@dataclass(frozen=True, slots=True)
class ObjectReader:
    """Finds the memory and the values in the structs of a file.

    Attributes:
        structs: The structs by name.
        enums: The cases of enums by name.
    """

    structs: Mapping[str, DeclaredStruct]
    enums: Mapping[str, tuple[str, ...]]

    def read(self, param: str, struct: str, *, pointed: bool = False) -> HeldObject:
        """Return the object for a parameter; ``param`` is empty for the object of a method.

        Raises:
            Unbuildable: A field can have no value.
        """
        leaves = [*self._fields(struct, "", [param] if param else [])]
        memory = tuple(one for one in leaves if isinstance(one, GlobalParameter))
        values = tuple(one for one in leaves if isinstance(one, Value))
        if len(memory) > tol.MEMORY_FIELDS:
            raise Unbuildable(f"{struct} holds {len(memory)} buffers")
        return HeldObject(f"check_object_{param or 'this'}", struct, memory, values, pointed)

    def _fields(self, struct: str, path: str, names: list[str]) -> Iterator[GlobalParameter | Value]:
        for field in self.structs[struct].fields:
            yield from self._field(field.type, f"{path}.{field.name}", [*names, field.name])

    def _field(self, record: Json, path: str, names: list[str]) -> Iterator[GlobalParameter | Value]:
        name = "_".join(part.strip("_") or part for part in names)
        memory = reflected_memory(record)
        if pointed_struct(record, self.structs):
            raise Unbuildable(f"{path[1:]} is a pointer to an object with buffers")
        if memory:
            yield GlobalParameter(name, (), memory.element, 0, 0, memory.kind, path, memory.further)
        elif not _has_memory(record, self.structs):
            yield self._value(record, path, name)
        elif record["kind"] == "array":
            for k in range(record["count"]):
                yield from self._field(record["element"], f"{path}[{k}]", [*names, str(k)])
        else:
            yield from self._fields(record["name"], path, names)

    def _value(self, record: Json, path: str, name: str) -> Value:
        if record["kind"] not in ("other", "enum"):
            return Value(name, path, spelled(record), name)
        cases = self.enums.get(record["name"].rpartition(".")[2])
        if not cases:
            raise Unbuildable(f"{path[1:]} is a {shown_name(record['name'])}")
        return Value(name, path, "int", chosen_case([f"{record['name']}.{case}" for case in cases], name))
