"""Compute entry points that a Slang file contains: find them, reflect them, compile them as they are.

``slangad compile f.slang`` compiles them beside the kernels of the file, ``f.slang:main`` compiles one alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import slangad
from slangad.compiler.driver.emitted import job_of, select_entries
from slangad.compiler.driver.model import CompiledInput, Description, KernelSummary, finish
from slangad.compiler.driver.outputs import outputs_of
from slangad.compiler.driver.slang_compilers import user_names
from slangad.compiler.emit.model import GENERATED, EmittedModule, EntryPoint, Mode
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, Severity, ToolchainError
from slangad.compiler.ir.nodes import LeftOut
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of
from slangad.compiler.slang_text.search import folders_of
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.messages.messages import to_diagnostics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.model import CompileSteps, EmittedInput, Options
    from slangad.compiler.driver.slang_compilers import SlangCompilers
    from slangad.compiler.errors.spans import Span

    Json = Mapping[str, Any]

_NO_KERNEL: Final = frozenset({"SA080", "SA081"})
"""Codes of files in which nothing can be a kernel."""
_SPIRV: Final = "spirv"
_MAIN: Final = "main"
"""Slang renames an entry point of this name for C++."""


@dataclass(frozen=True, slots=True)
class UserEntry:
    """An entry point of a user's file.

    Attributes:
        name: Its name in the file.
        symbol: Its name in the text that is compiled.
        text: That text: it includes the file.
        shared: Slang's reflection of the parameters of the module.
        entry_parameters: Slang's reflection of its own parameters.
        group: The size of its groups.
        dependencies: The files that it depends on.
    """

    name: str
    symbol: str
    text: str
    shared: tuple[Json, ...]
    entry_parameters: tuple[Json, ...]
    group: tuple[int, int, int]
    dependencies: tuple[str, ...]

    @property
    def parameters(self) -> tuple[Json, ...]:
        """All parameters."""
        return (*self.shared, *self.entry_parameters)

    @property
    def point(self) -> EntryPoint:
        """The entry point as devices and outputs have it."""
        return EntryPoint(self.symbol, self.name, Mode.FORWARD, self.group, 3, (), written=True)


def user_entries(file: Path) -> tuple[str, ...]:
    """Return the names of the compute entry points of a Slang file."""
    if not is_slang(file):
        return ()
    return tuple(one.name for one in source_of(str(file)).scan.headers if "numthreads" in one.attributes)


def reflect_entry(
    file: Path,
    name: str,
    options: Options,
    compilers: SlangCompilers,
    *,
    target: str = _SPIRV,
    renamed: bool = False,
) -> UserEntry:
    """Reflect an entry point.

    Args:
        file: Its file.
        name: Its name.
        options: Folders of imports, macros, arguments of Slang.
        compilers: The compilers.
        target: The target that it is reflected for.
        renamed: True to give it another name where Slang would.

    Raises:
        CompileError: Slang rejects it.
        ToolchainError: Slang crashed, or can't be run.
    """
    symbol = f"slangad_{name}" if renamed and name == _MAIN else name
    rename = f"#define {name} {symbol}\n" if symbol != name else ""
    text = f'{rename}#include "{file.name}"\n'
    job = CompileJob(
        f"{file.stem}_entries.slang",
        text,
        (symbol,),
        (target,),
        include_dirs=folders_of(file, options.include_dirs),
        defines=options.defines,
        whole=True,
        extra_arguments=options.slang_flags,
        time_limit=options.time_limit,
    )
    (result,) = compilers.compile([job])
    translated = user_names(to_diagnostics(result.messages, lambda *_: None), (str(file),))
    errors = [one for one in translated if one.severity is Severity.ERROR]
    if errors:
        raise CompileError(errors)
    if result.diagnostics:
        raise ToolchainError(result.diagnostics)
    reflection = json.loads(result.reflection[0][2])
    (entry,) = (one for one in reflection["entryPoints"] if one["name"] == symbol)
    shared, entry_block = (tuple(p for p in one.get("parameters", ()) if "binding" in p) for one in (reflection, entry))
    x, y, z = entry["threadGroupSize"]
    return UserEntry(name, symbol, text, shared, entry_block, (x, y, z), result.dependencies)


def with_user_entries(steps: CompileSteps, item: Input, options: Options, compilers: SlangCompilers) -> CompileSteps:
    """Run a compile, and compile the entry points of the file: those that are named, or all beside its kernels."""
    entries = user_entries(item.path)
    if not entries:
        return (yield from steps)
    if item.kernels and set(item.kernels) <= set(entries):
        return (yield from _compile(item, item.kernels, options, compilers))
    try:
        slang = next(steps)
    except CompileError as error:
        if item.kernels or error.diagnostics[0].code not in _NO_KERNEL:
            raise
        return (yield from _compile(item, entries, options, compilers))
    slang, code = yield slang
    compiled = finish(steps, slang, code)
    if item.kernels or not options.targets or set(options.modes) != {mode.value for mode in Mode}:
        return compiled
    for name in entries:
        compiled = _with(compiled, _alone(item, name, options, compilers))
    return compiled


def _alone(item: Input, name: str, options: Options, compilers: SlangCompilers) -> CompiledInput | LeftOut:
    """Compile one entry point beside the kernels of its file. Slang may refuse it for some or all targets."""
    span = _heads(item)[name]
    try:
        slang = _emitted(item, [name], options, compilers)
    except (CompileError, ToolchainError) as error:
        return LeftOut(name, error.diagnostics[0].message, span=span)
    (code,) = compilers.compile([job_of(slang, options)])
    targets = tuple(one.target for one in code.artefacts)
    missing = tuple(target for target in slang.asked if target not in targets)
    text = [one.message for one in outputs_of(slang, code).errors] + [one.message for one in code.diagnostics]
    reason = text[0] if text else "Slang gives no code for it"
    if not targets:
        return LeftOut(name, reason, span=span)
    left = (LeftOut(name, reason, (), missing, span),) if missing else ()
    slang = replace(slang, description=replace(slang.description, left_out=left))
    return outputs_of(slang, replace(code, messages=(), diagnostics=()))


def _with(compiled: CompiledInput, other: CompiledInput | LeftOut) -> CompiledInput:
    """Return the outputs of a file with those of one of its entry points, or with a note on it."""
    slang = compiled.slang
    if isinstance(other, LeftOut):
        note = Diagnostic("SA084", f"{other.function} is left out: {other.reason}", other.span, severity=Severity.NOTE)
        left = replace(slang.description, left_out=(*slang.description.left_out, other))
        return replace(compiled, slang=replace(slang, description=left), warnings=(*compiled.warnings, note))
    emitted = other.slang
    description = replace(
        slang.description,
        kernels=(*slang.description.kernels, *emitted.description.kernels),
        left_out=(*slang.description.left_out, *emitted.description.left_out),
    )
    return replace(
        compiled,
        slang=replace(slang, description=description, entries=(*slang.entries, *emitted.entries)),
        outputs=(*compiled.outputs, *(one for one in other.outputs if one.kind in ("artefact", "reflection"))),
        warnings=(*compiled.warnings, *other.warnings),
    )


def _compile(item: Input, names: Iterable[str], options: Options, compilers: SlangCompilers) -> CompileSteps:
    """Compile entry points as they are.

    Raises:
        CompileError: Derivatives alone are asked for, or Slang rejects an entry point.
    """
    if Mode.FORWARD.value not in options.modes:
        reason = f"has no {' or '.join(options.modes)} mode: it is compiled as it is"
        help_ = "name a differentiable function in place of it"
        heads = _heads(item)
        raise CompileError([Diagnostic("SA417", f"{name} {reason}", heads[name], help=help_) for name in names])
    slang, code = yield _emitted(item, names, options, compilers)
    return outputs_of(slang, code)


def _heads(item: Input) -> dict[str, Span]:
    """Return where the entry points of a file are declared."""
    return {h.name: h.span for h in source_of(str(item.path)).scan.headers if "numthreads" in h.attributes}


def _emitted(item: Input, names: Iterable[str], options: Options, compilers: SlangCompilers) -> EmittedInput:
    """Return entry points of a file as an input after the emitter."""
    entries = [reflect_entry(item.path, name, options, compilers) for name in names]
    heads = _heads(item)
    head = f"{GENERATED}{slangad.__version__} from {item.path.name}.\n"
    description = Description(
        source=str(item.path),
        sources=tuple(dict.fromkeys((str(item.path), *(path for one in entries for path in one.dependencies)))),
        bound=(),
        kernels=tuple(KernelSummary(one.name, heads[one.name]) for one in entries),
        emitted=EmittedModule(
            f"{item.path.stem}_entries.slang", head + entries[0].text, {}, tuple(one.point for one in entries), {}, ()
        ),
        name=item.path.stem,
    )
    return select_entries(item, description, None, options)
