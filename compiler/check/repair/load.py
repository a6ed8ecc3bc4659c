"""Slang files that don't compile: a file and Slang's errors go in, what of it can be checked comes out.

An error costs the function or declaration it lies in, and what uses that: they are taken out of the text, which is read
again, until Slang takes it. Where Slang dies instead of saying where, functions are taken out by halves, or else
declarations. Only what lies in neither, such as a bracket that never closes, costs the whole file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.build.libraries import DEATHS
from slangad.compiler.check.model.outcomes import Outcome
from slangad.compiler.check.repair.repaired import Lack, Mended, Telling
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.frontends import load
from slangad.compiler.frontends.reading.encoding import decode, read_bytes
from slangad.compiler.ir.nodes import Module
from slangad.compiler.slang_text.bodies import SlangFunction
from slangad.compiler.slang_text.declarations import Declaration
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

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.slang.model import Reflection, SlangSetting

_MARK: Final = "does not compile: "
_MARKED: Final = re.compile(f"{_MARK}(\\d+)")
_QUOTED: Final = re.compile(r"'([^']+)'")
_UNREAD: Final = "unexpected "
"""How Slang begins what it says where it can't read on: what it says of all that follows may be wrong."""
_PLAIN: Final = "SA200"
_SLANGS: Final = "SA2"
"""How codes of what Slang says begin."""
_UNCOMPILED: Final = Lack("does not compile", Outcome.NOT_COMPILED)
_TWINLESS: Final = Lack("has no float64 twin", Outcome.NO_TWIN)
_EMPTY: Final = frozenset({"SA080", "SA081"})
"""Codes of files in which there is nothing to check: also of what is left of one."""


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
    """Find what of a Slang file can be checked; none if an error lies in no function and no declaration.

    Args:
        path: The file.
        setting: What it takes to load it.
        error: What came of loading it as it is.
    """
    try:
        text = text_of(path)
    except CompileError:
        return None
    parts = read_parts(text, str(path))
    return _Mender(path, setting, parts, _UNCOMPILED).run(error) if parts.source.is_closed else None


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
        return _Mender(path, setting, read_parts(text, str(path)), _TWINLESS).run(error)
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
        lack: What is the matter with parts that are taken out.
        told: What is wrong with the parts that are to blame.
        users: Parts that use one of those, or of these, each with that one.
        gone: Those of both of which nothing is left, since that did not compile either.
        own: What Slang said of parts when less was taken out: that is their own.
        current: The text that was read last; none is the whole one.
        said: What Slang pointed out in it.
    """

    path: Path
    setting: SlangSetting
    parts: Parts
    lack: Lack
    told: dict[Part, list[Diagnostic]] = field(default_factory=dict)
    users: dict[Part, Part] = field(default_factory=dict)
    gone: set[Part] = field(default_factory=set)
    own: set[tuple[Part, str]] = field(default_factory=set)
    current: Remains | None = None
    said: tuple[Diagnostic, ...] = ()

    def run(self, error: CompileError | ToolchainError) -> Mended | None:
        """Take out what is to blame until nothing is, and then what uses it until nothing does."""
        found: Module | CompileError | ToolchainError = error
        for _ in range(tol.REPAIR_ROUNDS):
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

    def _read(self, emptied: Collection[Part]) -> Module | CompileError | ToolchainError:
        """Load the text without some parts.

        Raises:
            ToolchainError: There is no Slang.
        """
        marks = {part: f"{_MARK}{self.parts.every.index(part)}" for part in emptied}
        self.current = self.parts.without(marks, self.gone)
        self.said = ()

        def reflect(file: Path, asked: tuple[str, ...], text: str | None = None) -> Reflection:
            reflection = self.setting.reflect(file, asked, text)
            self.said = reflection.warnings
            return reflection

        try:
            return load(self.path, replace(self.setting, reflect=reflect, text=self.current.text))
        except (CompileError, ToolchainError) as error:
            code = error.diagnostics[0].code
            if code in _EMPTY:
                return Module(name=self.path.stem, source=str(self.path), sources=(str(self.path),))
            if isinstance(error, ToolchainError) and code not in DEATHS:
                raise
            return error

    def _place(self, span: Span) -> Span:
        """Where a place of the text that was read last is in the file."""
        return self.current.before(span) if self.current and span.file == str(self.path) else span

    def _at(self, span: Span) -> Part | None:
        """The part that a place of the text that was read last lies in."""
        return self.parts.at(self._place(span))

    def _import_of(self, span: Span) -> Declaration | None:
        """What brings in another file."""
        return None if span.file == str(self.path) else self.parts.brings_in(span.file)

    def _blamed(self, diagnostics: Sequence[Diagnostic]) -> dict[Part, list[Diagnostic]]:
        """The parts that errors lie in; if there are declarations among them those, since others may follow from them.

        Of declarations that can't be read, only the first: what Slang says of others may follow from that.
        """
        blamed: dict[Part, list[Diagnostic]] = {}
        for diagnostic in diagnostics:
            part = self._at(diagnostic.span) or self._import_of(diagnostic.span)
            if part is not None and (isinstance(part, SlangFunction) or diagnostic.code.startswith(_SLANGS)):
                blamed.setdefault(part, []).append(replace(diagnostic, span=self._place(diagnostic.span)))
        declarations: dict[Part, list[Diagnostic]] = {
            one: found for one, found in blamed.items() if isinstance(one, Declaration)
        }
        if not declarations:
            return blamed
        first = next(iter(blamed))
        unread = any(d.message.startswith(_UNREAD) for found in declarations.values() for d in found)
        chosen = {first: blamed[first]} if unread and first in declarations else declarations
        later = [(part, found) for part, found in blamed.items() if part not in chosen]
        own = [(part, found) for part, found in later if self._culprit(part, found) is None]
        self.own |= {(part, d.message) for part, found in own for d in found}
        return chosen

    def _take_out(self, blamed: dict[Part, list[Diagnostic]]) -> None:
        """Take parts out; those that are already, whole."""
        for part, diagnostics in blamed.items():
            if part in self.told or part in self.users:
                self.gone.add(part)
                continue
            culprit = self._culprit(part, diagnostics)
            if culprit is not None:
                self.users[part] = culprit
            else:
                self.told[part] = [d for d in diagnostics if (part, d.message) in self.own] or diagnostics
            if any(d.code not in DEATHS and self.parts.is_in_head(part, d.span) for d in diagnostics):
                self.gone.add(part)

    def _culprit(self, part: Part, diagnostics: Sequence[Diagnostic]) -> Part | None:
        """The part that is out and for lack of which another does not compile; none if that is its own fault."""
        if any((part, d.message) in self.own for d in diagnostics):
            return None
        words = [word for d in diagnostics for word in _QUOTED.findall(d.message)]
        quoted = {*words, *(f"operator{word}" for word in words), *(name for word in words for name in word.split("."))}
        plain = all(d.code == _PLAIN for d in diagnostics)
        out = [one for one in (*self.told, *self.users) if plain or isinstance(one, Declaration)]
        named = (one for one in out if names_of(one) & quoted)
        return next(named, None) or next((one for one in out if mentions(part, one)), None)

    def _add_users(self) -> bool:
        """Whether Slang told of parts that use one that is taken out."""
        known = len(self.users)
        for diagnostic in self.said:
            mark = _MARKED.search(diagnostic.message)
            part = self._at(diagnostic.span) if mark else None
            if mark and part and part not in self.told:
                self.users.setdefault(part, self.parts.every[int(mark[1])])
        return len(self.users) > known

    def _add_unnoticed_users(self) -> None:
        """Add what the text tells of; not of functions in declarations that are out, which nobody can use without."""
        known: set[Part] = set()
        while fresh := [part for part in (*self.told, *self.users) if part not in known]:
            known.update(fresh)
            alone = (part for part in fresh if not any(contains(one, part) for one in (*self.told, *self.users)))
            for part in alone:
                for user in self.parts.users_of(part, gone=part in self.gone):
                    if user not in self.told:
                        self.users.setdefault(user, part)
                    if part in self.gone and is_derivative(part, user):
                        self.gone.add(user)

    def _deadly(self, death: Diagnostic) -> dict[Part, list[Diagnostic]]:
        """The functions that Slang dies of, each by itself, or else the declarations; none if it dies without them."""
        known = {*self.told, *self.users}
        functions = {part: None for part in self.parts.every if isinstance(part, SlangFunction)}
        declarations = {part: None for part in self.parts.every if isinstance(part, Declaration)}
        found = self._killers([part for part in functions if part not in known], {*functions, *known})
        if found is None:
            suspects = [part for part in declarations if part not in known]
            found = self._killers(suspects, {*functions, *declarations})
        what = replace(death, message=DEATHS[death.code], notes=())
        return {part: [replace(what, span=part.span)] for part in found or ()}

    def _killers(self, suspects: Sequence[Part], emptied: Collection[Part]) -> list[Part] | None:
        """Those of some parts that Slang dies of when all others are out; None if it dies without any of them."""

        def dies(group: Sequence[Part]) -> bool:
            return isinstance(self._read({*emptied} - {*group}), ToolchainError)

        def among(group: Sequence[Part]) -> list[Part]:
            if not group or not dies(group):
                return []
            middle = len(group) // 2
            return [*group] if len(group) == 1 else [*among(group[:middle]), *among(group[middle:])]

        return None if dies(()) else among(suspects)

    def _mended(self, module: Module) -> Mended:
        out = {*self.told, *self.users}
        kept = tuple(kernel for kernel in module.kernels if self._at(kernel.span) not in out)
        left_out = tuple(left for left in module.left_out if self._at(left.span) not in out)
        broken = tuple(Telling(self.parts, self.lack, self.told, self.users).broken())
        text = self.current.text if self.current else None
        return Mended(text, replace(module, kernels=kept, left_out=left_out), broken)
