"""Define one function, kernel or pipeline to check, with the facts from its text and its module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.check.model.integers import NO_INTEGERS, Integers
from slangad.compiler.check.model.names import broken_of
from slangad.compiler.frontends.reading.directives import NO_DIRECTIVES, Directives
from slangad.compiler.frontends.slang.generics import without_arguments
from slangad.compiler.ir.built_in_stages import is_built_in
from slangad.compiler.ir.nodes import Kernel, KernelResult, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.check.model.outcomes import Disagreement
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Derivative
    from slangad.compiler.ir.pipelines import Pipeline
    from slangad.compiler.report.model import Kind


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts about a function that its text gives.

    Attributes:
        unset: The reason why it can't be run by itself; empty if it can.
        bits: The reason why its gradient is unknown; empty if it is known.
        plain: Its parameters without ``no_diff``; none if its derivative is custom.
        calls: Names of all functions that its derivative uses; none if its derivative is custom.
        signature: The types of its parameters, in parentheses.
        treated: True if it is ``[TreatAsDifferentiable]``, which declares that it has no derivative.
        shared: The same reason if it, its derivative or a callee reads a groupshared variable. It outweighs ``unset``.
    """

    unset: str = ""
    bits: str = ""
    plain: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    signature: str = ""
    treated: bool = False
    shared: str = ""


@dataclass(frozen=True, slots=True)
class CheckedPipeline:
    """A pipeline to check.

    Attributes:
        apart: Every stage by itself, calling kernels of the module.
        joined: The pipeline as it is run, with neighbouring stages joined.
        shown: The user's names of the kernels of ``apart``.
        ranges: Ranges of its parameters: those declared for the kernels that take them, and of indices into arrays.
        shapes: The declared shapes of its parameters, in the same way.
    """

    apart: Pipeline
    joined: Pipeline
    shown: Mapping[str, str]
    ranges: tuple[Range, ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the kernels of all stages."""
        stages = (*self.apart.stages, *self.joined.stages)
        return tuple(dict.fromkeys(stage.kernel for stage in stages if not is_built_in(stage)))

    @property
    def outside(self) -> Kernel:
        """Return a kernel with the same parameters and results."""
        results = tuple(KernelResult(r.name, r.memory, r.type) for r in self.apart.results)
        return Kernel(self.apart.name, "", self.apart.params, results, span=self.apart.span)


@dataclass(frozen=True, slots=True)
class Subject:
    """One function or kernel to check.

    Attributes:
        name: The name that the user knows; overloads share it.
        kernel: The harness kernel's name; empty if there is none, and then ``skipped`` says why.
        function: The key of the function that a thread runs.
        missing: Modes it can't have, each with the reason.
        policy: The declaration of its derivative, in a description.
        launch: The name of the kernel as it is launched, where it adds something up.
        pipeline: The stages of a pipeline.
        facts: Facts that the text of a Slang file gives, where the head of the function was found.
        integers: Integers worth a try, of a description.
        unclipped: The clips of functions that it calls are left out.
        failure: The reason why it fails before it runs.
        signature: The types of its parameters in parentheses, if others may have the same name.
        memory: The memory in which gradients accumulate, by the memory that they belong to.
        active_memory: All memory with a gradient.
        in_turn: True if threads add to memory one after the other, since a condition chooses between plain and atomic
            additions.
        apart: Added to its name where others have the same; see ``subjects.overloads``.
        chosen: True if it is an instance of a generic function with arguments that the check chose.
        directives: The user's declarations about its check.
        untried: Instances of the same generic function that Slang knows and that are not checked, on its first one.
        brought: A sentence about the import of a module that it needs as an instance of a generic function.
    """

    name: str
    kind: Kind
    span: Span
    kernel: str = ""
    function: str = ""
    ranges: tuple[Range, ...] = ()
    skipped: str = ""
    missing: tuple[tuple[str, str], ...] = ()
    policy: Derivative | None = None
    launch: str = ""
    pipeline: CheckedPipeline | None = None
    facts: SourceFacts | None = None
    integers: Integers = NO_INTEGERS
    unclipped: bool = False
    failure: Disagreement | None = None
    signature: str = ""
    memory: Mapping[str, str] = field(default_factory=dict)
    active_memory: frozenset[str] = frozenset()
    in_turn: bool = False
    apart: str = ""
    chosen: bool = False
    directives: Directives = NO_DIRECTIVES
    untried: tuple[str, ...] = ()
    brought: str = ""

    @property
    def plain(self) -> str:
        """Return its name without generic arguments."""
        return without_arguments(self.name)

    @property
    def names(self) -> frozenset[str]:
        """Return the names by which the user may mean it."""
        return frozenset({self.label, self.name, broken_of(self.name), self.plain})

    @property
    def label(self) -> str:
        """Return its name in reports, which nothing else in its file has."""
        return f"{self.name}{self.apart}"


def by_place(subject: Subject) -> tuple[bool, str, int, int]:
    """Return a sort key by location. Unknown locations come last."""
    span = subject.span
    return not span.line, span.file, span.line, span.column
