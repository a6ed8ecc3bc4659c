"""What gets written: emitted modules and compiled artefacts go in, named files come out; nothing touches the disk yet.

Names never collide: ``<stem>.slang``, ``<stem>.<kernel>.<mode><extension>`` and, beside each artefact, its reflection.
An input's manifest and depfile are ``<stem>.manifest.json`` and ``<stem>.d``; docs/decisions/outputs.md says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.errors.spans import Span
from slangad.compiler.toolchain.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.emit.model import EmittedModule, EntryPoint
    from slangad.compiler.ir.nodes import LeftOut, Module
    from slangad.compiler.toolchain.jobs.request import CompileResult

Kind = Literal["slang", "library", "ir", "artefact", "reflection", "manifest", "depfile"]


@dataclass(frozen=True, slots=True)
class Product:
    """One file of the output folder; ``target`` and ``entry`` are set for artefacts and their reflections."""

    name: str
    data: bytes
    kind: Kind
    target: str = ""
    entry: str = ""


@dataclass(frozen=True, slots=True)
class KernelPlace:
    """A kernel's name, where it stands, and where it first uses a scalar type that some targets lack.

    ``accumulation`` says for each parameter with a gradient how it comes together (``emit.accumulations``).
    """

    name: str
    span: Span
    scalars: Mapping[str, Span] = field(default_factory=dict)
    accumulation: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Description:
    """What the rest of the way needs to know of a description.

    Attributes:
        source: The describing file as it was given.
        sources: Every file it depends on, itself first.
        bound: Constants bound when it was loaded, as name and text.
        kernels: Its kernels.
        emitted: Its Slang; without a span map when ``recalled``.
        recalled: Whether it was remembered from an earlier run.
        targets: What to compile it for where the command line doesn't say.
        name: What the names of its files start with; the emitted file's stem when empty.
        left_out: What was found in it but can't be compiled.
        pipelines: Its pipelines and the kernels they call, by name.
    """

    source: str
    sources: tuple[str, ...]
    bound: tuple[tuple[str, str], ...]
    kernels: tuple[KernelPlace, ...]
    emitted: EmittedModule
    recalled: bool = False
    targets: tuple[str, ...] = ()
    name: str = ""
    left_out: tuple[LeftOut, ...] = ()
    pipelines: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def kernels_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The kernels that names of kernels and pipelines stand for."""
        chains = dict(self.pipelines)
        return tuple(dict.fromkeys(kernel for name in names for kernel in chains.get(name, (name,))))


@dataclass(frozen=True, slots=True)
class Unit:
    """One input after the front end: its description, the entry points that are wanted, its IR unless recalled."""

    input: Input
    description: Description
    entries: tuple[EntryPoint, ...]
    module: Module | None = None

    @property
    def emitted(self) -> EmittedModule:
        """Its Slang."""
        return self.description.emitted

    @property
    def source(self) -> str:
        """The describing file as it was given."""
        return self.description.source

    @property
    def stem(self) -> str:
        """What the names of all its files start with."""
        return self.description.name or Path(self.emitted.file_name).stem

    @property
    def label(self) -> str:
        """What its manifest and depfile are called: the stem, and the kernels if only some are wanted."""
        return ".".join((self.stem, *self.input.kernels))

    @property
    def kernels(self) -> tuple[KernelPlace, ...]:
        """The kernels that are wanted."""
        wanted = self.description.kernels_of(self.input.kernels)
        return tuple(kernel for kernel in self.description.kernels if not wanted or kernel.name in wanted)


def slang_products(unit: Unit) -> list[Product]:
    """The Slang text and the library modules it imports."""
    libraries = [Product(name, text.encode(), "library") for name, text in unit.emitted.libraries.items()]
    return [Product(unit.emitted.file_name, unit.emitted.text.encode(), "slang"), *libraries]


def artefact_products(unit: Unit, result: CompileResult) -> list[Product]:
    """The code of every entry point and target that was produced, each with its reflection."""
    entries = {entry.name: entry for entry in unit.entries}
    products = []
    for artefact in result.artefacts:
        entry = entries[artefact.entry]
        words = (unit.stem, entry.kernel, entry.mode.value, *([entry.part] if entry.part else ()))
        name = f"{'.'.join(words)}{TARGETS[artefact.target].extension}"
        products.append(Product(name, artefact.data, "artefact", artefact.target, artefact.entry))
        reflection = result.reflection_text(artefact.target, artefact.entry)
        if reflection:
            data = reflection.encode()
            products.append(Product(f"{name}.reflection.json", data, "reflection", artefact.target, artefact.entry))
    return products


def check_names(units: Sequence[Unit]) -> None:
    """Refuse units whose files or kernels would be mistaken for one another.

    Raises:
        CompileError: Two inputs have one stem, or two kernels one name, or two files would have one name.
    """
    problems = [*_same_stems(units), *_same_kernels(units)] or [*_same_files(units)]
    if problems:
        raise CompileError(problems)


def _same_stems(units: Sequence[Unit]) -> Iterable[Diagnostic]:
    seen: dict[str, Unit] = {}
    for unit in units:
        first = seen.setdefault(unit.stem.casefold(), unit)
        if first is not unit:
            yield Diagnostic(
                "SA401",
                f"the files of this input would overwrite those of {first.source}",
                _whole_file(unit),
                help="rename one of the two, or compile them in two runs with different output folders",
                notes=(f"both would be written as {first.stem}.slang, {first.stem}.manifest.json, …",),
            )


def _same_kernels(units: Sequence[Unit]) -> Iterable[Diagnostic]:
    """Described kernels of one name; functions of Slang files are called as their authors please."""
    seen: dict[str, KernelPlace] = {}
    described = (unit for unit in units if Path(unit.source).suffix != ".slang")
    for kernel in (kernel for unit in described for kernel in unit.kernels):
        first = seen.setdefault(kernel.name, kernel)
        if first is not kernel:
            yield Diagnostic(
                "SA402",
                f"there are two kernels called {kernel.name}",
                kernel.span,
                help="rename one of the two, or compile them in two runs with different output folders",
                notes=(f"the other one is at {first.span}",),
            )


def _same_files(units: Sequence[Unit]) -> Iterable[Diagnostic]:
    """Two files of one name whose contents differ, such as an input called like a library module."""
    seen: dict[str, tuple[Unit, str]] = {}
    for unit, name, content in (planned for each in units for planned in _planned(each)):
        first, known = seen.setdefault(name.casefold(), (unit, content))
        if known != content:
            yield Diagnostic(
                "SA404",
                f"{name} would be written twice with different contents",
                _whole_file(unit),
                help="rename the input",
                notes=(f"the other one comes from {first.source}",),
            )


def _planned(unit: Unit) -> Iterable[tuple[Unit, str, str]]:
    """Names of the files that aren't named after an entry point, each with what tells it from another of that name."""
    yield unit, unit.emitted.file_name, unit.emitted.text
    for name, text in unit.emitted.libraries.items():
        yield unit, name, text
    for ending in (".manifest.json", ".d"):
        yield unit, unit.label + ending, unit.source


def _whole_file(unit: Unit) -> Span:
    return Span(unit.source, 0, 0, 0, 0)
