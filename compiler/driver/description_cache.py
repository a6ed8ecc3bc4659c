"""Reuse the Slang of a description that has not changed, without loading it.

Only pure descriptions are cached: their Python files import nothing but slangad, a few standard modules and each other,
and call nothing that reads the outside world. Such a description depends on its files alone, and the cache compares
their hashes. Other descriptions are loaded in every run; see docs/decisions/description-cache.md.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slangad import __version__
from slangad.compiler.driver.emitted import select_entries
from slangad.compiler.driver.model import Description, KernelSummary
from slangad.compiler.driver.outputs import outputs_of
from slangad.compiler.emit.model import EmittedModule, EntryParameter, EntryPoint, Mode, ParameterRole, ThreadWork
from slangad.compiler.errors.spans import Span
from slangad.compiler.ir.nodes import LoopChoice
from slangad.compiler.ir.types import Scalar
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.toolchain.identity import own_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.model import CompileSteps, Options
    from slangad.compiler.driver.slang_compilers import SlangCompilers
    from slangad.compiler.toolchain.cache import Cache

    Compile = Callable[[Input, Options, SlangCompilers], CompileSteps]

PURE_MODULES: Final = frozenset({"slangad", "math", "__future__", "typing", "dataclasses", "enum"})
IMPURE_NAMES: Final = frozenset(
    {"open", "exec", "eval", "compile", "input", "print", "breakpoint", "globals", "locals", "vars", "getattr", "id"}
)


def with_cache(compile_description: Compile, item: Input, options: Options, compilers: SlangCompilers) -> CompileSteps:
    """Run a compile, with the emitted Slang from the cache if it holds. Keep the Slang of a pure description."""
    fresh = options.dump or options.keep_ir or options.keep_spans or item.live or is_slang(item.path)
    memory = None if fresh else options.cache
    if memory is None:
        return (yield from compile_description(item, options, compilers))
    description = _stored(memory, item.path, options)
    if description is None:
        slang = next(compile_description(item, options, compilers))
        _store(memory, item.path, slang.description, options)
    else:
        slang = select_entries(item, description, None, options)
    slang, code = yield slang
    if code.messages and slang.description.cached:  # their locations need the span map
        slang = replace(slang, description=next(compile_description(item, options, compilers)).description)
    return outputs_of(slang, code)


def _stored(memory: Cache, path: Path, options: Options) -> Description | None:
    """Return the cached description, if every file it depends on is unchanged."""
    stored = memory.get(_key(path, options))
    if stored is None:
        return None
    record: dict[str, Any] = json.loads(stored)
    if any(_digest(Path(source)) != digest for source, digest in record["sources"]):
        return None
    if any(Path(place).exists() for place in record["absent"]):
        return None
    return _description(record)


def _store(memory: Cache, path: Path, description: Description, options: Options) -> None:
    """Keep a description if it is pure."""
    scan = PurityScan(path, description.sources)
    if scan.is_pure():
        memory.put(_key(path, options), json.dumps(_record(description, scan.absent())).encode())


def _key(path: Path, options: Options) -> str:
    """Return the cache key: everything besides the description's files, such as options, folder and versions."""
    how = f"{'deterministic' * options.deterministic} {'hvp' * options.second_order}"
    parts = ("description", how, str(path), str(Path.cwd()), __version__, sys.version, own_code())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@dataclass
