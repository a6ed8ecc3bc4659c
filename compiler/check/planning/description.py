"""Describe one file: its subjects, and the module with their harness kernels and twins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.memory.apply import add_memory, with_memory
from slangad.compiler.check.model.names import is_mutant
from slangad.compiler.check.model.subject import Subject
from slangad.compiler.check.mutation.mutate import add_mutants, left_alone
from slangad.compiler.check.planning.directives import with_directives
from slangad.compiler.check.repair.conforming import with_conforming_types
from slangad.compiler.check.repair.load import decoded_text, load_what_compiles
from slangad.compiler.check.repair.repaired import Repaired
from slangad.compiler.check.subjects.find import find_subjects, with_shapes
from slangad.compiler.check.subjects.second_order import with_second_order
from slangad.compiler.check.twins.declared import TwinModule, add_frozen_twins
from slangad.compiler.check.twins.index_ranges import add_index_twins
from slangad.compiler.check.twins.loop_bounds import watch_loops
from slangad.compiler.check.twins.slang_declared import add_declared_twins
from slangad.compiler.check.twins.slang_loop_bounds import add_loop_twins
from slangad.compiler.check.twins.slang_unclipped import callers_without_clips
from slangad.compiler.check.twins.unclipped import without_clips
from slangad.compiler.driver.compile import describe_module
from slangad.compiler.frontends import load
from slangad.compiler.frontends.slang.generics import without_arguments
from slangad.compiler.ir.subset import only
from slangad.compiler.slang_text.endings import is_slang

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.check.memory.apply import MemoryCopy
    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.check.twins.text_twins import TextTwins
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.slang_compilers import SlangCompilers
    from slangad.compiler.frontends.slang.model import SlangSetting
    from slangad.compiler.ir.nodes import Module


@dataclass(frozen=True, slots=True)
class FileDescription:
    """The subjects of one file.

    Attributes:
        subjects: The subjects in the order of the file.
        module: The user's module, with a harness kernel for every subject.
        twins: The same with twins.
        texts: Texts that replace Slang files, by name.
        text_twins: Twins of a Slang file that are built from changed texts.
        unclipped: Functions of a Slang file that are built without the clips of their callees.
    """

    subjects: tuple[Subject, ...]
    module: Module
    twins: TwinModule
    texts: Mapping[str, str]
    text_twins: tuple[TextTwins, ...] = ()
    unclipped: TextTwins | None = None

    @property
    def module_with_twins(self) -> Module:
        """Return the module that is built."""
        return self.twins.module

    def reduced_to(self, subjects: Sequence[Subject]) -> FileDescription:
        """Return the description with the kernels of some subjects only, and their twins."""
        pipelines = [name for s in subjects if s.pipeline for name in s.pipeline.kernels]
        kernels = {*(name for s in subjects for name in (s.kernel, s.launch)), *pipelines}
        names = {name for kernel in kernels for name in (kernel, *self.twins.of(kernel))}
        module = only(self.twins.module, (k for k in self.twins.module.kernels if k.name in names))
        text_twins = tuple(one.reduced_to(kernels) for one in self.text_twins)
        unclipped = self.unclipped.reduced_to(kernels) if self.unclipped else None
        return replace(self, twins=replace(self.twins, module=module), text_twins=text_twins, unclipped=unclipped)


def describe_file(item: Input, options: CheckOptions, compilers: SlangCompilers) -> FileDescription:
    """Return the subjects of a file and their module, after the passes of a compile.

    Raises:
        CompileError: Nothing of the file can be read.
        ToolchainError: Slang dies of it, or there is none.
    """
    loaded: list[FileDescription] = []

    def load_with_twins(_: object, setting: SlangSetting) -> Module:
        loaded.append(_load(item, options, setting))
        return loaded[0].twins.module

    module = describe_module(item, compilers.options, compilers, load_with_twins)
    return replace(loaded[0], twins=replace(loaded[0].twins, module=module))


def _load(item: Input, options: CheckOptions, setting: SlangSetting) -> FileDescription:
    """Return the subjects of a file and their module, before all passes: the check's front end."""
    setting = replace(
        setting,
        lenient=True,
        instances=(0, 0) if options.mutate else (tol.INSTANCES, tol.INSTANCES_OF_FILE),
        included=options.included,
    )
    repair = options.repair and item.live is None
    repaired = load_what_compiles(item.path, setting) if repair else Repaired(None, load(item.source, setting))
    setting = replace(setting, reflect=partial(setting.reflect, others=repaired.others))
    repaired, brought = (repaired, {}) if options.mutate else with_conforming_types(item.path, repaired, setting)
    loaded = with_shapes(repaired.module, options.shapes)
    loaded = add_mutants(loaded, options.probed) if options.mutate else loaded
    loaded, unproduced = _with_second_order(item, loaded, options)
    memory = _memory(item, repaired, loaded, setting) if not options.mutate else None
    module, subjects = find_subjects(memory.module if memory else loaded, _is_users if item.live else None)
    subjects = with_memory(subjects, memory) if memory else subjects
    memory = memory if memory and memory.subjects else None
    subjects = (*repaired.with_broken(subjects), *unproduced)
    if options.mutate:
        alone = (Subject(name, "function", span, skipped=why) for name, span, why in left_alone(loaded))
        subjects = (*(subject for subject in subjects if is_mutant(subject.name)), *alone)
    asked = {text.replace("::", ".") for text in options.specialize}
    subjects = tuple(replace(s, chosen=s.name not in asked and s.plain != s.name) for s in subjects)
    subjects = tuple(_with_untried(subjects, loaded))
    subjects = tuple(replace(s, brought=brought.get(s.plain, "")) if s.chosen else s for s in subjects)
    if not options.mutate:
        subjects = with_directives(subjects, module, str(item.path), options)
    module, loose = without_clips(module)
    subjects = tuple(replace(subject, unclipped=_is_loose(subject, loose)) for subject in subjects)
    twins = _with_twins(module)
    text = memory.text if memory else repaired.text
    texts = {**repaired.others, **({} if text is None else {item.path.name: text})}
    twins = replace(twins, racing=memory.racing, waving=memory.waving) if memory else twins
    if not is_slang(item.path) or options.mutate:
        return FileDescription(subjects, module, twins, texts)
    text = text or decoded_text(item.path)
    twins, made = _with_text_twins(twins, module, text, subjects)
    unclipped = callers_without_clips(module, text, subjects)
    loose = frozenset(unclipped.names) if unclipped else frozenset()
    subjects = tuple(replace(subject, unclipped=subject.kernel in loose) for subject in subjects)
    return FileDescription(subjects, module, twins, texts, made, unclipped)


