"""Decide from manifests which inputs are up to date. No cache is read, and no description is loaded.

The line ``build`` of an input's manifest has hashes of the files that the input depends on, and of all files that were
written for it. A key stands for everything else: slangad, Slang, options. An output that is not newer than its manifest
is compared by its size, a newer one by its hash. Inputs without such a line are compiled: those that read the outside
world (see ``description_cache``), and those that failed for a target.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangad import __version__
from slangad.compiler.driver.depfile import CONTINUED, depfile_text, escaped
from slangad.compiler.driver.manifest_text import record_text
from slangad.compiler.errors.diagnostics import Diagnostic, Severity
from slangad.compiler.errors.spans import Span
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.toolchain.identity import fingerprint, own_code
from slangad.compiler.toolchain.locate import find_library, find_slangc, toolchain_record
from slangad.compiler.toolchain.tools import tool_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.model import CompiledInput, Destination, Options, Output

    Record = dict[str, object]

_RECORDS = '\n "inputs": [\n  '
_END = "\n ]\n}\n"


@dataclass(frozen=True, slots=True)
class CurrentInput:
    """An input whose outputs are up to date.

    Attributes:
        input: The input.
        record: Its record, as it stands in its manifest.
        targets: The targets that it was compiled for.
        sources: The files that it depends on, as depfiles name them.
        files: The names of its files, the manifest and the depfile at the end.
        hashes: The hash of each output by its name.
        kernels: The names of its kernels.
        artefacts: The number of its artefacts.
        notes: The warnings and notes of its compile.
    """

    input: Input
    record: str
    targets: tuple[str, ...]
    sources: tuple[str, ...]
    files: tuple[str, ...]
    hashes: Mapping[str, str]
    kernels: tuple[str, ...]
    artefacts: int
    notes: tuple[Diagnostic, ...]


def build_record(
    one: CompiledInput, record: Record, outputs: Sequence[Output], options: Options, to: Destination
) -> Record | None:
    """Return the line ``build`` of an input's manifest; None if the manifest cannot say that it is up to date."""
    absent = _absent_files(one)
    if one.failures or one.refusals or absent is None:
        return None
    from slangad.compiler.driver.manifest import relative_path

    sources = record["sources"]
    assert isinstance(sources, list)  # noqa: S101  (``input_record`` makes it)
    item, facts = one.slang.input, _facts(options, to)
    place = {path: relative_path(path, to.folder) for path in one.sources}
    return {
        "record": hashlib.sha256(record_text(record).encode()).hexdigest(),
        "key": _key(facts, item, _tools(one.targets), _searched(item, one.sources, options)),
        "sources": {source["path"]: source["sha256"] for source in sources},
        "absent": sorted(relative_path(path, to.folder) for path in absent),
        "outputs": {o.name: [len(o.data), hashlib.sha256(o.data).hexdigest()] for o in outputs},
        "kernels": [kernel.name for kernel in one.slang.kernels],
        "artefacts": sum(output.kind == "artefact" for output in one.outputs),
        "notes": [_note_record(note, place) for note in one.warnings],
    }


def current_inputs(inputs: Sequence[Input], options: Options, to: Destination) -> dict[Input, CurrentInput]:
    """Return the inputs whose outputs are up to date; none if a name would clash."""
    if options.dump or options.keep_ir or options.specialize or not to.folder.is_dir():
        return {}
    reader = _Reader(options, to)
    found = {item: current for item in inputs if (current := reader.read(item)) is not None}
    return {} if has_clash((), tuple(found.values()), in_cpp=to.is_in_cpp(options)) else found


def has_clash(compiled: Iterable[CompiledInput], current: Iterable[CurrentInput], *, in_cpp: bool) -> bool:
    """Return True if two inputs have a file of one name, or a kernel ``in_cpp``. Equal library modules do not count."""
    kernels: dict[tuple[str, str], Input] = {}
    files: dict[str, str] = {}
    fresh = [(one.slang.input, [k.name for k in one.slang.kernels], _hashes(one)) for one in compiled]
    for item, names, hashes in (*fresh, *((one.input, one.kernels, one.hashes) for one in current)):
        word = _word_in_cpp(item) if in_cpp else ""
        if word and any(kernels.setdefault((word, name), item) is not item for name in names):
            return True
        if any(files.setdefault(name.casefold(), digest) != digest for name, digest in hashes.items()):
            return True
    return False


