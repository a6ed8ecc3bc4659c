"""The manifest: inputs, entry points, bindings, artefacts and hashes, as deterministic JSON.

A program that launches the kernels needs nothing else: buffers and launches of each mode, entry points, their
parameters with the bindings per target, thread-group sizes, file names and hashes. docs/manifest.md describes every
key, and ``manifest_schema`` has the JSON Schema. No time stamps; every path is relative to the manifest's folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangad.compiler.driver.blocks import blocks_of
from slangad.compiler.driver.header_model import key_of
from slangad.compiler.driver.limits import limits_of
from slangad.compiler.driver.manifest_text import REFLECTION
from slangad.compiler.driver.requirements import requirements_of
from slangad.compiler.emit.entry_points.accumulations import products
from slangad.compiler.emit.launch_plan import plan_mode, tensors_of
from slangad.compiler.emit.model import Mode
from slangad.compiler.ir.targets import TARGETS, macros_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.driver.manifest_text import Record
    from slangad.compiler.driver.model import EmittedInput, KernelSummary, Output
    from slangad.compiler.emit.launch_plan import Count, ModePlan
    from slangad.compiler.emit.model import EntryParameter, EntryPoint
    from slangad.compiler.ir.nodes import LeftOut, LoopChoice

_FILES = ("slang", "library", "ir", "header", "source")
"""Kinds of files that belong to an input rather than to an entry point."""


def input_record(slang: EmittedInput, outputs: Sequence[Output], sources: Sequence[str], folder: Path) -> Record:
    """Return the record of one input.

    Args:
        slang: The input after the emitter.
        outputs: The files that are written for it.
        sources: All files that it depends on, itself included.
        folder: The manifest's folder.
    """
    return {
        "path": relative_path(slang.source, folder),
        "sources": [_source_record(path, folder) for path in sources],
        "constants": [{"name": name, "value": value} for name, value in slang.description.bound],
        "files": [_file_record(output) for output in outputs if output.kind in _FILES],
        "kernels": kernel_records(slang, outputs),
        "pipelines": dict(slang.description.pipelines),
        "loops": [_loop_record(choice, kernels) for choice, kernels in slang.loops],
        "left_out": [_left_out_record(left) for left in slang.description.left_out],
    }


def kernel_records(slang: EmittedInput, outputs: Sequence[Output]) -> list[Record]:
    """Return the records of the kernels of one input."""
    return [
        {
            "name": kernel.name,
            "accumulation": dict(kernel.accumulation),
            "deciding": dict(kernel.deciding),
            "products": _products(kernel, slang, outputs),
            **_plan_record([e for e in slang.entries if e.kernel == kernel.name]),
            "entry_points": [_entry_record(e, outputs) for e in slang.entries if e.kernel == kernel.name],
        }
        for kernel in slang.kernels
    ]


def _products(kernel: KernelSummary, slang: EmittedInput, outputs: Sequence[Output]) -> Record:
    """Return by target the form of products of matrices, and why; that of those in half if there are any."""
    ways = {*kernel.accumulation.values()}
    if not ways & {"matrix", "half_matrix"}:
        return {}
    targets = dict.fromkeys(output.target for output in outputs if output.target in TARGETS)
    in_half = "half_matrix" in ways
    return {target: products(macros_for(target, slang.defined), in_half=in_half) for target in targets}


def _left_out_record(left: LeftOut) -> Record:
    """Return a function that has no kernel, or lacks some; empty lists mean all entry points, and all targets."""
    return {
        "function": left.function,
        "reason": left.reason,
        "modes": list(left.modes),
        "targets": list(left.targets),
        "line": left.span.line,
    }


def _loop_record(choice: LoopChoice, kernels: tuple[str, ...]) -> Record:
    """Return how reverse mode gets the states of a loop that some kernels run; ``kept`` are bytes of each thread."""
    return {
        "function": choice.function,
        "line": choice.span.line,
        "way": choice.way,
        "kept": choice.kept,
        "every": choice.every,
        "limit": choice.limit,
        "reason": choice.reason,
        "kernels": list(kernels),
    }


def relative_path(path: str, folder: Path) -> str:
    """Return a path as seen from a folder, with forward slashes; absolute only where it lies on another drive."""
    try:
        real = os.path.realpath(path)
        # A build system may lay links to the sources into a folder of its own: the path there is equal everywhere.
        named = real if os.path.isabs(path) else os.path.normpath(os.path.join(os.path.realpath(os.curdir), path))  # noqa: PTH117,PTH118
        kept = named if os.path.realpath(named) == real else real  # ".." after a link
        return Path(os.path.relpath(kept, os.path.realpath(folder))).as_posix()
    except ValueError:
        return Path(path).absolute().as_posix()


def _source_record(path: str, folder: Path) -> Record:
    return {"path": relative_path(path, folder), "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def _file_record(output: Output) -> Record:
    return {"file": output.name, "kind": output.kind, "sha256": hashlib.sha256(output.data).hexdigest()}


def _plan_record(entries: Sequence[EntryPoint]) -> Record:
    """Return the tensors of a kernel, and the buffers and launches of each of its modes."""
    modes = [mode for mode in Mode if any(entry.mode is mode and not entry.written for entry in entries)]
    return {"tensors": tensors_of(entries), "modes": [_mode_record(plan_mode(mode, entries)) for mode in modes]}


def _mode_record(plan: ModePlan) -> Record:
    return {
        "mode": plan.mode.value,
        "buffers": [
            {
                "key": key_of(buffer.parameter),
                "role": buffer.parameter.role.value,
                "scalar": buffer.scalar,
                "components": buffer.parameter.components,
                "scalars": _count_record(buffer.count),
                "start": buffer.start.value,
                "bound": [{"entry_point": entry, "parameter": parameter} for entry, parameter in buffer.bound],
            }
            for buffer in plan.buffers
        ],
        "launches": [
            {"entry_point": launch.entry.name, "grid": launch.grid.value, "count": _count_record(launch.count)}
            for launch in plan.launches
        ],
    }


def _count_record(count: Count) -> list[object]:
    """Return a product as a list: ``[3, "domain", "copies:w"]``."""
    return [count.times, *(f"{factor.value}:{name}" if name else factor.value for factor, name in count.factors)]


def _entry_record(entry: EntryPoint, outputs: Sequence[Output]) -> Record:
    outputs_of_entry = [output for output in outputs if output.entry == entry.symbol]
    reflected: dict[str, Any] = {p.target: json.loads(p.data) for p in outputs_of_entry if p.kind == "reflection"}
    bindings = {target: _bindings(program) for target, program in reflected.items()}
    return {
        "name": entry.name,
        "function": entry.symbol,
        "mode": entry.mode.value,
        "part": entry.part,
        "work": entry.work.value,
        "totals": entry.totals,
        "dims": entry.dims,
        "group_size": list(entry.group_size),
        "tile": list(entry.tile),
        "parameters": [_parameter_record(parameter, bindings) for parameter in entry.parameters],
        "artefacts": [
            {
                "target": output.target,
                "file": output.name,
                "sha256": hashlib.sha256(output.data).hexdigest(),
                "reflection": f"{output.name}{REFLECTION}",
                **_needs(output, blocks := blocks_of(output.target, reflected.get(output.target, {}))),
                "blocks": blocks,
            }
            for output in outputs_of_entry
            if output.kind == "artefact"
        ],
    }


def _needs(artefact: Output, blocks: Sequence[Record]) -> Record:
    requirements = requirements_of(artefact)
    return {
        "entry": requirements.entry,
        "features": list(requirements.features),
        "storage_buffers": requirements.storage_buffers,
        "limits": limits_of(artefact, blocks),
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
        "bindings": {
            target: by_name[parameter.name] for target, by_name in bindings.items() if parameter.name in by_name
        },
    }


def _bindings(program: Mapping[str, Any]) -> dict[str, object]:
    """Return the binding of each parameter of the one entry point, from Slang's reflection."""
    places = [*program.get("parameters", ()), *(p for e in program["entryPoints"] for p in e.get("parameters", ()))]
    return {p["name"]: p.get("binding", p.get("bindings")) for p in places if "binding" in p or "bindings" in p}
