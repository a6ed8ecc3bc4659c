"""Descriptions that have not changed since they were emitted: an input goes in, its Slang comes out without running it.

Only pure descriptions are remembered: those whose Python files import nothing but slangad, a few standard modules and
each other, and call nothing that looks outside. All that such a description can depend on is its files,
so their hashes say whether the memory holds. Others are run anew each time; docs/decisions/recall.md has more.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slangad import __version__
from slangad.compiler.driver.outputs import Description, KernelPlace
from slangad.compiler.emit.model import EmittedModule, EntryParameter, EntryPoint, Mode, ParameterRole, Work
from slangad.compiler.errors.spans import Span
from slangad.compiler.ir.types import Scalar

if TYPE_CHECKING:
    from slangad.compiler.toolchain.cache import Cache

PURE_MODULES: Final = frozenset({"slangad", "math", "__future__", "typing", "dataclasses", "enum"})
IMPURE_NAMES: Final = frozenset(
    {"open", "exec", "eval", "compile", "input", "print", "breakpoint", "globals", "locals", "vars", "getattr", "id"}
)


def recall(memory: Cache, path: Path, *, deterministic: bool) -> Description | None:
    """What is remembered of a description, if all it depends on is as it was."""
    stored = memory.get(_key(path, deterministic=deterministic))
    if stored is None:
        return None
    record: dict[str, Any] = json.loads(stored)
    if any(_digest(Path(source)) != digest for source, digest in record["sources"]):
        return None
    if any(Path(place).exists() for place in record["absent"]):
        return None
    return _description(record)


def remember(memory: Cache, path: Path, description: Description, *, deterministic: bool) -> None:
    """Keep a description for the next time, if it is pure."""
    scan = _Scan(path, description.sources)
    if scan.is_pure():
        memory.put(_key(path, deterministic=deterministic), json.dumps(_record(description, scan.absent())).encode())


def _key(path: Path, *, deterministic: bool) -> str:
    """All that matters besides the description's files: how it is emitted, seen from where, slangad and Python."""
    how = "deterministic" if deterministic else ""
    parts = ("description", how, str(path), str(Path.cwd()), __version__, sys.version, _own_code())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _own_code() -> str:
    """Tells one state of slangad's own files from another, so that working on slangad itself needs no care."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for folder in (root, root.parent / "templates"):
        for place, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if name.endswith((".py", ".slang")):
                    status = os.stat(os.path.join(place, name))  # noqa: PTH116, PTH118  (hundreds of them)
                    digest.update(f"{name}|{status.st_size}|{status.st_mtime_ns};".encode())
    return digest.hexdigest()


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@dataclass
class _Scan:
    """The Python files of a description, read for what they import and call."""

    path: Path
    sources: tuple[str, ...]
    imported: set[str] = field(default_factory=set)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where its imports look first: its folder, and the parent of the package that is in."""
        folder = root = self.path.absolute().parent
        while (root / "__init__.py").exists():
            root = root.parent
        return tuple(dict.fromkeys((root, folder)))

    def is_pure(self) -> bool:
        """Whether nothing but its files can change what it describes."""
        files = [Path(source).absolute() for source in self.sources if source.endswith(".py")]
        own = {file.stem if file.name != "__init__.py" else file.parent.name for file in files}
        inside = all(any(file.is_relative_to(folder) for folder in self.folders) for file in files)
        return inside and all(self._is_pure(node, own) for file in files for node in ast.walk(_tree(file)))

    def absent(self) -> list[str]:
        """Files that would be imported in place of what is, and must not appear."""
        names = sorted(self.imported)
        places = (folder / part for folder in self.folders for name in names for part in (f"{name}.py", name))
        return [str(place) for place in places if not place.exists()]

    def _is_pure(self, node: ast.AST, own: set[str]) -> bool:
        match node:
            case ast.Import(names=names):
                return all(self._is_known(alias.name, own) for alias in names)
            case ast.ImportFrom(module=module, level=0):
                return self._is_known(module or "", own)
            case ast.ImportFrom(module=module, names=names):
                self.imported |= {(module or alias.name).partition(".")[0] for alias in names}
                return True
            case ast.Name(id=name):
                return name not in IMPURE_NAMES and not name.startswith("__")
            case ast.Attribute(attr=name):
                return not name.startswith("__")
            case _:
                return True

    def _is_known(self, module: str, own: set[str]) -> bool:
        top = module.partition(".")[0]
        self.imported.add(top)
        return top in own or module in PURE_MODULES


def _tree(file: Path) -> ast.AST:
    return ast.parse(file.read_bytes())


def _record(description: Description, absent: list[str]) -> dict[str, object]:
    emitted = description.emitted
    return {
        "sources": [(source, _digest(Path(source))) for source in description.sources],
        "absent": absent,
        "source": description.source,
        "bound": description.bound,
        "targets": description.targets,
        "pipelines": description.pipelines,
        "kernels": [
            (
                kernel.name,
                _place(kernel.span),
                {name: _place(span) for name, span in kernel.scalars.items()},
                dict(kernel.accumulation),
            )
            for kernel in description.kernels
        ],
        "file_name": emitted.file_name,
        "text": emitted.text,
        "libraries": dict(emitted.libraries),
        "names": dict(emitted.names),
        "entry_points": [_entry_record(entry) for entry in emitted.entry_points],
    }


def _place(span: Span) -> list[object]:
    return [span.file, span.line, span.column, span.end_line, span.end_column]


def _entry_record(entry: EntryPoint) -> list[object]:
    parameters = [
        (p.name, p.role.value, p.parameter, p.path, p.scalar.name, p.shape, p.type, p.access, p.axes, p.shared)
        for p in entry.parameters
    ]
    launched = (entry.work.value, entry.totals, entry.part)
    return [entry.name, entry.kernel, entry.mode.value, entry.group_size, entry.dims, parameters, launched]


def _description(record: dict[str, Any]) -> Description:
    emitted = EmittedModule(
        file_name=record["file_name"],
        text=record["text"],
        libraries=record["libraries"],
        entry_points=tuple(_entry(*fields) for fields in record["entry_points"]),
        names=record["names"],
        mapped=(),
    )
    return Description(
        source=record["source"],
        sources=tuple(source for source, _ in record["sources"]),
        bound=tuple((name, value) for name, value in record["bound"]),
        kernels=tuple(
            KernelPlace(name, Span(*place), {scalar: Span(*at) for scalar, at in scalars.items()}, accumulation)
            for name, place, scalars, accumulation in record["kernels"]
        ),
        emitted=emitted,
        recalled=True,
        targets=tuple(record["targets"]),
        pipelines=tuple((name, tuple(kernels)) for name, kernels in record["pipelines"]),
    )


def _entry(
    name: str,
    kernel: str,
    mode: str,
    group_size: list[int],
    dims: int,
    parameters: list[list[Any]],
    launched: tuple[str, int, str],
) -> EntryPoint:
    x, y, z = group_size
    work, totals, part = launched
    taken = tuple(_parameter(*fields) for fields in parameters)
    return EntryPoint(name, kernel, Mode(mode), (x, y, z), dims, taken, Work(work), totals, part)


def _parameter(
    name: str,
    role: str,
    parameter: str,
    path: list[str | int],
    scalar: str,
    shape: list[int],
    *rest: Any,  # noqa: ANN401  (of a JSON document)
) -> EntryParameter:
    type_, access, axes, shared = rest
    return EntryParameter(
        name, ParameterRole(role), parameter, tuple(path), Scalar(scalar), tuple(shape), type_, access, axes, shared
    )
