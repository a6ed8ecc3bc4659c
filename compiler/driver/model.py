"""Frozen data of a compile: the options, and one input after each stage."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from slangad.compiler.toolchain.jobs.request import DEFAULT_TIME_LIMIT, CompileResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.emit.model import EmittedModule, EntryPoint
    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import LeftOut, LoopChoice, Module
    from slangad.compiler.slang_text.search import FoundFolder
    from slangad.compiler.toolchain.cache import Cache

OutputKind = Literal["slang", "library", "ir", "artefact", "reflection", "header", "source", "manifest", "depfile"]
Emit = Literal["slang", "functions", "lines", "ir", "artefacts", "header", "library", "rust", "typescript"]
NAMESPACE: Final = "slangad"
"""The C++ namespace of all kernels."""
CPP: Final = "cpp"
"""The target whose artefacts are linked into one program."""
LANGUAGES: Final = {"rust": ".rs", "typescript": ".ts"}
"""Languages of launch tables, and the endings of their files."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a compile. The command line decides what is written and where.

    Attributes:
        targets: Names from ``ir.targets``. Without any, only Slang is emitted.
        modes: The modes of entry points to compile: ``forward``, ``backward``, ``jvp``, ``hvp``.
        specialize: Generic functions of Slang files to compile, with their arguments: ``f<float, 4>``.
        dump: Called with the name of each pass and the module after it.
        keep_ir: Keep the IR in the result.
        keep_spans: Keep the span map of the Slang, and the IR, in the result.
        deterministic: Make gradients bitwise repeatable, at the cost of memory and time.
        slang_flags: Further arguments of Slang, given last.
        pack_buffers: Put the read-only buffers of WGSL that have one element type into one: in every entry point, in
            none, or (None) in those that bind more than every device takes.
        own_targets: Prefer the targets that a description names to ``targets``.
    """

    targets: tuple[str, ...] = ("spirv",)
    modes: tuple[str, ...] = ("forward", "backward", "jvp")
    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    specialize: tuple[str, ...] = ()
    optimization: int = 1
    slangc: Path | None = None
    slang_flags: tuple[str, ...] = ()
    workers: int = 2
    time_limit: float = DEFAULT_TIME_LIMIT
    cache: Cache | None = None
    dump: Callable[[str, Module], None] | None = None
    keep_ir: bool = False
    keep_spans: bool = False
    own_targets: bool = False
    deterministic: bool = False
    pack_buffers: bool | None = None

    @property
    def second_order(self) -> bool:
        """Return True if products with Hessians are wanted."""
        return "hvp" in self.modes

    @property
    def of_passes(self) -> dict[str, bool]:
        """Return the options of the passes."""
        return {"deterministic": self.deterministic, "second_order": self.second_order}


@dataclass(frozen=True, slots=True)
class Destination:
    """The files to write, and their folder.

    Attributes:
        folder: The output folder. It is created if it does not exist.
        emit: The kinds of files to write for each input.
        depfile: A depfile for all inputs, besides the one of each input.
        depfile_targets: The targets that depfiles name. Without any, every file that is written.
        namespace: The C++ namespace of kernels in headers and libraries.
    """

    folder: Path
    emit: frozenset[Emit] = frozenset({"slang", "artefacts"})
    depfile: Path | None = None
    depfile_targets: tuple[str, ...] = ()
    namespace: str = NAMESPACE

    @property
    def has_headers(self) -> bool:
        """Return True if C++ headers or libraries are written."""
        return not self.emit.isdisjoint(("header", "library"))

    def is_in_cpp(self, options: Options) -> bool:
        """Return True if a C++ program may have all kernels, so that their names must differ."""
        return self.has_headers or options.own_targets or CPP in options.targets


@dataclass(frozen=True, slots=True)
class KernelSummary:
    """The facts about a kernel that the driver needs.

    Attributes:
        name: Its name.
        span: The location of its description.
        scalars: The first use of each type or function group that some target lacks (``driver.unsupported``).
        accumulation: The way the gradient of each parameter is summed (``emit.entry_points.accumulations``).
        deciding: For some of them, the expression that decided it.
        product_of: The kernel with whose Hessian its gradients are products.
        unordered: The memory of its groups whose gradient is added up in any order (``driver.unordered_sums``).
        block: The extents of the block of the domain that a group computes together; () if threads compute alone.
        unshared: The loops of ``sa.group_range`` that a group does not run together: why, and the location.
    """

    name: str
    span: Span
    scalars: Mapping[str, Span] = field(default_factory=dict)
    accumulation: Mapping[str, str] = field(default_factory=dict)
    deciding: Mapping[str, str] = field(default_factory=dict)
    product_of: str = ""
    unordered: Mapping[str, Span] = field(default_factory=dict)
    block: tuple[int, ...] = ()
    unshared: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """A description after the emitter.

    Attributes:
        source: The describing file, as the user named it.
        sources: Every file it depends on, itself first.
        bound: Constants bound when it was loaded, as name and text.
        kernels: Its kernels.
        emitted: Its Slang. There is no span map if ``cached``.
        cached: It comes from the cache of descriptions.
        targets: Targets that the description names itself.
        name: First part of the names of its files. If empty, the emitted file's stem.
        left_out: Functions that cannot be compiled.
        pipelines: Its pipelines, each with the names of its kernels.
        loops: How reverse mode gets the states of its loops, each with the names of the kernels that run it.
    """

    source: str
    sources: tuple[str, ...]
    bound: tuple[tuple[str, str], ...]
    kernels: tuple[KernelSummary, ...]
    emitted: EmittedModule
    cached: bool = False
    targets: tuple[str, ...] = ()
    name: str = ""
    left_out: tuple[LeftOut, ...] = ()
    pipelines: tuple[tuple[str, tuple[str, ...]], ...] = ()
    loops: tuple[tuple[LoopChoice, tuple[str, ...]], ...] = ()

    def kernels_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the kernels of names of kernels and pipelines."""
        pipelines = dict(self.pipelines)
        return tuple(dict.fromkeys(kernel for name in names for kernel in pipelines.get(name, (name,))))


