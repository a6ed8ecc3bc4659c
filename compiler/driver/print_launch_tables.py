"""Print the launches of one input as a module of Rust or TypeScript: types, tables, and functions that read them.

The tables are the kernels of the manifest, and the types follow from its JSON Schema. So the manifest,
``NAME.slangad.rs`` and ``NAME.slangad.ts`` say the same. See docs/manifest.md for an example.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.driver.manifest import kernel_records
from slangad.compiler.driver.manifest_schema import manifest_schema
from slangad.compiler.emit.model import GROUPS_A_ROW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from slangad.compiler.driver.model import CompiledInput

    Json = Mapping[str, Any]

_NAMES: Final = {
    "kernels": "Kernel",
    "modes": "Mode",
    "buffers": "Buffer",
    "bound": "Use",
    "launches": "Launch",
    "entry_points": "EntryPoint",
    "parameters": "Parameter",
    "bindings": "Binding",
    "artefacts": "Artefact",
    "blocks": "Block",
    "members": "Member",
}
"""Types of records, by the key that holds them."""
_LEFT_OUT: Final = {
    "Kernel": ("accumulation", "deciding", "products"),
    "EntryPoint": ("part", "totals", "tile"),
    "Parameter": ("type", "axes"),
    "Artefact": ("sha256", "reflection"),
}
"""Keys of records that no launch needs."""
_INDENT: Final = 4
_WIDTH: Final = 120


@dataclass(frozen=True, slots=True)
class Record:
    """A type with fields: name, description and types by key."""

    name: str
    description: str
    fields: Mapping[str, FieldType]


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field.

    Attributes:
        kind: ``text``, ``number``, ``flag``, ``word`` (a number or a text), ``optional`` (a number or nothing), or
            ``record``.
        record: The record.
        axes: ``list`` or ``map`` around it, from the outside.
    """

    kind: str
    record: Record | None = None
    axes: tuple[str, ...] = ()


_BINDING: Final = {
    "kind": FieldType("text"),
    **dict.fromkeys(("index", "offset", "size", "element_stride"), FieldType("number")),
}
"""The fields of a binding; a key that it does not have is 0."""
_CAMEL: Final = {"element_stride": "elementStride"}


def _word_of_rust(value: object, kind: str) -> str:
    """Return a number, a text, or a value that is one of several types, in Rust."""
    match kind:
        case "optional":
            return "None" if value is None else f"Some({value})"
        case "word":
            return f"Word::Number({value})" if isinstance(value, int) else f"Word::Text({_text(value)})"
        case _:
            return _text(value)


@dataclass(frozen=True, slots=True)
class Language:
    """How a language spells types and tables.

    Attributes:
        runtime: The template with the functions that read the tables.
        scalars: The types of values without parts, by kind.
        axes: The types of a list and of a map.
        declaration: The lines before the fields of a record, and its last line.
        field: The declaration of a field.
        literal: Returns a value without parts, given its kind.
        lists: What stands before and after the parts of a list.
        pairs: What stands before and after a key and its value.
        record: What stands before the fields of a value.
        tables: The constants, given the names of the kernels and their list.
    """

    runtime: str
    scalars: Mapping[str, str]
    axes: Mapping[str, str]
    declaration: tuple[str, str]
    field: str
    literal: Callable[[object, str], str]
    lists: tuple[str, str]
    pairs: tuple[str, str]
    record: str
    tables: Callable[[list[str], str], str]


PRINTERS: Final[Mapping[str, Language]] = {
    "rust": Language(  # 2018, from 1.63 on
        runtime="slangad_runtime.rs",
        scalars={
            "text": "&'static str", "number": "u32", "flag": "bool", "word": "Word", "optional": "Option<u32>",
        },
        axes={"list": "&'static [{}]", "map": "&'static [(&'static str, {})]"},
        declaration=("/// {doc}\n#[derive(Clone, Copy, Debug, PartialEq)]\npub struct {name} {{", "}"),
        field="    pub {key}: {type},",
        literal=_word_of_rust,
        lists=("&[", "]"),
        pairs=("(", ")"),
        record="{} {{",
        tables=lambda names, kernels: (
            f"/// The kernels: {', '.join(names)}.\npub static KERNELS: &[Kernel] = {kernels};"
        ),
    ),
    "typescript": Language(  # from 4.8 on
        runtime="slangad_runtime.ts",
        scalars={
            "text": "string", "number": "number", "flag": "boolean", "word": "Word", "optional": "number | null",
        },
        axes={"list": "readonly {}[]", "map": "readonly (readonly [string, {}])[]"},
        declaration=("/** {doc} */\nexport interface {name} {{", "}"),
        field="    readonly {key}: {type};",
        literal=lambda value, _: _text(value),
        lists=("[", "]"),
        pairs=("[", "]"),
        record="{{",
        tables=lambda names, kernels: (
            f"export type KernelName = {' | '.join(map(_text, names)) or 'never'};\n\n"
            f"export const KERNELS: readonly Kernel[] = {kernels};"
        ),
    ),
}  # fmt: skip
"""The languages of the tables, by the word of ``--emit``. They need no dependencies."""