def _with_second_order(item: Input, module: Module, options: CheckOptions) -> tuple[Module, tuple[Subject, ...]]:
    """Return the module with the subjects of second derivatives if they are wanted, and subjects for what has none."""
    if options.order == 1 or options.mutate or is_slang(item.path):
        return module, ()
    return with_second_order(module, _is_users if item.live else lambda file: file == module.source)


def _is_users(file: str) -> bool:
    """Return True for a file or cell of the user: its functions are checked with the live object that uses them."""
    from slangad.compiler.frontends.python.load import is_library

    return bool(file) and not is_library(file)


def _memory(item: Input, repaired: Repaired, module: Module, setting: SlangSetting) -> MemoryCopy | None:
    """Return the module of a Slang file with memory as inputs of functions, if some use memory."""
    if not is_slang(item.path):
        return None
    return add_memory(item.path, repaired.text or decoded_text(item.path), module, setting, repaired.others)


def _with_twins(module: Module) -> TwinModule:
    """Return the module with the twins of all its kernels."""
    twins = add_frozen_twins(module)
    watched, watches = watch_loops(twins.module, module.kernels)
    recorded = add_index_twins(watched, module.kernels)
    return replace(twins, module=recorded.module, watches=watches, indices=recorded.twins, asked=recorded.asked)


def _with_text_twins(
    twins: TwinModule, module: Module, text: str, subjects: Sequence[Subject]
) -> tuple[TwinModule, tuple[TextTwins, ...]]:
    """Return twins with those of a Slang file that are built from changed texts."""
    counting = add_loop_twins(module, text)
    declared, unclear = add_declared_twins(module, text, subjects)
    watches = {**twins.watches, **(counting.names if counting else {})}
    frozen = {**twins.frozen, **(declared.names if declared else {})}
    made = tuple(one for one in (counting, declared) if one is not None)
    return replace(twins, watches=watches, frozen=frozen, unclear=unclear), made


def _with_untried(subjects: Sequence[Subject], module: Module) -> Iterator[Subject]:
    """Yield subjects; the first instance of each generic function gets the names of those that are not checked."""
    untried: dict[str, list[str]] = {}
    for name in module.untried:
        untried.setdefault(without_arguments(name), []).append(name)
    for subject in subjects:
        names = untried.pop(subject.plain, []) if subject.chosen else []
        yield replace(subject, untried=tuple(names)) if names else subject


def _is_loose(subject: Subject, loose: frozenset[str]) -> bool:
    """Return True if the clips of a subject's callees are left out."""
    kernels = subject.pipeline.kernels if subject.pipeline else (subject.kernel,)
    return not loose.isdisjoint(kernels)