@dataclass(frozen=True, slots=True)
class EmittedInput:
    """One input after the emitter.

    Attributes:
        input: The input.
        description: Its description.
        entries: The entry points to compile.
        asked: The targets to compile for, also those that lack something it uses.
        module: Its IR. None if the description comes from the cache.
        without: Pairs of target and entry point that are known to fail.
        found_folders: The folders of imports that no option names.
        defined: The names of the user's macros.
    """

    input: Input
    description: Description
    entries: tuple[EntryPoint, ...]
    asked: tuple[str, ...] = ()
    module: Module | None = None
    without: frozenset[tuple[str, str]] = frozenset()
    found_folders: tuple[FoundFolder, ...] = ()
    defined: tuple[str, ...] = ()

    @property
    def emitted(self) -> EmittedModule:
        """Its Slang."""
        return self.description.emitted

    @property
    def source(self) -> str:
        """The describing file, as the user named it."""
        return self.description.source

    @property
    def stem(self) -> str:
        """The first part of the names of all its files."""
        return self.description.name or Path(self.emitted.file_name).stem

    @property
    def label(self) -> str:
        """The name of its manifest and depfile: the stem, and the kernels if the user named some."""
        return ".".join((self.stem, *self.input.kernels))

    @property
    def kernels(self) -> tuple[KernelSummary, ...]:
        """The kernels to compile."""
        wanted = self.description.kernels_of(self.input.kernels)
        return tuple(kernel for kernel in self.description.kernels if not wanted or kernel.name in wanted)

    @property
    def loops(self) -> tuple[tuple[LoopChoice, tuple[str, ...]], ...]:
        """The loops that the kernels to compile run, each with these kernels; all loops if the user named no kernel."""
        wanted = {kernel.name for kernel in self.kernels}
        described = {k.name: k.product_of or k.name for k in self.description.kernels}
        runs = ((loop, dict.fromkeys(described[name] for name in names)) for loop, names in self.description.loops)
        chosen = ((loop, tuple(name for name in names if name in wanted)) for loop, names in runs)
        return tuple((loop, names) for loop, names in chosen if names or not self.input.kernels)


@dataclass(frozen=True, slots=True)
class Output:
    """One file of the output folder. ``target`` and ``entry`` are set for artefacts and their reflections."""

    name: str
    data: bytes
    kind: OutputKind
    target: str = ""
    entry: str = ""


@dataclass(frozen=True, slots=True)
class CompiledInput:
    """One input after the toolchain.

    Attributes:
        slang: The input after the emitter.
        outputs: The files to write.
        sources: The files it depends on.
        errors: The errors for which it was rejected.
        warnings: Warnings and notes.
        failures: Targets whose tool this machine lacks, and failures of Slang itself.
        cached: The code comes from the cache.
        targets: The targets that it was compiled for.
        refusals: Targets that lack a type or function that it uses.
    """

    slang: EmittedInput
    outputs: tuple[Output, ...]
    sources: tuple[str, ...]
    errors: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    failures: tuple[Diagnostic, ...] = ()
    cached: bool = False
    targets: tuple[str, ...] = ()
    refusals: tuple[Diagnostic, ...] = ()


CompileSteps = Generator[EmittedInput, tuple[EmittedInput, CompileResult], CompiledInput]
"""The compile of one input: it yields its Slang, is sent the Slang that was compiled with its code, and returns."""


def finish(steps: CompileSteps, slang: EmittedInput, code: CompileResult) -> CompiledInput:
    """Send Slang and code to a compile that waits for them, and return its result."""
    try:
        steps.send((slang, code))
    except StopIteration as stop:
        return cast("CompiledInput", stop.value)
    raise AssertionError("a compile yields once")