def launch_tables_text(compiled: CompiledInput, language: str) -> str:
    """Return the module of an input.

    Args:
        compiled: The input after the toolchain.
        language: A key of ``PRINTERS``.
    """
    printer = PRINTERS[language]
    kernels = kernels_type()
    runtime = (files("slangad") / "templates" / printer.runtime).read_text(encoding="utf-8")
    records = [_with_bindings(record) for record in kernel_records(compiled.slang, compiled.outputs)]
    names = [str(record["name"]) for record in records]
    head = "// Generated by slangad. Do not edit."
    parts = (
        f"{head}\n// The kernels of {compiled.slang.stem}. docs/manifest.md of slangad has an example.",
        runtime.replace("GROUPS_A_ROW", str(GROUPS_A_ROW)).rstrip(),
        *(_declaration(printer, record) for record in _records(kernels)),
        printer.tables(names, _value(printer, records, kernels, 0)),
    )
    return "\n\n".join(parts) + "\n"


def _declaration(printer: Language, record: Record) -> str:
    head, end = printer.declaration
    fields = (printer.field.format(key=key, type=_spelled(printer, type_)) for key, type_ in record.fields.items())
    return "\n".join((head.format(doc=record.description, name=record.name), *fields, end))


def _spelled(printer: Language, type_: FieldType) -> str:
    spelled = type_.record.name if type_.record else printer.scalars[type_.kind]
    for axis in reversed(type_.axes):
        spelled = printer.axes[axis].format(spelled)
    return spelled


def kernels_type() -> FieldType:
    """Return the type of a list of kernels, from the manifest's schema."""
    schema: Any = manifest_schema()
    return _type("kernels", schema["properties"]["inputs"]["items"]["properties"]["kernels"])


def _type(key: str, schema: Json) -> FieldType:
    match schema:
        case {"type": "array", "items": items}:
            inner = _type(key, items)
            return FieldType(inner.kind, inner.record, ("list", *inner.axes))
        case _ if key == "bindings":
            return FieldType(
                "record", Record(_NAMES[key], "A binding, as Slang's reflection says.", _BINDING), ("map",)
            )
        case {"type": "object", "additionalProperties": values}:
            inner = _type(key, values)
            return FieldType(inner.kind, inner.record, ("map", *inner.axes))
        case {"type": "object", "properties": properties}:
            name = _NAMES[key]
            kept = {key: part for key, part in properties.items() if key not in _LEFT_OUT.get(name, ())}
            return FieldType("record", Record(name, schema["description"], {k: _type(k, p) for k, p in kept.items()}))
        case {"type": [*kinds]}:
            return FieldType("optional" if "null" in kinds else "word")
        case _:
            return FieldType({"integer": "number", "boolean": "flag"}.get(schema.get("type", "string"), "text"))


def _records(type_: FieldType) -> Iterator[Record]:
    """Yield the records of a type, parts first."""
    if type_.record is not None:
        for field in type_.record.fields.values():
            yield from _records(field)
        yield type_.record


def _with_bindings(kernel: Json) -> Json:
    """Return a kernel whose bindings have all keys; a parameter with several bindings in a target has none there."""
    entries = [
        {
            **entry,
            "parameters": [
                {
                    **p,
                    "bindings": {
                        target: {
                            "kind": binding["kind"],
                            **{key: binding.get(_CAMEL.get(key, key), 0) for key in _BINDING if key != "kind"},
                        }
                        for target, binding in p["bindings"].items()
                        if isinstance(binding, dict)
                    },
                }
                for p in entry["parameters"]
            ],
        }
        for entry in kernel["entry_points"]
    ]
    return {**kernel, "entry_points": entries}


def _value(printer: Language, value: Any, type_: FieldType, depth: int) -> str:  # noqa: ANN401  (JSON)
    """Return a value in one line if it fits; else each part in lines of its own."""
    match type_:
        case FieldType(axes=("list", *rest)):
            inner = FieldType(type_.kind, type_.record, tuple(rest))
            parts = [_value(printer, part, inner, depth + 1) for part in value]
            opened, closed, gap = *printer.lists, ""
        case FieldType(axes=("map", *rest)):
            inner = FieldType(type_.kind, type_.record, tuple(rest))
            before, after = printer.pairs
            pairs = ((_text(key), _value(printer, part, inner, depth + 1)) for key, part in value.items())
            parts = [f"{before}{key}, {part}{after}" for key, part in pairs]
            opened, closed, gap = *printer.lists, ""
        case FieldType(record=Record(name, _, fields)):
            parts = [f"{key}: {_value(printer, value[key], field, depth + 1)}" for key, field in fields.items()]
            opened, closed, gap = printer.record.format(name), "}", " "
        case _:
            return printer.literal(value, type_.kind)
    room = _WIDTH - _INDENT * (depth + 1) - len(opened)
    if sum(len(part) + 2 for part in parts) <= room and not any("\n" in part for part in parts):
        return f"{opened}{gap}{', '.join(parts)}{gap}{closed}"
    margin = " " * _INDENT * (depth + 1)
    return "\n".join([opened, *(f"{margin}{part}," for part in parts), " " * _INDENT * depth + closed])


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
