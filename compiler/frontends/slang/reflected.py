"""The declarations of a Slang file as Slang reflected them: the JSON text goes in, typed records come out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeclaredParam:
    """A parameter or field; ``type`` is as reflected, ``layout`` turns it into one of the IR."""

    name: str
    type: Json
    no_diff: bool
    direction: str


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A differentiable function; one that is generic has neither parameters nor a result yet.

    Attributes:
        owner: The full name of the struct it is a member of, if any.
        pattern: Its name from outside, with ``<>`` where arguments are due.
        overloaded: Whether there are others of its name beside it.
        differentiable: Whether it is marked as that: not if only another function says that it is its derivative.
    """

    name: str
    path: tuple[str, ...]
    owner: str
    pattern: str
    static: bool
    mutating: bool
    params: tuple[DeclaredParam, ...]
    result: Json
    overloaded: bool = False
    differentiable: bool = True

    @property
    def generic(self) -> bool:
        """Whether it, or what it is a member of, is generic."""
        return "<>" in self.pattern

    @property
    def qualified(self) -> str:
        """Its name from outside, without any arguments: ``ns.Material.shade``."""
        return self.pattern.replace("<>", "")


@dataclass(frozen=True, slots=True)
class DeclaredStruct:
    """A struct; ``differential`` holds the fields of its Differential, None if it is not differentiable.

    Of one that ``inherits`` from another struct, only its own fields are known.
    """

    fields: tuple[DeclaredParam, ...]
    differential: tuple[str, ...] | None
    inherits: bool


@dataclass(frozen=True, slots=True)
class Declared:
    """A module: its functions, its top-level names, the functions asked for by name, the structs by full name."""

    functions: tuple[DeclaredFunction, ...]
    names: tuple[str, ...]
    asked: Mapping[str, tuple[DeclaredFunction, ...]]
    structs: Mapping[str, DeclaredStruct]


def read_declared(text: str) -> Declared:
    """Read what Slang reflected."""
    record: Json = json.loads(text)
    return Declared(
        functions=tuple(_function(f) for f in record["functions"]),
        names=tuple(record["names"]),
        asked={item["text"]: tuple(_function(f) for f in item["functions"]) for item in record["asked"]},
        structs={name: _struct(struct) for name, struct in record["structs"].items()},
    )


def _function(record: Json) -> DeclaredFunction:
    return DeclaredFunction(
        name=record["name"],
        path=tuple(part.removesuffix("<>") for part in record.get("path", ())),
        owner=record.get("owner", ""),
        pattern=record.get("pattern") or record["name"],
        static=record["static"],
        mutating=record["mutating"],
        params=tuple(_param(p) for p in record.get("params", ())),
        result=record.get("result", {}),
        overloaded=record.get("overloaded", False),
        differentiable=record.get("differentiable", True),
    )


def _param(record: Json) -> DeclaredParam:
    return DeclaredParam(record["name"], record["type"], record["no_diff"], record["direction"])


def _struct(record: Json) -> DeclaredStruct:
    differential = record["differential"]
    fields = tuple(_param(field) for field in record["fields"])
    return DeclaredStruct(fields, None if differential is None else tuple(differential), record["inherits"])
