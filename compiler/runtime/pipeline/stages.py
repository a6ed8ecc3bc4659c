"""Compute the domain of each stage of a pipeline, and the shape of every value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.built_in_stages import BIN, ORDER, is_built_in
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.pipelines import Computed, Extended, ValueArgument
from slangad.compiler.runtime.arrays.prepare import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.ir.pipelines import Size, Stage
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import KernelSignature, KernelValue
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline

    Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StageShape:
    """The domain of a stage, and the shape of each tensor by the kernel's name for it."""

    domain: Shape
    extents: Mapping[str, Shape]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Axes of every value before those of one element, and the shapes of the stages."""

    values: Mapping[str, Shape]
    stages: tuple[StageShape, ...]


def shapes_of(runnable: RunnablePipeline, prepared: Prepared) -> Shapes:
    """Return the shapes that follow from the inputs.

    Raises:
        InputError: A stage's arguments don't fit together.
    """
    known = dict(_parameter_shapes(runnable, prepared))
    stages = []
    for stage in runnable.pipeline.stages:
        signature = runnable.kernels[stage.kernel].signature
        bound = list(zip(signature.parameters, stage.arguments, strict=True))
        extents = {v.name: known[a.value] for v, a in bound if v.is_tensor and isinstance(a, ValueArgument)}
        if is_built_in(stage):
            stages.append(_list_stage(stage, extents, known))
            known |= list_shapes(stage, known)
            continue
        domain = _domain(stage, signature, known)
        stages.append(StageShape(domain, extents))
        returned = [r for r in signature.results if not r.param]
        known |= {n: domain if r.per_element else () for n, r in zip(stage.results, returned, strict=True)}
    return Shapes(known, tuple(stages))


def list_shapes(stage: Stage, known: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of the results of ``sa.bin``: the grid, the grid, and the length of the list."""
    *tiles, capacity = (size_of(size, known) for size in stage.domain)
    return dict(zip(stage.results, ((*tiles,), (*tiles,), (capacity,)), strict=True))


def _list_stage(stage: Stage, extents: Mapping[str, Shape], known: Mapping[str, Shape]) -> StageShape:
    tiles, _, order = list_shapes(stage, known).values()
    first, *others = extents.items()
    for name, shape in (first, *others):
        if len(shape) != 1 or shape != first[1]:
            message = f"{BIN}: {name} has {_elements(shape)} and {first[0]} has {_elements(first[1])}"
            raise _refused(stage, message, "each item has a box, and they are in one row")
    return StageShape(tiles, {**extents, ORDER: order})


def _parameter_shapes(runnable: RunnablePipeline, prepared: Prepared) -> Iterator[tuple[str, Shape]]:
    for value in runnable.signature.parameters:
        if value.is_tensor:
            yield value.name, prepared.extents[value.name]
        else:
            yield value.name, prepared.domain if value.memory is Memory.EACH else ()


def _domain(stage: Stage, signature: KernelSignature, known: Mapping[str, Shape]) -> Shape:
    shapes = list(_domains(stage, signature, known))
    if stage.domain:
        shapes.insert(0, ("domain=", tuple(size_of(size, known) for size in stage.domain)))
    if not shapes:
        shapes = [(n, s[: signature.dims]) for n, s in _written(stage, signature, known) if len(s) >= signature.dims]
    if not shapes:
        help_ = f"write {stage.kernel}(…, domain=…)"
        raise _refused(stage, f"the domain of {stage.kernel} is unknown", help_)
    first, domain = shapes[0]
    if len(domain) != signature.dims:
        raise _refused(stage, f"{stage.kernel} has {signature.dims} axes, {first} has {len(domain)}")
    for name, shape in shapes[1:]:
        if shape != domain:
            message = f"{stage.kernel}: {name} has {_elements(shape)} and {first} has {_elements(domain)}"
            raise _refused(stage, message, "an array with one element per thread has the shape of the domain")
    return domain


def _domains(stage: Stage, signature: KernelSignature, known: Mapping[str, Shape]) -> Iterator[tuple[str, Shape]]:
    for value, name in _values(stage, signature):
        if value.per_element:
            yield name, known[name]


def _written(stage: Stage, signature: KernelSignature, known: Mapping[str, Shape]) -> Iterator[tuple[str, Shape]]:
    for value, name in _values(stage, signature):
        if value.is_written:
            yield name, known[name]


def _values(stage: Stage, signature: KernelSignature) -> Iterator[tuple[KernelValue, str]]:
    for value, argument in zip(signature.parameters, stage.arguments, strict=True):
        if isinstance(argument, ValueArgument):
            yield value, argument.value


def size_of(size: Size, known: Mapping[str, Shape]) -> int:
    """Return the value of a size."""
    match size:
        case int():
            return size
        case Extended(value, axis):
            return known[value][axis]
        case Computed(op, left, right):
            return _computed(op, size_of(left, known), size_of(right, known))
        case _:
            assert_never(size)


def _computed(op: str, a: int, b: int) -> int:
    match op:
        case "+":
            return a + b
        case "-":
            return max(a - b, 0)
        case "*":
            return a * b
        case _:
            return a // b if b else 0


def _elements(shape: Shape) -> str:
    return f"{'x'.join(map(str, shape)) or 'no'} elements"


def _refused(stage: Stage, message: str, help_: str = "") -> InputError:
    return InputError([Diagnostic("SA414", message, stage.span, help=help_)])
