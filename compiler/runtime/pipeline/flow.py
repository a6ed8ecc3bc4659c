"""Find the values that each stage of a pipeline uses and makes, version by version, and where gradient flows.

A stage that writes a tensor makes a new version of it, so that the reverse pass finds the version the stage read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.ir.pipelines import Fixed, ValueArgument

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from slangad.compiler.emit.model import Mode
    from slangad.compiler.ir.pipelines import Stage
    from slangad.compiler.runtime.arrays.signature import KernelValue
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline


@dataclass(frozen=True, slots=True)
class Use:
    """A kernel's parameter and the version of a value passed for it; ``made`` is the version that a stage writes."""

    value: KernelValue
    version: str
    made: str = ""


@dataclass(frozen=True, slots=True)
class StageFlow:
    """One stage.

    Attributes:
        number: Its index.
        stage: As described.
        uses: The values it is passed.
        fixed: The constants it is passed, by the kernel's parameter names.
        makes: The kernel's results and the versions they become.
        active: True if gradient flows through it.
    """

    number: int
    stage: Stage
    uses: tuple[Use, ...]
    fixed: Mapping[str, Fixed]
    makes: tuple[Use, ...]
    active: bool


@dataclass(frozen=True, slots=True)
class GradientFlow:
    """All stages, the last version of every value, and the versions that gradient flows into."""

    stages: tuple[StageFlow, ...]
    last: Mapping[str, str]
    active: frozenset[str]

    def leads_to(self, version: str, outputs: Collection[str]) -> bool:
        """Return True if gradient flows from one of some outputs to a version, through the stages that take it."""
        reached = set(outputs) - {version}
        for stage in reversed(self.stages):
            made = {use.made for use in stage.uses if use.made} | {use.version for use in stage.makes}
            if stage.active and not reached.isdisjoint(made):
                reached |= {use.version for use in stage.uses if use.value.differentiable}
        return version in reached


def flow_of(runnable: RunnablePipeline, roots: Collection[str], mode: Mode) -> GradientFlow:
    """Return the flow when gradients (tangents, in forward mode) of some parameters are wanted."""
    last = {p.name: p.name for p in runnable.pipeline.params}
    active = set(roots)
    stages = []
    for number, stage in enumerate(runnable.pipeline.stages):
        plan = runnable.kernels[stage.kernel]
        bound = tuple(zip(plan.signature.parameters, stage.arguments, strict=True))
        uses = tuple(_use(value, a, last, number) for value, a in bound if isinstance(a, ValueArgument))
        fixed = {value.name: a for value, a in bound if isinstance(a, Fixed)}
        returned = (r for r in plan.signature.results if not r.param)
        makes = tuple(Use(r, name) for r, name in zip(returned, stage.results, strict=True))
        flows = bool(plan.entries.get(mode)) and any(u.value.differentiable and u.version in active for u in uses)
        last |= {a.value: u.made for a, u in zip(_value_arguments(stage), uses, strict=True) if u.made}
        last |= {use.version: use.version for use in makes}
        if flows:
            active |= {u.made for u in uses if u.made and u.value.differentiable}
            active |= {u.version for u in makes if u.value.differentiable}
        stages.append(StageFlow(number, stage, uses, fixed, makes, flows))
    return GradientFlow(tuple(stages), last, frozenset(active))


def _value_arguments(stage: Stage) -> Iterator[ValueArgument]:
    return (a for a in stage.arguments if isinstance(a, ValueArgument))


def _use(value: KernelValue, argument: ValueArgument, last: Mapping[str, str], number: int) -> Use:
    version = last[argument.value]
    return Use(value, version, f"{argument.value}@{number}" if value.is_written else "")
