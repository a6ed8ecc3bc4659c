"""The Slang compilers of one run: one compiles, one reflects what files declare. Each starts when it is first needed.

They are the same unless ``--slangc`` names an executable: only the library can reflect.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, Severity, ToolchainError
from slangad.compiler.errors.spans import Span
from slangad.compiler.slang_text.copies import SourceTexts, places_of, with_copies
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.search import folders_of, search
from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult
from slangad.compiler.toolchain.locate import slangpy_modules
from slangad.compiler.toolchain.messages.messages import to_diagnostics
from slangad.compiler.toolchain.session import Toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slangad.compiler.driver.model import Options
    from slangad.compiler.frontends.slang.model import ReflectedFile, SlangSetting

    _Copies = Mapping[str, tuple[str, str]]

_REFLECTED = "spirv"
"""The target that declarations are read for. They are the same for all targets."""
_SLANGPY = "slangpy.slang"


class SlangCompilers:
    """Compile and reflect with the same options, in the same workers. Threads take turns.

    Attributes:
        options: The options.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self._started: dict[bool, Toolchain] = {}
        self._last: dict[CompileJob, CompileResult] = {}
        self._turn = Lock()

    def __enter__(self) -> SlangCompilers:
        return self

    def __exit__(self, *_: object) -> None:
        for toolchain in self._started.values():
            toolchain.close()

    def compile(
        self, jobs: Sequence[CompileJob], progress: Callable[[int, int], None] | None = None
    ) -> list[CompileResult]:
        """Compile jobs.

        Raises:
            ToolchainError: There is no compiler.
        """
        with self._turn:
            return self._toolchain(external=self.options.slangc is not None).compile(jobs, progress)

    @property
    def seconds(self) -> float:
        """The processor time of all compiles so far, in seconds. Other load on the machine hardly changes it."""
        return sum(toolchain.seconds for toolchain in self._started.values())

    @property
    def workers(self) -> int:
        """The number of compiles that run at a time."""
        return self.options.workers

    @property
    def slang_setting(self) -> SlangSetting:
        """The settings with which the Slang front end loads a file."""
        from slangad.compiler.frontends.slang.model import SlangSetting

        options = self.options
        folders, defines = options.include_dirs, options.defines
        clock = partial(getattr, self, "seconds")
        return SlangSetting(self.reflect, options.specialize, include_dirs=folders, defines=defines, clock=clock)

    def reflect(
        self,
        file: Path,
        asked: tuple[str, ...],
        text: str | None = None,
        others: Mapping[str, str] = MappingProxyType({}),
    ) -> ReflectedFile:
        """Return the declarations of a Slang file; see ``frontends.slang.model.Reflector``.

        Args:
            file: The file.
            asked: Functions to look up by name.
            text: The text to read in its place.
            others: Texts to read in place of other files, by their real paths.
        """
        from slangad.compiler.frontends.slang.model import ReflectedFile

        copies = self._copies(file, text, others)
        result = self._reflect(file, asked, copies)
        if result.diagnostics and asked and not self._reflect(file, (), copies).diagnostics:
            named = ", ".join(f"'{text}'" for text in asked)
            help_ = "check the number, order and kind of the arguments"
            raise CompileError([Diagnostic("SA083", f"Slang crashed when it made {named}", _at(file), help=help_)])
        if result.diagnostics:
            messages = [_named(file, d.message) for d in result.diagnostics]
            raise ToolchainError(
                [replace(d, message=m, span=_at(file)) for d, m in zip(result.diagnostics, messages, strict=True)]
            )
        reported = user_names(to_diagnostics(result.messages, lambda *_: None), (str(file),))
        if copies:
            reported = [replace(d, span=_renamed(d.span, copies)) for d in reported]
        errors = [_inside(file, d) for d in reported if d.severity is Severity.ERROR]
        if errors:
            raise CompileError(errors)
        dependencies = (*result.dependencies, *(path for path, _ in copies.values() if path != str(file)))
        return ReflectedFile(result.reflection_text(_REFLECTED) or "", dependencies, tuple(reported))

    def _copies(self, file: Path, text: str | None, others: Mapping[str, str]) -> _Copies:
        """Return the files that Slang reads from copies, and their texts, by the places of the copies."""
        if not others:
            return {} if text is None else {file.name: (str(file), text)}
        folders = folders_of(file, self.options.include_dirs)
        main_text = text if text is not None else text_of(str(file))
        library = tuple(os.path.realpath(folder) for folder in slangpy_modules())
        reached = search(file, self.options.include_dirs).files
        if not any(one.startswith(library) for one in (os.path.realpath(file), *others)):
            reached = tuple(one for one in reached if not one.startswith(library))
        texts = SourceTexts(
            "", {str(file): main_text} | {one: others.get(one) or text_of(one) for one in reached}, folders
        )
        placed = places_of(texts)
        _, copies = with_copies("", texts)
        return {place: (placed[place], copy) for place, copy in copies.items()}

    def _reflect(self, file: Path, asked: tuple[str, ...], copies: _Copies) -> CompileResult:
        options = self.options
        place = file.name if copies else file.resolve().as_posix()
        job = CompileJob(
            name=_staged_name(file),
            source=f'#include "{place}"\n',
            entry_points=(),
            targets=(_REFLECTED,),
            modules=tuple((place, text) for place, (_, text) in copies.items()),
            include_dirs=folders_of(file, options.include_dirs),
            defines=options.defines,
            whole=True,
            declarations=asked,
            extra_arguments=("-ignore-capabilities", *options.slang_flags),
            installed=self._installed(file, copies),
            time_limit=options.time_limit,
        )
        with self._turn:
            if job not in self._last:  # the front end asks several times for one file
                self._last = {job: self._toolchain(external=False).compile([job])[0]}
            return self._last[job]

    def _installed(self, file: Path, copies: _Copies) -> tuple[str, ...]:
        """Return the main file of slangpy's modules if a file imports it, and no other file has its name."""
        names = {os.path.realpath(Path(folder) / _SLANGPY) for folder in slangpy_modules()}
        reached = (*search(file, self.options.include_dirs).files, *(path for path, _ in copies.values()))
        installed = {path for path in reached if Path(path).name == _SLANGPY}
        return tuple(installed) if installed <= names and not self.options.slang_flags else ()

    def _toolchain(self, *, external: bool) -> Toolchain:
        if external not in self._started:
            options = self.options
            slangc = options.slangc if external else None
            self._started[external] = Toolchain(workers=options.workers, slangc=slangc, cache=options.cache)
        return self._started[external]


