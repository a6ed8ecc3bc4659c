"""Slang files that don't compile: a file and Slang's errors go in, what of it can be checked comes out.

An error that lies in a function costs that function and those that call it: they are taken out of the text, which is
read again, until Slang takes it. Where Slang dies instead of saying where, functions are taken out by halves. What lies
outside all functions (structs, globals, imports) costs the whole file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.build import DEATHS
from slangad.compiler.check.subjects import Subject
from slangad.compiler.diagnostics import CompileError, ToolchainError
from slangad.compiler.frontends import load
from slangad.compiler.frontends.encoding import decode, read_bytes
from slangad.compiler.frontends.slang.bodies import Bodies, Function, read_bodies
from slangad.compiler.ir.nodes import Module
from slangad.compiler.report.model import Failure, Leg, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from slangad.compiler.diagnostics import Diagnostic
    from slangad.compiler.frontends.slang.model import Reflection, SlangSetting
    from slangad.compiler.spans import Span

_ROUNDS: Final = 40
_MARK: Final = "does not compile: "
_MARKED: Final = re.compile(f"{_MARK}(\\d+)")
_TWINLESS: Final = "has no float64 twin"
_EMPTY: Final = frozenset({"SA080", "SA081"})
"""Codes of files in which there is nothing to check: also of what is left of one."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A function that does not compile, or that calls one; ``head`` is its name, ``span`` the place to look at."""

    name: str
    span: Span
    failure: Failure
    head: Span

    @property
    def subject(self) -> Subject:
        """It as something to check, which fails."""
        return Subject(self.name, "function", self.span, failure=self.failure)


