"""Write the outputs of a compile to disk: all of them or none. Manifests and depfiles are made here."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.driver.depfile import depfile_text
from slangad.compiler.driver.manifest_text import FILE_NAME, manifest_text, record_text
from slangad.compiler.driver.model import LANGUAGES, NAMESPACE, Output
from slangad.compiler.driver.up_to_date import CurrentInput, build_record
from slangad.compiler.driver.write_files import write_files
from slangad.compiler.emit.model import GENERATED
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.toolchain.locate import toolchain_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.driver.model import CompiledInput, Destination, Emit, Options


@dataclass(frozen=True, slots=True)
class Written:
    """The paths of all outputs, in order, and the manifest's records of the inputs as JSON texts."""

    files: tuple[str, ...]
    inputs: tuple[str, ...]


def wanted_outputs(compiled: CompiledInput, emit: frozenset[Emit], namespace: str = NAMESPACE) -> list[Output]:
    """Return the outputs of an input that are asked for; cpp artefacts export symbols that no other input has."""
    from slangad.compiler.driver.cpp_names import with_exported_symbols

    exported = with_exported_symbols(compiled, namespace)
    of_slang = ("slang", "library")
    kinds = {"slang": of_slang, "lines": of_slang, "functions": ("library",), "artefacts": ("artefact", "reflection")}
    wanted = {kind for name in emit for kind in kinds.get(name, ())}
    outputs = [output for output in exported.outputs if output.kind in wanted]
    if "lines" in emit:
        from slangad.compiler.driver.line_directives import with_line_directives

        text = with_line_directives(compiled.slang.emitted).encode()
        outputs = [replace(output, data=text) if output.kind == "slang" else output for output in outputs]
    if "functions" in emit and compiled.slang.module is not None:
        from slangad.compiler.emit.functions_alone import emit_functions

        alone = emit_functions(compiled.slang.module, f"{compiled.slang.stem}_functions.slang")
        kept = {output.name for output in outputs if output.kind != "library"} | alone.libraries.keys()
        outputs = [output for output in outputs if output.name in kept or emit & {"slang", "lines"}]
        outputs.append(Output(alone.file_name, alone.text.encode(), "slang"))
    if "ir" in emit and compiled.slang.module is not None:
        from slangad.compiler.ir.text_form.printer import show

        outputs.append(Output(f"{compiled.slang.stem}.ir.txt", show(compiled.slang.module).encode(), "ir"))
    if emit & {"header", "library"}:
        from slangad.compiler.driver.print_header import header_text

        header = header_text(compiled, namespace, library="library" in emit)
        outputs.append(Output(f"{compiled.slang.label}.slangad.hpp", header.encode(), "header"))
    for language in sorted(emit & LANGUAGES.keys()):
        from slangad.compiler.driver.print_launch_tables import launch_tables_text

        name = f"{compiled.slang.label}.slangad{LANGUAGES[language]}"
        outputs.append(Output(name, launch_tables_text(exported, language).encode(), "header"))
    if "library" in emit:
        from slangad.compiler.driver.cpp_library import library_text

        outputs.append(Output(f"{compiled.slang.label}.slangad.cpp", library_text(compiled, namespace), "source"))
    return outputs


def write_outputs(results: Sequence[CompiledInput | CurrentInput], options: Options, to: Destination) -> Written:
    """Write the files of all inputs that were compiled, and the manifest of all inputs.

    Raises:
        CompileError: A file would overwrite a source.
        ToolchainError: They cannot be written. Every file on disk is unchanged.
    """
    toolchain = toolchain_record(options.slangc)
    files: dict[Path, bytes] = {}
    paths: list[str] = []
    prefix = str(to.folder / "_")[:-1]
    texts: list[str] = []
    for one in results:
        if isinstance(one, CurrentInput):
            texts.append(one.record)
            paths += (f"{prefix}{name}" for name in one.files)
            continue
        from slangad.compiler.driver.manifest import input_record

        outputs = wanted_outputs(one, to.emit, to.namespace)
        record = input_record(one.slang, outputs, one.sources, to.folder)
        build = build_record(one, record, outputs, options, to)
        manifest = to.folder / f"{one.slang.label}.manifest.json"
        contents = {to.folder / output.name: output.data for output in outputs}
        texts.append(record_text(record))
        contents[manifest] = manifest_text(texts[-1:], one.targets, toolchain, build).encode()
        depfile = to.folder / f"{one.slang.label}.d"
        files |= {**contents, depfile: _depfile(to, list(contents), one.sources)}
        paths += map(str, (*contents, depfile))
    if to.depfile:
        sources = list(dict.fromkeys(path for one in results for path in one.sources))
        files[to.depfile] = _depfile(to, list(dict.fromkeys(paths)), sources)
        paths.append(str(to.depfile))
    targets = tuple(dict.fromkeys(target for one in results for target in one.targets))
    files[to.folder / FILE_NAME] = manifest_text(texts, targets, toolchain).encode()
    _spare_sources([one for one in results if not isinstance(one, CurrentInput)], files)
    write_files(files)
    return Written(tuple(dict.fromkeys((*paths, f"{prefix}{FILE_NAME}"))), tuple(texts))


def _spare_sources(compiled: Sequence[CompiledInput], files: Iterable[Path]) -> None:
    """Refuse to overwrite sources, and Slang that people wrote."""
    sources = {os.path.realpath(path) for one in compiled for path in one.sources}
    slang = {output.name for one in compiled for output in one.outputs if output.kind == "slang"}
    hit = [f"{path} is a source" for path in files if os.path.realpath(path) in sources]
    hit = hit or [f"{path} was not made by slangad" for path in files if path.name in slang and _is_foreign(path)]
    if hit:
        help_ = "choose another output folder with -o, or rename the source"
        raise CompileError([Diagnostic("SA406", f"{what} and would be overwritten", help=help_) for what in hit])


def _is_foreign(path: Path) -> bool:
    """Return True if the file exists and the emitter did not write it."""
    try:
        with path.open("rb") as file:
            return not GENERATED.encode().startswith(file.read(len(GENERATED)))
    except OSError:
        return False


def _depfile(to: Destination, written: Iterable[Path | str], sources: Sequence[str]) -> bytes:
    """Return Makefile rules, with paths as a build tool in this folder writes them."""
    targets = to.depfile_targets or [str(path) for path in written]
    return depfile_text(targets, [_from_here(path) for path in sources]).encode()


def _from_here(path: str) -> str:
    """Return a path relative to the working directory if it lies below and is absolute."""
    if not Path(path).is_absolute():
        return path
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(Path.cwd()))
    return path if relative.startswith(os.pardir) else relative