def user_names(diagnostics: Iterable[Diagnostic], files: Iterable[str]) -> list[Diagnostic]:
    """Return the diagnostics with files named as the user named them, rather than by Slang's full paths."""
    known = {os.path.realpath(file): file for file in files}
    return [
        replace(d, span=replace(d.span, file=known[path])) if (path := os.path.realpath(d.span.file)) in known else d
        for d in diagnostics
    ]


def _inside(file: Path, diagnostic: Diagnostic) -> Diagnostic:
    """Move errors behind the line that includes the file, such as a missing bracket, to the end of the file."""
    if diagnostic.span.file != _staged_name(file):
        return diagnostic
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    end = Span(str(file), len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 2)
    return replace(diagnostic, span=end)


def _named(file: Path, message: str) -> str:
    """Return a message about the staged text as one about the file that it includes."""
    work = f"generating code for all entry points ({_REFLECTED})"
    return message.replace(_staged_name(file), file.name).replace(work, "reading its declarations")


def _staged_name(file: Path) -> str:
    """Return the name of the staged text, which includes the file."""
    return f"{file.stem}_declarations.slang"


def _at(file: Path) -> Span:
    return Span(str(file), 0, 0, 0, 0)


def _renamed(span: Span, copies: _Copies) -> Span:
    """Return a location in a copy as one in the file."""
    return replace(span, file=copies[span.file][0]) if span.file in copies else span
