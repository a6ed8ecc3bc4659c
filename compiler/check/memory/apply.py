"""Put wrappers in place of the functions of a Slang file that use memory or global parameters."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.memory.byte_addresses import byte_accesses, typed, word_readers, word_types
from slangad.compiler.check.memory.components import component_stores
from slangad.compiler.check.memory.copy import copy_of
from slangad.compiler.check.memory.inline import whole_text, without_inlined
from slangad.compiler.check.memory.objects import holds_memory
from slangad.compiler.check.memory.plan import WrapperPlanner, declared_shapes, free_name, of_one_size
from slangad.compiler.check.memory.pointers import pointers
from slangad.compiler.check.memory.wrappers import PREFIX, RACING, WAVING, setters, wrapper_text
from slangad.compiler.check.subjects.source_facts import facts_of
from slangad.compiler.check.twins.one_lane import uses_lanes
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.frontends.slang.generics import without_arguments
from slangad.compiler.frontends.slang.locations import shown
from slangad.compiler.frontends.slang.module import candidates_of, load_slang
from slangad.compiler.ir.nodes import External
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.calls import codes_of, same_file
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.global_parameters import (
    MEMORY,
    SLANGPY,
    GlobalParameter,
    by_name,
    global_parameters,
    memory_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.check.memory.plan import Facts, WrapperPlan
    from slangad.compiler.check.model.subject import Subject
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.slang.model import SlangSetting
    from slangad.compiler.ir.nodes import Function, Kernel, Module
    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource

_IMPORT: Final = re.compile(rf'^[ \t]*import\s+"?{SLANGPY}"?\s*;', re.MULTILINE)
_NO_COPY: Final = "Slang refuses the copy of the text in which its memory is an array"
_MARK: Final = "\ufeff"
"""The byte order mark with which a file may begin."""


@dataclass(frozen=True, slots=True)
class MemorySubject:
    """A function whose wrapper is checked in its place.

    Attributes:
        symbol: Its qualified name.
        span: Its location.
        missing: The modes that it can't have, each with the reason.
        racing: The kernel whose derivative runs two threads; empty if there is none.
        waving: The kernel whose derivative runs the lanes of a wave; empty if there is none.
        active: The memory with a gradient.
        gradients: The memory in which gradients accumulate, by the memory that they belong to.
        in_turn: True if the threads of ``racing`` run one after the other.
    """

    symbol: str
    span: Span
    missing: tuple[tuple[str, str], ...] = ()
    racing: str = ""
    waving: str = ""
    gradients: Mapping[str, str] = field(default_factory=dict)
    active: frozenset[str] = frozenset()
    in_turn: bool = False


@dataclass(frozen=True, slots=True)
class MemoryCopy:
    """A module with wrappers, and the text of the file that has them.

    Attributes:
        subjects: The functions in place of which wrappers are checked, by kernel.
        refused: Why functions that use memory have no wrapper, by their location.
    """

    module: Module
    text: str
    subjects: Mapping[str, MemorySubject]
    refused: Mapping[Span, str] = field(default_factory=dict)

    @property
    def racing(self) -> dict[str, str]:
        """The kernels whose derivatives run two threads, by the kernel that runs one."""
        return {kernel: one.racing for kernel, one in self.subjects.items() if one.racing}

    @property
    def waving(self) -> dict[str, str]:
        """The kernels whose derivatives run the lanes of a wave, by the kernel that runs one."""
        return {kernel: one.waving for kernel, one in self.subjects.items() if one.waving}


def add_memory(
    path: Path, text: str, module: Module, setting: SlangSetting, changed: Mapping[str, str]
) -> MemoryCopy | None:
    """Return a module in which wrappers stand for the functions that use memory; None if no function needs one.

    If no wrapper compiles, the module is the given one.

    Args:
        path: The file.
        text: Its text, as far as it compiles.
        module: The module of that text.
        setting: The settings to load it.
        changed: The texts to use in place of other files, by their real paths.
    """
    source = read_source(text, str(path))
    files = [file for file in module.sources if is_slang(file)]
    rest = [file for file in files if not same_file(file, str(path))]
    others = {file: changed.get(os.path.realpath(file), text_of(file)).removeprefix(_MARK) for file in rest}
    whole = read_source(whole_text(text, others), str(path))
    words = word_types(whole)
    typed_globals = (typed(one, words) for one in by_name([*global_parameters(whole)]).values())
    parameters = tuple(one for one in typed_globals if one.type)
    waves = uses_lanes(whole.text)
    if not source.is_closed or not (parameters or waves or _takes_memory(source) or _holds_memory(module)):
        return None
    facts = facts_of(files), facts_of(files, {one.name for one in parameters})
    instances = (*(name for left in module.left_out for name in left.instances), *_unset_instances(module, facts[0]))
    declared, candidates = candidates_of(path, text, setting, instances)
    holders = {name for name in declared.structs if holds_memory(name, declared.structs)}
    sources = {str(path): source} | {shown(file): read_source(content, shown(file)) for file, content in others.items()}
    planner = WrapperPlanner(
        sources, whole, declared, parameters, module, facts, declared_shapes(whole, str(path)), words
    )
    # A function that is in neither does not compile.
    sound = {*(kernel.span for kernel in module.kernels), *(left.span for left in module.left_out)}
    known = [one for one in candidates if one.place.span in sound]
    planned = [plan for number, one in enumerate(known) if (plan := planner.plan(one, number)) is not None]
    plans = [*of_one_size(planned)]
    spans = {plan.candidate.place.span for plan in plans}
    alone = [kernel.span for kernel in module.kernels if kernel.span not in spans and not planner.is_unset(kernel.span)]
    needed = frozenset(code.name for span in alone for code in codes_of(span, module.sources))
    names = {word.removeprefix(".") for plan in plans for i in plan.wrapped.inputs for word in i.parameter.words}
    accesses = byte_accesses(whole, words)
    changes = [
        *accesses,
        *pointers(whole, {without_arguments(name) for name in holders}),
        *component_stores(whole, names),
    ]
    readers = tuple(word_readers(whole, words, declared.structs))
    refused: dict[Span, str] = {}
    for cut in _cuts(whole, plans):
        writer = _Writer(whole, parameters, (*changes, *cut), readers, needed, refused)
        made = writer.run(
            plans, lambda copy: load_slang(path, replace(setting, text=copy, specialize=(), instances=(0, 0)))
        )
        if made is not None:
            imports = without_inlined(module.slang_imports, others)
            kept = {plan.candidate.place.span for plan in made[1]}
            without = {span: why for span, why in refused.items() if span not in kept}
            return replace(_joined(replace(module, slang_imports=imports), *made), refused=without)
    return MemoryCopy(module, text, {}, refused) if refused else None


def _unset_instances(module: Module, facts: Facts) -> Iterator[str]:
    """Yield the generic functions with arguments that read globals."""
    unset = {(line, column) for (_, line, column), fact in facts.items() if fact.unset}
    for function in module.functions:
        symbol = function.body.symbol if isinstance(function.body, External) else ""
        if "<" in symbol and (function.span.line, function.span.column) in unset:
            yield symbol


def _cuts(whole: SlangSource, plans: Sequence[WrapperPlan]) -> Iterator[Sequence[tuple[int, int, str]]]:
    """Yield what to cut from the text: first the import of a library whose memory the copy replaces, then nothing.

    The library has no float64 twin, and takes long to compile.
    """
    kinds = {i.parameter.kind for plan in plans for i in plan.wrapped.inputs}
    if any(kind and MEMORY[kind].library for kind in kinds):
        yield [(match.start(), match.end(), "") for match in _IMPORT.finditer(whole.text)]
    yield ()


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the copy of a text with wrappers, so that it compiles.

    Attributes:
        whole: The text.
        changes: Changes of the text.
        added: Declarations for its end.
        needed: The functions that must stay in the copy.
        refused: Gets the reason for each function whose wrapper is left out.
    """

    whole: SlangSource
    parameters: tuple[GlobalParameter, ...]
    changes: tuple[tuple[int, int, str], ...]
    added: tuple[str, ...]
    needed: frozenset[str]
    refused: dict[Span, str]

    def run(
        self, plans: Sequence[WrapperPlan], load: Callable[[str], Module]
    ) -> tuple[Module, Sequence[WrapperPlan], str] | None:
        """Return the module of the copy, its wrappers and its text. Leave out wrappers and functions with errors."""
        removed: frozenset[SlangFunction] = frozenset()
        for _ in range(tol.REPAIR_ROUNDS):
            if not plans:
                return None
            used = [i for plan in plans for i in plan.wrapped.inputs]
            texts = [wrapper_text(plan.wrapped, plan.scopes, plan.comments) for plan in plans]
            copy = copy_of(self.whole, self.parameters, (*self.added, *setters(used), *texts), self.changes, removed)
            try:
                return load(copy), plans, copy
            except ToolchainError as error:
                self._refuse(plans, str(error))
                return None
            except CompileError as error:
                lines = [d.span.line for d in error.diagnostics]
                first = error.diagnostics[0].message
            faulty = frozenset(_functions_on(self.whole, lines))
            gone = {function.header.name for function in faulty}
            kept = [
                plan
                for plan, one in zip(plans, texts, strict=True)
                if not _contains(copy, one, lines) and plan.reached.isdisjoint(gone)
            ]
            if gone & self.needed or (len(kept) == len(plans) and faulty <= removed):
                self._refuse(plans, first)
                return None
            self._refuse([plan for plan in plans if plan not in kept], first)
            plans, removed = kept, removed | faulty
        return None

    def _refuse(self, plans: Sequence[WrapperPlan], message: str) -> None:
        """Keep the reason why functions have no wrapper."""
        for plan in plans:
            self.refused[plan.candidate.place.span] = f"{_NO_COPY}: {message}"