def _word_in_cpp(item: Input) -> str:
    """Return the name of an input in C++; empty for Slang files, whose functions may share names."""
    from slangad.compiler.driver.cpp_names import input_word

    return "" if is_slang(item.path) else input_word(item.path.stem)


def _hashes(one: CompiledInput) -> dict[str, str]:
    return {output.name: hashlib.sha256(output.data).hexdigest() for output in one.outputs}


class _Reader:
    """Read manifests in a folder."""

    def __init__(self, options: Options, to: Destination) -> None:
        self._options = options
        self._to = to
        self._facts = _facts(options, to)
        self._folder = os.path.realpath(to.folder)
        self._prefix = str(to.folder / "_")[:-1]  # a Path for each of thousands takes as long as all the rest
        self._here = os.path.realpath(os.curdir)
        self._digests: dict[str, str] = {}
        self._states: dict[str, tuple[int, int]] = {}
        self._tools: dict[tuple[str, ...], list[str]] = {}
        self._relative: dict[str, str] = {}

    def read(self, item: Input) -> CurrentInput | None:
        """Return an input if it is up to date."""
        for stem in (item.path.stem, f"{item.path.stem}_kernels"):
            label = ".".join((stem, *item.kernels))
            try:
                with open(f"{self._folder}/{label}.manifest.json", encoding="utf-8") as file:  # noqa: PTH123  (thousands)
                    status = os.fstat(file.fileno())
                    head, found, record = file.read().partition(_RECORDS)
                fields = json.loads(head.rstrip(",") + "}") if found else {}
            except (OSError, ValueError):
                continue
            return self._current(item, label, fields, record.removesuffix(_END), status.st_mtime_ns)
        return None

    def _current(self, item: Input, label: str, head: dict[str, Any], record: str, written: int) -> CurrentInput | None:
        build = head.get("build")
        if not build or build.get("record") != hashlib.sha256(record.encode()).hexdigest():
            return None
        paths = {name: os.path.normpath(os.path.join(self._folder, name)) for name in build["sources"]}  # noqa: PTH118
        if not _is_same_file(str(item.path), next(iter(paths.values()))):
            return None
        targets = tuple(head["targets"])
        if targets not in self._tools:
            self._tools[targets] = _tools(targets)
        searched = _searched(item, paths.values(), self._options)
        if build["key"] != _key(self._facts, item, self._tools[targets], searched):
            return None
        if any(self._digest(paths[name]) != digest for name, digest in build["sources"].items()):
            return None
        if any(os.path.lexists(os.path.join(self._folder, name)) for name in build["absent"]):  # noqa: PTH118
            return None
        if not self._are_unchanged(build["outputs"], written):
            return None
        files = (*build["outputs"], f"{label}.manifest.json")
        sources = self._depfile_sources(item, label, files, tuple(paths.values()))
        if sources is None:
            return None
        names = dict(zip(build["sources"], sources, strict=True))
        return CurrentInput(
            input=item,
            record=record,
            targets=targets,
            sources=sources,
            files=(*files, f"{label}.d"),
            hashes={name: digest for name, (_, digest) in build["outputs"].items()},
            kernels=tuple(build["kernels"]),
            artefacts=build["artefacts"],
            notes=tuple(_note(fields, names) for fields in build["notes"]),
        )

    def _are_unchanged(self, outputs: Mapping[str, tuple[int, str]], written: int) -> bool:
        """Return True if outputs are what a manifest says, which was written at that time. There are many."""
        prefix, states = f"{self._folder}/", self._states
        for name, (size, digest) in outputs.items():
            state = states.get(name)
            if state is None:
                state = states[name] = _state(prefix + name)
            if state[0] != size or (state[1] > written and self._digest(prefix + name) != digest):
                return False
        return True

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            try:
                with open(path, "rb") as file:  # noqa: PTH123  (thousands)
                    self._digests[path] = hashlib.sha256(file.read()).hexdigest()
            except OSError:
                self._digests[path] = ""
        return self._digests[path]

    def _depfile_sources(
        self, item: Input, label: str, files: Sequence[str], paths: Sequence[str]
    ) -> tuple[str, ...] | None:
        """Return the sources as the depfile names them; None if a run in this folder would write another depfile."""
        targets = self._to.depfile_targets or [f"{self._prefix}{name}" for name in files]
        try:
            with open(f"{self._folder}/{label}.d", encoding="utf-8", newline="") as file:  # noqa: PTH123  (thousands)
                text = file.read()
        except (OSError, ValueError):
            return None
        lines = text.split("\n")[1:]
        if len(lines) != len(paths) + 1:
            return None
        names = [[path, self._from_here(path)] for path in paths]
        names[0].insert(0, str(item.path))
        ends = [*[CONTINUED] * (len(paths) - 1), ""]
        chosen = [
            next((name for name in known if f"  {escaped(name)}{end}" == line), "")
            for known, line, end in zip(names, lines, ends, strict=False)
        ]
        return tuple(chosen) if all(chosen) and depfile_text(targets, chosen) == text else None

    def _from_here(self, path: str) -> str:
        if path not in self._relative:
            self._relative[path] = os.path.relpath(path, self._here)
        return self._relative[path]


