"""Find what can be checked in a Slang file that does not compile.

An error removes the function or declaration that contains it, and its users. Slang then reads the text again, until it
accepts the rest. Where Slang dies without a location, a binary search removes functions, or else declarations. Only an
error outside of both, such as a bracket that never closes, fails the whole file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.build.libraries import DEATHS
from slangad.compiler.check.build.repair_time import RepairTime
from slangad.compiler.check.repair.repaired import FaultReport, Repaired
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.frontends import load
from slangad.compiler.frontends.reading.encoding import decode, read_bytes
from slangad.compiler.frontends.slang.locations import shown
from slangad.compiler.ir.nodes import External, Kernel, LeftOut, Module
from slangad.compiler.slang_text.bodies import SlangFunction
from slangad.compiler.slang_text.declarations import Declaration
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of, text_of
from slangad.compiler.slang_text.parts import (
    Part,
    Parts,
    Remains,
    contains,
    is_derivative,
    mentions,
    names_of,
    read_parts,
)
from slangad.compiler.slang_text.search import files_behind, search

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.slang.model import ReflectedFile, SlangSetting

_MARK: Final = "does not compile: "
_MARKED: Final = re.compile(f"{_MARK}(\\d+)")
_ARGUMENTS: Final = re.compile(r"[<,.]\s*(\w+)")
_QUOTED: Final = re.compile(r"'([^']+)'")
_UNREAD: Final = "unexpected "
"""The prefix of Slang's syntax errors. Later errors of the same file may be wrong."""
_PLAIN: Final = "SA200"
_SLANGS: Final = "SA2"
"""The prefix of the codes of Slang's messages."""
_EMPTY: Final = frozenset({"SA080", "SA081"})
"""Codes of files with nothing to check. The rest of a file may be such a file, too."""


def load_what_compiles(path: Path, setting: SlangSetting) -> Repaired:
    """Load a file. If a Slang file does not compile, load the parts that do.

    Raises:
        CompileError: The file cannot be read, or no part of it compiles.
        ToolchainError: Slang dies of it, or there is no Slang.
    """
    spent = RepairTime(setting.clock)
    start = spent.clock()
    try:
        return Repaired(None, load(path, setting))
    except (CompileError, ToolchainError) as error:
        spent.add(start)
        dead = isinstance(error, ToolchainError) and error.diagnostics[0].code not in DEATHS
        if not is_slang(path) or dead or error.diagnostics[0].code in _EMPTY:
            raise
        repaired = repair_file(path, setting, error, spent)
        if repaired is None and spent.is_over:
            raise _unfinished(error, spent) from None
        if repaired is None:
            raise
        return repaired


def _unfinished(error: CompileError | ToolchainError, spent: RepairTime) -> CompileError | ToolchainError:
    """Return an error whose first message says that the search for the parts that compile was ended."""
    first, *others = error.diagnostics
    message = f"{first.message}; the search for what compiles ended after {spent.failed:.0f} s"
    return type(error)([replace(first, message=f"{message}: one reading takes {spent.one:.1f} s"), *others])


def repair_file(
    path: Path, setting: SlangSetting, error: CompileError | ToolchainError, spent: RepairTime
) -> Repaired | None:
    """Return the checkable rest of a Slang file, or None if an error lies in no function and no declaration.

    Args:
        path: The file.
        setting: The settings to load it.
        error: The error of loading it unchanged.
        spent: The time of that.
    """
    try:
        text = decoded_text(path)
    except CompileError:
        return None
    parts = read_parts(text, str(path))
    if not parts.source.is_closed:
        return None
    return _Repair(path, setting, parts.with_others([*_parts_of_module(path, setting)]), spent).run(error)


def _parts_of_module(path: Path, setting: SlangSetting) -> Iterator[Parts]:
    """Yield the parts of the other files of a module (``implementing m;``)."""
    for file in sorted(search(path, setting.include_dirs).textual):
        if source_of(str(file)).scan.is_part:
            parts = read_parts(text_of(str(file)), shown(str(file)))
            if parts.source.is_closed:
                yield parts


def decoded_text(path: Path) -> str:
    """Return the text of a Slang file with plain line ends.

    Raises:
        CompileError: It cannot be read.
    """
    return decode(read_bytes(path), "utf-8", path).replace("\r\n", "\n")