class PurityScan:
    """Find what the Python files of a description import and call."""

    path: Path
    sources: tuple[str, ...]
    imported: set[str] = field(default_factory=set)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that its imports search first: its own, and the parent of its package."""
        folder = root = self.path.absolute().parent
        while (root / "__init__.py").exists():
            root = root.parent
        return tuple(dict.fromkeys((root, folder)))

    def is_pure(self) -> bool:
        """Return True if only its files can change what it describes."""
        files = [Path(source).absolute() for source in self.sources if source.endswith(".py")]
        modules = {file.stem if file.name != "__init__.py" else file.parent.name for file in files}
        inside = all(any(file.is_relative_to(folder) for folder in self.folders) for file in files)
        return inside and all(self._is_pure(node, modules) for file in files for node in ast.walk(_tree(file)))

    def absent(self) -> list[str]:
        """Return files that do not exist and would shadow an import if they appeared."""
        names = sorted(self.imported)
        places = (folder / part for folder in self.folders for name in names for part in (f"{name}.py", name))
        return [str(place) for place in places if not place.exists()]

    def _is_pure(self, node: ast.AST, modules: set[str]) -> bool:
        match node:
            case ast.Import(names=names):
                return all(self._is_known(alias.name, modules) for alias in names)
            case ast.ImportFrom(module=module, level=0):
                return self._is_known(module or "", modules)
            case ast.ImportFrom(module=module, names=names):
                self.imported |= {(module or alias.name).partition(".")[0] for alias in names}
                return True
            case ast.Name(id=name):
                return name not in IMPURE_NAMES and not name.startswith("__")
            case ast.Attribute(attr=name):
                return not name.startswith("__")
            case _:
                return True

    def _is_known(self, module: str, modules: set[str]) -> bool:
        top = module.partition(".")[0]
        self.imported.add(top)
        return top in modules or module in PURE_MODULES


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
                _places(kernel.scalars),
                dict(kernel.accumulation),
                dict(kernel.deciding),
                kernel.product_of,
                _places(kernel.unordered),
                kernel.block,
                [(reason, _place(span)) for reason, span in kernel.unshared],
            )
            for kernel in description.kernels
        ],
        "loops": [
            (c.function, c.way, c.kept, c.every, c.reason, c.limit, _place(c.span), kernels)
            for c, kernels in description.loops
        ],
        "file_name": emitted.file_name,
        "text": emitted.text,
        "libraries": dict(emitted.libraries),
        "names": dict(emitted.names),
        "entry_points": [_entry_record(entry) for entry in emitted.entry_points],
    }


def _place(span: Span) -> list[object]:
    return [span.file, span.line, span.column, span.end_line, span.end_column]


def _places(spans: Mapping[str, Span]) -> dict[str, list[object]]:
    return {name: _place(span) for name, span in spans.items()}


def _spans(places: Mapping[str, list[Any]]) -> dict[str, Span]:
    return {name: Span(*place) for name, place in places.items()}


def _parameter_record(p: EntryParameter) -> tuple[object, ...]:
    return (
        p.name, p.role.value, p.parameter, p.path, p.scalar.name, p.shape, p.type, p.access, p.axes, p.shared,
        p.together, p.copied,
    )  # fmt: skip


def _entry_record(entry: EntryPoint) -> list[object]:
    parameters, last = (list(map(_parameter_record, some)) for some in (entry.parameters, entry.last))
    launched = (entry.work.value, entry.totals, entry.part, entry.function, entry.file_part, entry.products)
    head = (entry.name, entry.kernel, entry.mode.value, entry.group_size, entry.dims)
    return [*head, [parameters, last], launched, entry.tile]


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
            KernelSummary(
                name,
                Span(*place),
                _spans(scalars),
                summed,
                deciding,
                product_of,
                _spans(unordered),
                tuple(block),
                tuple((reason, Span(*at)) for reason, at in unshared),
            )
            for name, place, scalars, summed, deciding, product_of, unordered, block, unshared in record["kernels"]
        ),
        emitted=emitted,
        cached=True,
        targets=tuple(record["targets"]),
        pipelines=tuple((name, tuple(kernels)) for name, kernels in record["pipelines"]),
        loops=tuple(
            (LoopChoice(name, way, kept, every, reason, limit, Span(*place)), tuple(kernels))
            for name, way, kept, every, reason, limit, place, kernels in record["loops"]
        ),
    )


def _entry(
    name: str,
    kernel: str,
    mode: str,
    group_size: list[int],
    dims: int,
    parameters: list[list[list[Any]]],
    launched: tuple[str, int, str, str, str, int],
    tile: list[int],
) -> EntryPoint:
    x, y, z = group_size
    work, totals, part, function, file_part, products = launched
    taken, last = (tuple(_parameter(*fields) for fields in some) for some in parameters)
    found = EntryPoint(name, kernel, Mode(mode), (x, y, z), dims, taken, ThreadWork(work), totals, part)
    return replace(found, tile=tuple(tile), function=function, file_part=file_part, products=products, last=last)


def _parameter(
    name: str,
    role: str,
    parameter: str,
    path: list[str | int],
    scalar: str,
    shape: list[int],
    *rest: Any,  # noqa: ANN401  (of a JSON document)
) -> EntryParameter:
    type_, *others = rest
    return EntryParameter(
        name, ParameterRole(role), parameter, tuple(path), Scalar(scalar), tuple(shape), type_, *others
    )
