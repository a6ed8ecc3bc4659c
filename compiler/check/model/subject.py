"""One function, kernel or pipeline to check, and the facts that its text and its module give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check.model.integers import NO_INTEGERS, Integers
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
        unset: Why it can't be run by itself; empty if it can.
        bits: Why nobody knows what its gradient should be; empty if that is known.
        plain: Its parameters without ``no_diff``; none if it has derivatives of its own, whose heads say it.
        calls: All names of functions that its derivative is made from; none if it has derivatives of its own.
        signature: The types of its parameters, in parentheses.
    """

    unset: str = ""
    bits: str = ""
    plain: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    signature: str = ""


@dataclass(frozen=True, slots=True)
class CheckedPipeline:
    """A pipeline to check.

    Attributes:
        apart: Every stage by itself, calling kernels of the module.
        joined: The same as it is run, with neighbouring stages joined.
        shown: What the user calls each kernel of ``apart``.
        ranges: Where its parameters are drawn: as declared for the kernels they are passed to, indices within arrays.
        shapes: Of its parameters, declared in the same way.
    """

    apart: Pipeline
    joined: Pipeline
    shown: Mapping[str, str]
    ranges: tuple[Range, ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels of all stages."""
        stages = (*self.apart.stages, *self.joined.stages)
        return tuple(dict.fromkeys(stage.kernel for stage in stages))

    @property
    def outside(self) -> Kernel:
        """A kernel that takes and gives the same."""
        results = tuple(KernelResult(r.name, r.memory, r.type) for r in self.apart.results)
        return Kernel(self.apart.name, "", self.apart.params, results, span=self.apart.span)


@dataclass(frozen=True, slots=True)
class Subject:
    """One function or kernel to check.

    Attributes:
        name: As the user knows it; overloads share theirs.
        kernel: The harness kernel's name; empty if there is none, and then ``skipped`` says why.
        function: The key of what a thread does.
        missing: Modes it can't have, each with the reason.
        doubts: Why some mode is likely to be wrong.
        policy: What was declared about its derivative, if it was described.
        launch: The name of the kernel as it is launched, where it adds something up.
        pipeline: The stages of a pipeline.
        facts: Facts that the text of a Slang file gives, where the head of the function was found.
        integers: Where integers are worth a try, as far as it is described.
        unclipped: Whether the clips of what it calls are left out.
        failure: Why it fails without being run.
        signature: The types of its parameters in parentheses, as far as that may tell it from others of its name.
        apart: What does tell it from those; see ``told_apart``.
    """

    name: str
    kind: Kind
    span: Span
    kernel: str = ""
    function: str = ""
    ranges: tuple[Range, ...] = ()
    skipped: str = ""
    missing: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    policy: Derivative | None = None
    launch: str = ""
    pipeline: CheckedPipeline | None = None
    facts: SourceFacts | None = None
    integers: Integers = NO_INTEGERS
    unclipped: bool = False
    failure: Disagreement | None = None
    signature: str = ""
    apart: str = ""

    @property
    def label(self) -> str:
        """Its name in reports, which nothing else in its file has."""
        return f"{self.name}{self.apart}"