@dataclass(frozen=True, slots=True)
class Mended:
    """What of a file can be checked: its text without the functions that can't (none: as it is), and those."""

    text: str | None
    module: Module
    broken: tuple[Broken, ...] = ()

    def with_broken(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        """These subjects and the functions that can't be checked, in the order of their places if there are any."""
        if not self.broken:
            return tuple(subjects)
        every = (*subjects, *(one.subject for one in self.broken))
        return tuple(sorted(every, key=lambda one: (not one.span.line, one.span.line, one.span.column)))


def load_what_compiles(path: Path, setting: SlangSetting) -> Mended:
    """Load a file; of one in Slang that does not compile, what of it does.

    Raises:
        CompileError: It can't be read, or nothing of it compiles.
        ToolchainError: Slang dies of it, or there is none.
    """
    try:
        return Mended(None, load(path, setting))
    except (CompileError, ToolchainError) as error:
        dead = isinstance(error, ToolchainError) and error.diagnostics[0].code not in DEATHS
        if path.suffix != ".slang" or dead or error.diagnostics[0].code in _EMPTY:
            raise
        mended = mend(path, setting, error)
        if mended is None:
            raise
        return mended


def mend(path: Path, setting: SlangSetting, error: CompileError | ToolchainError) -> Mended | None:
    """Find what of a Slang file can be checked; none if an error lies outside all functions.

    Args:
        path: The file.
        setting: What it takes to load it.
        error: What came of loading it as it is.
    """
    try:
        text = text_of(path)
    except CompileError:
        return None
    bodies = read_bodies(text, str(path))
    return _Mender(path, setting, bodies, bodies).run(error) if bodies.whole else None


def mend_twin(path: Path, setting: SlangSetting, text: str) -> Mended | None:
    """Find the functions of a Slang file without which the rest has a float64 twin; none if there are no such ones.

    Args:
        path: The file.
        setting: What it takes to load the twin.
        text: Of the file.
    """
    try:
        load(path, replace(setting, text=text))
    except CompileError as error:
        bodies = read_bodies(text, str(path))
        return _Mender(path, setting, bodies, bodies, _TWINLESS, Verdict.INCONCLUSIVE).run(error)
    return None


def text_of(path: Path) -> str:
    """The text of a Slang file, as it is taken apart here.

    Raises:
        CompileError: It can't be read.
    """
    return decode(read_bytes(path), "utf-8", path).replace("\r\n", "\n")


@dataclass(slots=True)
class _Mender:
    """The search.

    Attributes:
        lacks: What is the matter with functions that are taken out, and ``verdict`` what that makes of them.
        told: What is wrong with the functions that are to blame.
        users: Functions that use one of those, or of these, each with that one.
        gone: Those of both whose heads don't compile either.
        current: The text that was read last.
        said: What Slang pointed out in it.
    """

    path: Path
    setting: SlangSetting
    bodies: Bodies
    current: Bodies
    lacks: str = "does not compile"
    verdict: Verdict = Verdict.FAIL
    told: dict[Function, list[Diagnostic]] = field(default_factory=dict)
    users: dict[Function, Function] = field(default_factory=dict)
    gone: set[Function] = field(default_factory=set)
    said: tuple[Diagnostic, ...] = ()

    def run(self, error: CompileError | ToolchainError) -> Mended | None:
        """Take out what is to blame until nothing is, and then what uses it until nothing does."""
        found: Module | CompileError | ToolchainError = error
        for _ in range(_ROUNDS):
            if isinstance(found, Module):
                if not self._add_users():
                    return self._mended(found)
            else:
                dead = isinstance(found, ToolchainError)
                blamed = self._deadly(found.diagnostics[0]) if dead else self._blamed(found.diagnostics)
                if not blamed:
                    return None
                self._take_out(blamed)
            self._add_unnoticed_users()
            found = self._read({*self.told, *self.users})
        return None

    def _read(self, emptied: Collection[Function]) -> Module | CompileError | ToolchainError:
        """Load the text without some functions.

        Raises:
            ToolchainError: There is no Slang.
        """
        marks = {function: f"{_MARK}{self.bodies.functions.index(function)}" for function in emptied}
        text = self.bodies.without(marks, self.gone)
        self.current = read_bodies(text, str(self.path))
        self.said = ()

        def reflect(file: Path, asked: tuple[str, ...], text: str | None = None) -> Reflection:
            reflection = self.setting.reflect(file, asked, text)
            self.said = reflection.warnings
            return reflection

        try:
            return load(self.path, replace(self.setting, reflect=reflect, text=text))
        except (CompileError, ToolchainError) as error:
            code = error.diagnostics[0].code
            if code in _EMPTY:
                return Module(name=self.path.stem, source=str(self.path), sources=(str(self.path),))
            if isinstance(error, ToolchainError) and code not in DEATHS:
                raise
            return error

    def _at(self, span: Span) -> Function | None:
        """The function that a place of the text that was read last lies in."""
        function = self.current.at(span)
        if function is None:
            return None
        left = [one for one in self.bodies.functions if one not in self.gone]
        alike = len(left) == len(self.current.functions)
        return left[self.current.functions.index(function)] if alike else None

    def _blamed(self, diagnostics: Sequence[Diagnostic]) -> dict[Function, list[Diagnostic]]:
        """The functions that errors lie in; none if one lies in no function."""
        blamed: dict[Function, list[Diagnostic]] = {}
        for diagnostic in diagnostics:
            function = self._at(diagnostic.span)
            if function is None:
                return {}
            blamed.setdefault(function, []).append(diagnostic)
        return blamed

    def _take_out(self, blamed: dict[Function, list[Diagnostic]]) -> None:
        """Take functions out; those that are already, whole."""
        for function, diagnostics in blamed.items():
            if function in self.told or function in self.users:
                self.gone.add(function)
                continue
            self.told[function] = diagnostics
            if any(d.code not in DEATHS and self.current.is_in_head(d.span) for d in diagnostics):
                self.gone.add(function)

    def _add_users(self) -> bool:
        """Whether Slang told of functions that use one that is taken out."""
        known = len(self.users)
        for diagnostic in self.said:
            mark = _MARKED.search(diagnostic.message)
            function = self._at(diagnostic.span) if mark else None
            if mark and function and function not in self.told:
                self.users.setdefault(function, self.bodies.functions[int(mark[1])])
        return len(self.users) > known

    def _add_unnoticed_users(self) -> None:
        known: set[Function] = set()
        while fresh := {*self.told, *self.users} - known:
            known |= fresh
            for function in fresh:
                for user in self.bodies.users_of(function, gone=function in self.gone):
                    if user not in self.told:
                        self.users.setdefault(user, function)

    def _deadly(self, death: Diagnostic) -> dict[Function, list[Diagnostic]]:
        """The functions that Slang dies of, each by itself; none if it dies without them too."""
        known = {*self.told, *self.users}
        suspects = [function for function in self.bodies.functions if function not in known]

        def dies(group: Sequence[Function]) -> bool:
            return isinstance(self._read({*self.bodies.functions} - {*group}), ToolchainError)

        def among(group: Sequence[Function]) -> list[Function]:
            if not group or not dies(group):
                return []
            middle = len(group) // 2
            return [*group] if len(group) == 1 else [*among(group[:middle]), *among(group[middle:])]

        what = replace(death, message=DEATHS[death.code], notes=())
        return {function: [replace(what, span=function.header.span)] for function in among(suspects)}

    def _mended(self, module: Module) -> Mended:
        out = {*self.told, *self.users}
        kept = tuple(kernel for kernel in module.kernels if self._at(kernel.span) not in out)
        left_out = tuple(left for left in module.left_out if self._at(left.span) not in out)
        broken = [self._broken(function, diagnostics) for function, diagnostics in self.told.items()]
        broken += [self._user(one, other) for one, other in self.users.items() if self.bodies.is_differentiable(one)]
        return Mended(self.current.text, replace(module, kernels=kept, left_out=left_out), tuple(broken))

    def _broken(self, function: Function, diagnostics: Sequence[Diagnostic]) -> Broken:
        first = diagnostics[0]
        told = [f"{d.span}: {d.severity.value}[{d.code}]: {d.message}" for d in diagnostics]
        told += [f"help: {d.help}" for d in diagnostics if d.help]
        reason = f"it {self.lacks}: {first.message} [{first.code}]"
        failure = self._failure(reason, tuple(dict.fromkeys(told)))
        return Broken(function.name, first.span, failure, function.header.span)

    def _user(self, function: Function, other: Function) -> Broken:
        name = other.header.name
        struct = next((part for part in reversed(other.header.path) if part in function.words), "")
        how = f"it calls '{other.name}', which {self.lacks}"
        if name in function.header.attributes:
            how = f"its derivative '{other.name}' {self.lacks}"
        elif struct and name not in function.words:
            how = f"it uses '{struct}', whose '{name}' {self.lacks}"
        if self.verdict is not Verdict.FAIL and other in self.told:
            how = f"{how}: {self.told[other][0].message}"
        return Broken(function.name, function.header.span, self._failure(how, ()), function.header.span)

    def _failure(self, message: str, notes: tuple[str, ...]) -> Failure:
        return Failure(Leg.COMPILE, self.verdict, re.sub(r"\s+", " ", message), notes=notes)
