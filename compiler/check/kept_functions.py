"""Keep the results of single functions of Slang files, so that a change of one function runs that one and its users.

The key is everything that a result depends on: the tokens that the function reaches, its declarations, its twins, the
options and the tools. Locations are no part of it. A result that names locations holds only while they are the same.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.build.libraries import Built, sources_of
from slangad.compiler.check.build.reached import ReachedTexts
from slangad.compiler.check.kept_results import ANY_RUN, is_repeatable, packed, sentences_of, tools, unpacked
from slangad.compiler.check.planning.plans import make_plan
from slangad.compiler.emit import emit_module
from slangad.compiler.errors.spans import Span
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.check.build.libraries import BuildSetting
    from slangad.compiler.check.model.plan import SubjectPlan
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.planning.description import FileDescription
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.report.model import Result
    from slangad.compiler.slang_text.tokens import Token

_OF_OTHERS: Final = (
    *ANY_RUN,
    "only",
    "ranges",
    "shapes",
    "directives",
    "specialize",
    "required_ranges",
    "required_shapes",
    "required_specializations",
    "known_names",
    "known_paths",
)
"""Options that are in the plan of the function as far as they concern it."""
_LOCATION: Final = re.compile(r"\blines?\b|:\d")
_NOTHING: Final = Built((), ())


@dataclass(frozen=True, slots=True)
class _Record:
    """A result that is kept, with the texts by location that it was found with."""

    places: str
    result: Result


@dataclass(frozen=True)
class KeptFunctions:
    """Results of the functions of one Slang file in a cache.

    Attributes:
        path: The file.
        description: Its description with all its subjects that can be run.
        emitted: The Slang of that.
        setting: The settings of the build.
        options: Those of the check.
    """

    path: Path
    description: FileDescription
    emitted: EmittedModule
    setting: BuildSetting
    options: CheckOptions

    def get(self, subjects: Iterable[Subject]) -> dict[str, Result]:
        """Return the results of unchanged functions by label, marked as cached."""
        kept = ((subject, self._get(subject)) for subject in subjects if self._is_kept(subject))
        return {subject.label: result for subject, result in kept if result is not None}

    def put(self, subject: Subject, result: Result, built: tuple[Built, Built]) -> None:
        """Keep a result if another run would give it too, and only what the function reaches decides it."""
        cache = self.options.cache
        kernels = {name for name in (subject.kernel, *self.description.twins.of(subject.kernel)) if name}
        refused = {one.kernel for build in built for one in build.refusals}
        whole = {name for build in built for name in build.whole}
        if cache is None or not self._is_kept(subject) or kernels & (refused | whole) or not is_repeatable(result):
            return
        key, places = self._keys(subject)
        cache.put(key, packed(_Record(places, result)))

    def _is_kept(self, subject: Subject) -> bool:
        runs = subject.kernel and not subject.skipped and subject.failure is None and subject.pipeline is None
        return self.options.cache is not None and is_slang(self.path) and bool(runs) and not self.options.mutate

    def _get(self, subject: Subject) -> Result | None:
        key, places = self._keys(subject)
        stored = self.options.cache.get(key) if self.options.cache and self.options.keep is None else None
        if stored is None:
            return None
        record: _Record = unpacked(stored)
        if record.places != places and _names_locations(record.result):
            return None
        return replace(record.result, span=subject.span, generated=self._plan(subject).generated, cached=True)

    def _plan(self, subject: Subject) -> SubjectPlan:
        return make_plan(subject, self.path, (self.description.twins, self.emitted), _NOTHING, self.options)

    def _keys(self, subject: Subject) -> tuple[str, str]:
        """Return a hash of the texts that a result depends on, without locations, and one with locations."""
        reduced = self.description.reduced_to([subject])
        changed = (*reduced.text_twins, *([reduced.unclipped] if reduced.unclipped else ()))
        modules = [(reduced.twins.module, self._reached)]
        modules += [(one.module, self._reached_in({**self.setting.texts, **one.texts})) for one in changed]
        slices = [(file, _tokens(text)) for one in modules for file, text in _slices(*one)]
        facts = [
            "function",
            self._common,
            _plain(replace(self._plan(subject), generated=None)),
            _plain([module.kernels for module, _ in modules]),
            [(file, [token.text for token in tokens]) for file, tokens in slices],
        ]
        places = [(file, [(token.line, token.column) for token in tokens]) for file, tokens in slices]
        return _digest(facts), _digest(places)

    @cached_property
    def _common(self) -> list[object]:
        named = [getattr(self.options, name) for name in self.options.__slots__ if name not in _OF_OTHERS]
        return [named, tools(self.options)]

    @cached_property
    def _reached(self) -> ReachedTexts:
        return self._reached_in(self.setting.texts)

    def _reached_in(self, texts: Mapping[str, str]) -> ReachedTexts:
        files = sources_of(self.description.twins.module, replace(self.setting, texts=texts)).files
        return ReachedTexts(files, self.setting.defines)


def _slices(module: Module, reached: ReachedTexts) -> list[tuple[str, str]]:
    """Return the Slang of a module, and what it reaches in each file, in both precisions."""
    text = emit_module(module).text
    spans = [kernel.span for kernel in module.kernels]
    cut = (reached.texts(text, spans, f64=f64).items() for f64 in (False, True))
    return [("", text), *(one for items in cut for one in items)]


def _tokens(text: str) -> list[Token]:
    """Return the tokens of a text, those of preprocessor lines too."""
    read = read_text(text)
    return [*read.tokens, *read.directives]


def _names_locations(result: Result) -> bool:
    return bool(result.failures) or any(_LOCATION.search(text) for text in sentences_of(result))


def _plain(value: object) -> object:
    """Return a value without locations, in an order that another run has too."""
    if isinstance(value, Span):
        return ()
    if is_dataclass(value):
        return type(value).__name__, [_plain(getattr(value, one.name)) for one in fields(value)]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_plain(one)) for one in value)
    if isinstance(value, dict):
        return sorted((repr(key), repr(_plain(one))) for key, one in value.items())
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return repr(value)


def _digest(facts: Sequence[object]) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()