def _takes_memory(source: SlangSource) -> bool:
    """Return True if a differentiable function of a text takes memory as a parameter."""
    differentiable = (function for function in source.functions if source.is_differentiable(function))
    return any(memory_of(type_) for function in differentiable for type_ in function.header.types)


def _holds_memory(module: Module) -> bool:
    """Return True if a function is left out because a struct that it takes has a field that no kernel can take."""
    return any(left.held for left in module.left_out)


def _functions_on(source: SlangSource, lines: Sequence[int]) -> Iterator[SlangFunction]:
    """Yield the functions of a text on some lines."""
    for line in lines:
        if 0 < line < len(source.starts):
            start, end = source.starts[line - 1], source.starts[line]
            yield from (function for function in source.functions if function.start < end and function.end >= start)


def _contains(copy: str, text: str, lines: Sequence[int]) -> bool:
    first = copy[: copy.index(text)].count("\n") + 1
    return any(first <= line <= first + text.count("\n") for line in lines)


def _joined(module: Module, made: Module, plans: Sequence[WrapperPlan], copy: str) -> MemoryCopy:
    """Return a module with the wrappers of another one in place of their functions, where the function stood."""
    functions = {function.key: function for function in made.functions}
    wrappers = {functions[kernel.function].name: kernel for kernel in made.kernels}
    kernels = {(kernel.span, symbol): kernel for kernel, symbol in _with_symbols(module)}
    added: dict[Span, list[Kernel]] = {}
    replaced: dict[str, Function] = {}
    subjects: dict[str, MemorySubject] = {}
    names = {kernel.name for kernel in module.kernels}
    for plan in plans:
        kernel, *further = (wrappers.get(prefix + plan.wrapped.name) for prefix in (PREFIX, RACING, WAVING))
        if kernel is None:
            continue
        span = plan.candidate.place.span
        old = kernels.get((span, plan.candidate.symbol))
        name = old.name if old else free_name(plan.candidate.declared.name, names)
        names.add(name)
        twins = [
            replace(twin, name=f"oracle_{word}_{name}", span=span) if twin else None
            for word, twin in zip(("racing", "waving"), further, strict=True)
        ]
        every = [replace(kernel, name=name, span=span), *filter(None, twins)]
        added.setdefault(span, []).extend(every)
        named = {kernel.function: plan.candidate.declared.name}
        replaced |= {
            one.function: replace(f, span=span, name=named.get(one.function, f.name))
            for one in every
            for f in [functions[one.function]]
        }
        racing, waving = (twin.name if twin else "" for twin in twins)
        active = frozenset(i.name for i in plan.wrapped.read if i.active)
        subjects[name] = MemorySubject(
            plan.candidate.symbol, span, plan.missing, racing, waving, plan.gradients, active, plan.wrapped.in_turn
        )
    kept = (kernel for kernel in module.kernels if kernel.span not in added)
    sound = sorted((*kept, *(kernel for every in added.values() for kernel in every)), key=_place)
    gone = {kernel.function for kernel in module.kernels if kernel.span in added}
    remaining = tuple(function for function in module.functions if function.key not in gone)
    left_out = tuple(left for left in module.left_out if left.span not in added)
    structs = {struct.struct.key: struct for struct in (*made.structs, *module.structs)}
    joined = replace(
        made,
        structs=tuple(structs.values()),
        functions=(*remaining, *replaced.values()),
        kernels=tuple(sound),
        left_out=left_out,
        slang_imports=tuple(dict.fromkeys((*made.slang_imports, *module.slang_imports))),
        taken=tuple(sorted({*made.taken, *module.taken})),
        sources=module.sources,
    )
    return MemoryCopy(joined, copy, subjects)


