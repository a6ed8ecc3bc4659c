"""The manifest: what was compiled, from what, into what. Units and products go in, a deterministic JSON text comes out.

A program that launches the kernels needs nothing else: entry points, their parameters with the bindings per target,
thread-group sizes, file names and hashes. No time stamps; every path is relative to the manifest's folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangad import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.driver.outputs import Product, Unit
    from slangad.compiler.emit.model import EntryParameter, EntryPoint
    from slangad.compiler.ir.nodes import LeftOut

SCHEMA = 1
FILE_NAME = "manifest.json"
_ONE_LINE = 8
"""From this depth on (a parameter of an entry point) a record is one line."""

Record = dict[str, object]


def manifest_text(inputs: Sequence[str], targets: Sequence[str], toolchain: Mapping[str, str]) -> str:
    """The whole manifest of some inputs, whose records are texts already (see ``record_text``)."""
    fields = {
        "schema": SCHEMA,
        "slangad": __version__,
        "toolchain": dict(toolchain),
        "targets": list(targets),
    }
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in fields.items()]
    return "\n".join(("{", *lines, ' "inputs": [', ",\n".join(f"  {text}" for text in inputs), " ]", "}", ""))


def record_text(record: Record) -> str:
    """The record of one input as it stands in a manifest."""
    return _layout(record, 2)


def _layout(value: object, depth: int) -> str:
    """JSON that people can read and that is quick to make: innermost values are one line each."""
    if depth >= _ONE_LINE or not _is_nested(value):
        return json.dumps(value, ensure_ascii=False)
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict):
        items = (f"{json.dumps(name, ensure_ascii=False)}: {_layout(part, depth + 1)}" for name, part in value.items())
        return "{" + inner + f",{inner}".join(items) + outer + "}"
    assert isinstance(value, list)  # noqa: S101  (JSON has no other containers)
    return "[" + inner + f",{inner}".join(_layout(part, depth + 1) for part in value) + outer + "]"


def _is_nested(value: object) -> bool:
    """Whether a value holds lists or dicts."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(part, dict | list) for part in parts)


def input_record(unit: Unit, products: Sequence[Product], sources: Sequence[str], folder: Path) -> Record:
    """All about one input.

    Args:
        unit: The input.
        products: What is written for it.
        sources: All files it depends on, itself among them.
        folder: Where the manifest will lie.
    """
    return {
        "path": relative_path(unit.source, folder),
        "sources": [_source_record(path, folder) for path in sources],
        "constants": [{"name": name, "value": value} for name, value in unit.description.bound],
        "files": [_file_record(product) for product in products if product.kind in {"slang", "library", "ir"}],
        "kernels": [
            {
                "name": kernel.name,
                "accumulation": dict(kernel.accumulation),
                "entry_points": [_entry_record(e, products) for e in unit.entries if e.kernel == kernel.name],
            }
            for kernel in unit.kernels
        ],
        "pipelines": dict(unit.description.pipelines),
        "left_out": [_left_out_record(left) for left in unit.description.left_out],
    }


def _left_out_record(left: LeftOut) -> Record:
    """A function that has no kernel, or lacks some; empty lists stand for all entry points, and all targets."""
    return {
        "function": left.function,
        "reason": left.reason,
        "modes": list(left.modes),
        "targets": list(left.targets),
        "line": left.span.line,
    }


def relative_path(path: str, folder: Path) -> str:
    """A path as seen from a folder, with forward slashes; absolute only where it lies on another drive."""
    try:
        return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))).as_posix()
    except ValueError:
        return Path(path).absolute().as_posix()


def _source_record(path: str, folder: Path) -> Record:
    return {"path": relative_path(path, folder), "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def _file_record(product: Product) -> Record:
    return {"file": product.name, "kind": product.kind, "sha256": hashlib.sha256(product.data).hexdigest()}


def _entry_record(entry: EntryPoint, products: Sequence[Product]) -> Record:
    own = [product for product in products if product.entry == entry.name]
    bindings = {p.target: _bindings(p.data) for p in own if p.kind == "reflection"}
    return {
        "name": entry.name,
        "mode": entry.mode.value,
        "part": entry.part,
        "work": entry.work.value,
        "totals": entry.totals,
        "dims": entry.dims,
        "group_size": list(entry.group_size),
        "parameters": [_parameter_record(parameter, bindings) for parameter in entry.parameters],
        "artefacts": [
            {
                "target": product.target,
                "file": product.name,
                "sha256": hashlib.sha256(product.data).hexdigest(),
                "reflection": f"{product.name}.reflection.json",
            }
            for product in own
            if product.kind == "artefact"
        ],
    }


def _parameter_record(parameter: EntryParameter, bindings: Mapping[str, Mapping[str, object]]) -> Record:
    return {
        "name": parameter.name,
        "role": parameter.role.value,
        "parameter": parameter.parameter,
        "path": list(parameter.path),
        "type": parameter.type,
        "scalar": parameter.scalar.name,
        "shape": list(parameter.shape),
        "access": parameter.access,
        "axes": parameter.axes,
        "shared": parameter.shared,
        "bindings": {target: found[parameter.name] for target, found in bindings.items() if parameter.name in found},
    }


def _bindings(reflection: bytes) -> dict[str, object]:
    """Where each parameter of the one entry point is bound, as Slang's reflection says."""
    program: dict[str, Any] = json.loads(reflection)
    places = [*program.get("parameters", ()), *(p for e in program["entryPoints"] for p in e.get("parameters", ()))]
    return {p["name"]: p.get("binding", p.get("bindings")) for p in places if "binding" in p or "bindings" in p}