@dataclass
class _Repair:
    """The search.

    Attributes:
        spent: The time of readings.
        faults: The errors of the parts that cause the failure.
        users: Parts that use a removed part, each with that part.
        gone: Removed parts without head or stub, because these did not compile either.
        own_errors: The errors that a part had when fewer parts were removed. They are its own errors.
        current: The changed texts that Slang read last, by file.
        warnings: Slang's warnings about that text.
    """

    path: Path
    setting: SlangSetting
    parts: Parts
    spent: RepairTime
    faults: dict[Part, list[Diagnostic]] = field(default_factory=dict)
    users: dict[Part, Part] = field(default_factory=dict)
    gone: set[Part] = field(default_factory=set)
    own_errors: set[tuple[Part, str]] = field(default_factory=set)
    current: dict[str, Remains] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()

    def run(self, error: CompileError | ToolchainError) -> Repaired | None:
        """Remove the causes until Slang accepts the rest, then the users of removed parts until there are none."""
        outcome: Module | CompileError | ToolchainError = self._with_names(error)
        for _ in range(tol.REPAIR_ROUNDS):
            removed = len(self.faults), len(self.users), len(self.gone)
            if isinstance(outcome, Module):
                if not self._add_users():
                    return self._repaired(self._with_instances(outcome))
            else:
                dead = isinstance(outcome, ToolchainError)
                faulty = self._deadly(outcome.diagnostics[0]) if dead else self._faulty(outcome.diagnostics)
                if not faulty:
                    return None
                if self.spent.is_over:
                    return None
                self._take_out(faulty)
            self._add_unnoticed_users()
            if removed == (len(self.faults), len(self.users), len(self.gone)):
                return None
            outcome = self._read({*self.faults, *self.users})
        return None

    def _with_instances(self, module: Module) -> Module:
        """Return the module with instances of generic functions, which the search goes without."""
        whole = (
            self._read({*self.faults, *self.users}, self.setting.instances) if any(self.setting.instances) else module
        )
        return whole if isinstance(whole, Module) else module

    def _read(
        self, emptied: Collection[Part], instances: tuple[int, int] = (0, 0)
    ) -> Module | CompileError | ToolchainError:
        """Load the text without some parts.

        Raises:
            ToolchainError: There is no Slang.
        """
        marks = {part: f"{_MARK}{self.parts.every.index(part)}" for part in emptied}
        touched = {part.span.file for part in (*emptied, *self.gone)}
        texts = (self.parts, *(one for one in self.parts.others if one.source.file in touched))
        self.current = {one.source.file: one.without(marks, self.gone) for one in texts}
        self.warnings = ()
        changed = self._others()

        def reflect(
            file: Path, asked: tuple[str, ...], text: str | None = None, others: Mapping[str, str] = changed
        ) -> ReflectedFile:
            reflection = self.setting.reflect(file, asked, text, others)
            self.warnings = tuple(replace(d, span=self._named(d.span)) for d in reflection.warnings)
            return reflection

        start = self.spent.clock()
        try:
            text = self.current[str(self.path)].text
            setting = replace(self.setting, reflect=reflect, text=text, instances=instances)
            return load(self.path, setting)
        except (CompileError, ToolchainError) as error:
            self.spent.add(start)
            code = error.diagnostics[0].code
            if code in _EMPTY:
                return Module(name=self.path.stem, source=str(self.path), sources=(str(self.path),))
            if isinstance(error, ToolchainError) and code not in DEATHS:
                raise
            return self._with_names(error)

    def _with_names(self, error: CompileError | ToolchainError) -> CompileError | ToolchainError:
        """Return an error with the names that files have in the parts."""
        return type(error)([replace(d, span=self._named(d.span)) for d in error.diagnostics])

    def _others(self) -> dict[str, str]:
        """Return the changed texts of other files that Slang read last, by their real paths."""
        changed = ((file, one) for file, one in self.current.items() if file != str(self.path))
        return {os.path.realpath(file): one.text for file, one in changed}

    def _named(self, span: Span) -> Span:
        """Return a location with the name that its file has in the parts."""
        return replace(span, file=self._names.get(os.path.realpath(span.file), span.file)) if span.file else span

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the files of the module by their real paths."""
        return {os.path.realpath(one.source.file): one.source.file for one in (self.parts, *self.parts.others)}

    def _place(self, span: Span) -> Span:
        """Return the location in the file of a location in the text that was read last."""
        return self.current[span.file].before(span) if span.file in self.current else span

    def _at(self, span: Span) -> Part | None:
        """Return the part that contains a location of the text that was read last."""
        return self.parts.at(self._place(span))

    def _imports_of(self, span: Span) -> list[Part]:
        """Return the declarations that bring in another file, directly or through other files."""
        if span.file == str(self.path):
            return []
        file = Path(span.file).resolve()
        through: list[Part] = [one for one, files in self._behind.items() if file in files]
        direct = self.parts.brings_in(span.file)
        return through or ([direct] if direct else [])

    @cached_property
    def _behind(self) -> dict[Declaration, frozenset[Path]]:
        """The files behind each declaration that brings in another file."""
        declarations = (one for one in self.parts.every if isinstance(one, Declaration) and one.brings_in)
        folders = self.setting.include_dirs
        return {one: files_behind(self.path, one.span.line, folders) for one in declarations}

    def _faulty(self, diagnostics: Sequence[Diagnostic]) -> dict[Part, list[Diagnostic]]:
        """Return the parts with errors; only the declarations if there are any, since they may cause the other errors.

        Of declarations with syntax errors return the first one, since it may cause the others.
        """
        faulty: dict[Part, list[Diagnostic]] = {}
        for diagnostic in diagnostics:
            part = self._at(diagnostic.span)
            for one in [part] if part else self._imports_of(diagnostic.span):
                if isinstance(one, SlangFunction) or diagnostic.code.startswith(_SLANGS):
                    faulty.setdefault(one, []).append(replace(diagnostic, span=self._place(diagnostic.span)))
        declarations: dict[Part, list[Diagnostic]] = {
            one: fault for one, fault in faulty.items() if isinstance(one, Declaration)
        }
        if not declarations:
            return faulty
        first = next(iter(faulty))
        unread = any(d.message.startswith(_UNREAD) for fault in declarations.values() for d in fault)
        chosen = {first: faulty[first]} if unread and first in declarations else declarations
        later = [(part, fault) for part, fault in faulty.items() if part not in chosen]
        culprits = [(part, fault) for part, fault in later if self._culprit(part, fault) is None]
        self.own_errors |= {(part, d.message) for part, fault in culprits for d in fault}
        return chosen

    def _take_out(self, faulty: dict[Part, list[Diagnostic]]) -> None:
        """Remove parts; their heads and stubs too if they were removed before."""
        for part, diagnostics in faulty.items():
            if part in self.faults or part in self.users:
                self.gone.add(part)
                continue
            culprit = self._culprit(part, diagnostics)
            if culprit is not None:
                self.users[part] = culprit
            else:
                self.faults[part] = [d for d in diagnostics if (part, d.message) in self.own_errors] or diagnostics
            if any(d.code not in DEATHS and self.parts.is_in_head(part, d.span) for d in diagnostics):
                self.gone.add(part)

    def _culprit(self, part: Part, diagnostics: Sequence[Diagnostic]) -> Part | None:
        """Return the removed part without which another does not compile, or None if the fault is its own."""
        if any((part, d.message) in self.own_errors for d in diagnostics):
            return None
        words = [word for d in diagnostics for word in _QUOTED.findall(d.message)]
        quoted = {*words, *(f"operator{word}" for word in words), *(name for word in words for name in word.split("."))}
        plain = all(d.code == _PLAIN for d in diagnostics)
        out = [one for one in (*self.faults, *self.users) if plain or isinstance(one, Declaration)]
        named = (one for one in out if names_of(one) & quoted)
        return next(named, None) or next((one for one in out if mentions(part, one)), None)

    def _add_users(self) -> bool:
        """Add the users of removed parts that Slang reported. Return True if there are new ones."""
        known = len(self.users)
        for diagnostic in self.warnings:
            mark = _MARKED.search(diagnostic.message)
            part = self._at(diagnostic.span) if mark else None
            if mark and part and part not in self.faults:
                self.users.setdefault(part, self.parts.every[int(mark[1])])
        return len(self.users) > known

    def _add_unnoticed_users(self) -> None:
        """Add the users that the text shows, except users of functions in removed declarations."""
        known: set[Part] = set()
        while fresh := [part for part in (*self.faults, *self.users) if part not in known]:
            known.update(fresh)
            whole = (part for part in known if not isinstance(part, Declaration) or part.kind != "extension")
            lost = {name for part in whole for name in _types_of(part)}
            alone = (part for part in fresh if not any(contains(one, part) for one in (*self.faults, *self.users)))
            for part in alone:
                is_lost = self.parts.is_lost(part)
                for user in self.parts.users_of(part, gone=part in self.gone, lost=lost):
                    if user not in self.faults:
                        self.users.setdefault(user, part)
                    if part in self.gone and is_derivative(part, user):
                        self.gone.add(user)
                    if is_lost and isinstance(user, SlangFunction) and self.parts.head_of(user) & names_of(part):
                        self.gone.add(user)

    def _deadly(self, death: Diagnostic) -> dict[Part, list[Diagnostic]]:
        """Return the functions that kill Slang one by one, or else the declarations; none if it dies without them."""
        known = {*self.faults, *self.users}
        functions = {part: None for part in self.parts.every if isinstance(part, SlangFunction)}
        declarations = {part: None for part in self.parts.every if isinstance(part, Declaration)}
        deadly = self._killers([part for part in functions if part not in known], {*functions, *known})
        if deadly is None:
            suspects = [part for part in declarations if part not in known]
            deadly = self._killers(suspects, {*functions, *declarations})
        what = replace(death, message=DEATHS[death.code], notes=())
        return {part: [replace(what, span=part.span)] for part in deadly or ()}

    def _killers(self, suspects: Sequence[Part], emptied: Collection[Part]) -> list[Part] | None:
        """Return those of some parts that kill Slang without the others; None if it dies without any of them."""

        def dies(group: Sequence[Part]) -> bool:
            return not self.spent.is_over and isinstance(self._read({*emptied} - {*group}), ToolchainError)

        def among(group: Sequence[Part]) -> list[Part]:
            if not group or not dies(group):
                return []
            middle = len(group) // 2
            return [*group] if len(group) == 1 else [*among(group[:middle]), *among(group[middle:])]

        return None if dies(()) else among(suspects)

    def _repaired(self, module: Module) -> Repaired:
        out = {*self.faults, *self.users}
        whole = [kernel for kernel in module.kernels if self._at(kernel.span) not in out]
        lost = {name: part for part in out for name in _types_of(part)}
        hollow = {kernel: lost[word] for kernel in whole for word in _arguments(kernel, module) if word in lost}
        kept = tuple(kernel for kernel in whole if kernel not in hollow)
        left_out = (
            *(left for left in module.left_out if self._at(left.span) not in out),
            *(_left_out(kernel, part, module) for kernel, part in hollow.items()),
        )
        broken = tuple(FaultReport(self.parts, self.faults, self.users).broken())
        text = self.current[str(self.path)].text if self.current else None
        return Repaired(text, replace(module, kernels=kept, left_out=left_out), broken, self._others())


def _types_of(part: Part) -> Iterator[str]:
    """Yield the types that are incomplete without a part."""
    if isinstance(part, SlangFunction):
        yield from (word.removeprefix("extension ") for word in part.header.path[-1:])
    else:
        yield from part.names


def _symbol(kernel: Kernel, module: Module) -> str:
    """Return the function of a kernel as Slang names it."""
    body = next(function.body for function in module.functions if function.key == kernel.function)
    return body.symbol if isinstance(body, External) else ""


def _arguments(kernel: Kernel, module: Module) -> list[str]:
    """Return the words of the generic arguments in the name of an instance: those of ``f<Flat, 4>``."""
    _, bracket, arguments = _symbol(kernel, module).partition("<")
    return _ARGUMENTS.findall(f"{bracket}{arguments}")


def _left_out(kernel: Kernel, part: Part, module: Module) -> LeftOut:
    """Return the reason why an instance of a generic function is not checked: its argument may lack a method."""
    return LeftOut(_symbol(kernel, module), f"it may use '{part.name}', which does not compile", span=kernel.span)