def _with_symbols(module: Module) -> Iterator[tuple[Kernel, str]]:
    """Yield the kernels of a module, each with the name of its function, with generic arguments."""
    bodies = {function.key: function.body for function in module.functions}
    for kernel in module.kernels:
        body = bodies[kernel.function]
        yield kernel, body.symbol if isinstance(body, External) else ""


def _place(kernel: Kernel) -> tuple[int, int]:
    return kernel.span.line, kernel.span.column


def with_memory(subjects: Sequence[Subject], copy: MemoryCopy) -> tuple[Subject, ...]:
    """Return the subjects of a module with wrappers, under the names of the functions that the wrappers stand for."""
    twins = {*copy.racing.values(), *copy.waving.values()}
    renamed = (_renamed(subject, copy) for subject in subjects if subject.kernel not in twins)
    return tuple(_refused(subject, copy) for subject in renamed)


def _refused(subject: Subject, copy: MemoryCopy) -> Subject:
    """Return a subject that is skipped with Slang's reason, if its wrapper does not compile."""
    why = copy.refused.get(subject.span, "") if subject.skipped else ""
    return replace(subject, skipped=why) if why else subject


def _renamed(subject: Subject, copy: MemoryCopy) -> Subject:
    one = copy.subjects.get(subject.kernel)
    if one is None:
        return subject
    facts = replace(subject.facts, unset="") if subject.facts else None
    changed = replace(subject, name=one.symbol, skipped="", missing=one.missing)
    return replace(changed, memory=one.gradients, active_memory=one.active, in_turn=one.in_turn, facts=facts)