def _is_same_file(one: str, other: str) -> bool:
    return os.path.abspath(one) == other or os.path.realpath(one) == os.path.realpath(other)  # noqa: PTH100  (thousands)


def _state(path: str) -> tuple[int, int]:
    """Return the size and the time of a file; no file has the size -1."""
    try:
        status = os.stat(path)  # noqa: PTH116  (tens of thousands)
    except OSError:
        return -1, 0
    return status.st_size, status.st_mtime_ns


def _facts(options: Options, to: Destination) -> str:
    """Return what outputs depend on besides the files of the input: equal in every folder and on every machine."""
    compilers = [find_library(), *([find_slangc(options.slangc)] if options.slangc else [])]
    facts = [
        __version__,
        own_code(),
        [fingerprint(compiler) for compiler in compilers],
        toolchain_record(options.slangc),
        [options.targets, options.modes, options.defines, options.specialize],
        [options.optimization, options.slang_flags, options.own_targets, options.deterministic, options.pack_buffers],
        [sorted(to.emit), to.namespace],
    ]
    return json.dumps(facts)


def _tools(targets: Iterable[str]) -> list[str]:
    """Return hashes of the programs that targets need besides Slang."""
    return [fingerprint(path) for name in targets if (tool := tool_of(TARGETS[name])) and (path := tool.find())]


def _key(facts: str, item: Input, tools: Sequence[str], searched: Sequence[Sequence[str]]) -> str:
    text = json.dumps([facts, item.kernels, tools, searched])
    return hashlib.sha256(text.encode()).hexdigest()


def _searched(item: Input, sources: Iterable[str], options: Options) -> list[list[str]]:
    """Return the folders of options, and the files that imports of Slang find: a new file may take a name."""
    slang = [path for path in sources if is_slang(path)]
    if not slang and not options.include_dirs:
        return [[]]
    from slangad.compiler.slang_text.search import search

    searches = [search(Path(path), options.include_dirs) for path in slang]
    folder = os.path.dirname(os.path.realpath(item.path))  # noqa: PTH120
    found = [[os.path.realpath(path) for path in options.include_dirs], *(one.files for one in searches)]
    missing = [list(one.missing) for one in searches]
    return [*([os.path.relpath(path, folder) for path in paths] for paths in found), *missing]


def _absent_files(one: CompiledInput) -> list[str] | None:
    """Return the files that would change the result if they appeared; None if more than files can change it."""
    item = one.slang.input
    if is_slang(item.path):
        return []
    from slangad.compiler.driver.description_cache import PurityScan

    scan = PurityScan(item.path, one.slang.description.sources)
    return scan.absent() if scan.is_pure() else None


def _note_record(note: Diagnostic, places: Mapping[str, str]) -> Record:
    record = asdict(note)
    record["span"] = [places.get(note.span.file, note.span.file), *astuple(note.span)[1:]]
    return record


def _note(fields: Mapping[str, Any], names: Mapping[str, str]) -> Diagnostic:
    file, *rest = fields["span"]
    own = {"span": Span(names.get(file, file), *rest), "severity": Severity(fields["severity"])}
    return Diagnostic(**{**fields, **own, "notes": tuple(fields["notes"])})
