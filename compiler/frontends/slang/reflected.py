"""Read the declarations of a Slang file, as Slang reflected them in JSON, into typed records."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeclaredParam:
    """A parameter or field. ``type`` is as reflected; ``layout`` converts it to one of the IR."""

    name: str
    type: Json
    no_diff: bool
    direction: str

    @property
    def type_name(self) -> str:
        """The name of its type, as texts usually have it: ``float3``. Empty for arrays."""
        match self.type["kind"]:
            case "vector":
                return f"{self.type['scalar']}{self.type['count']}"
            case "matrix":
                return f"{self.type['scalar']}{self.type['rows']}x{self.type['columns']}"
            case "scalar":
                return str(self.type["scalar"])
            case _:
                return str(self.type.get("name", ""))

    def with_enums(self, cases: Mapping[str, Sequence[str]]) -> DeclaredParam:
        """Return the parameter with enums; see ``ReflectedModule``."""
        return replace(self, type=_with_enums(self.type, cases))


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A differentiable function. A generic one has neither parameters nor a result yet.

    Attributes:
        owner: The full name of its struct, if it is a member.
        pattern: Its qualified name with ``<>`` in place of arguments.
        overloaded: True if it has overloads.
        differentiable: True if it is marked as differentiable itself, not only by a function that is its derivative.
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

    def with_enums(self, cases: Mapping[str, Sequence[str]]) -> DeclaredFunction:
        """Return the function with enums; see ``ReflectedModule``."""
        params = tuple(param.with_enums(cases) for param in self.params)
        return replace(self, params=params, result=_with_enums(self.result, cases))

    @property
    def generic(self) -> bool:
        """True if it or its struct is generic."""
        return "<>" in self.pattern

    @property
    def qualified(self) -> str:
        """Its qualified name without arguments: ``ns.Material.shade``."""
        return self.pattern.replace("<>", "")


@dataclass(frozen=True, slots=True)
class DeclaredStruct:
    """A struct. ``differential`` has the fields of its Differential, or is None if it is not differentiable.

    If it ``inherits`` from another struct, ``fields`` lacks the inherited ones. It is ``empty`` if the files declare it
    without fields; builtin types have no fields either.
    """

    fields: tuple[DeclaredParam, ...]
    differential: tuple[str, ...] | None
    inherits: bool
    empty: bool = False


@dataclass(frozen=True, slots=True)
class ReflectedModule:
    """A module: its functions, its top-level names, the functions asked for by name, its structs by full name.

    ``extensions`` has the differentiable methods of extensions that are not generic, without the extended type.
    """

    functions: tuple[DeclaredFunction, ...]
    names: tuple[str, ...]
    asked: Mapping[str, tuple[DeclaredFunction, ...]]
    structs: Mapping[str, DeclaredStruct]
    extensions: tuple[DeclaredFunction, ...] = ()

    def with_enums(self, cases: Mapping[str, Sequence[str]]) -> ReflectedModule:
        """Return the module with the kind ``enum`` for the types of some names, and their cases."""
        return replace(
            self,
            functions=tuple(one.with_enums(cases) for one in self.functions),
            asked={
                text: tuple(one.with_enums(cases) for one in asked_functions)
                for text, asked_functions in self.asked.items()
            },
            structs={
                name: replace(one, fields=tuple(field.with_enums(cases) for field in one.fields))
                for name, one in self.structs.items()
            },
            extensions=tuple(one.with_enums(cases) for one in self.extensions),
        )


def _with_enums(type_: Json, cases: Mapping[str, Sequence[str]]) -> Json:
    if type_.get("kind") == "array":
        return {**type_, "element": _with_enums(type_["element"], cases)}
    is_enum = type_.get("kind") == "other" and cases.get(type_["name"])
    return {**type_, "kind": "enum", "cases": tuple(cases[type_["name"]])} if is_enum else type_


def read_declared(text: str) -> ReflectedModule:
    """Read the JSON text of a reflection."""
    record: Json = json.loads(text)
    return ReflectedModule(
        functions=tuple(_function(f) for f in record["functions"]),
        names=tuple(record["names"]),
        asked={item["text"]: tuple(_function(f) for f in item["functions"]) for item in record["asked"]},
        structs={name: _struct(struct) for name, struct in record["structs"].items()},
        extensions=tuple(_function(f) for f in record["extensions"]),
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
