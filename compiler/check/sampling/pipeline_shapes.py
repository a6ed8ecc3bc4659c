"""Find sizes of a pipeline's values: a domain, and a shape for every tensor, that fit all stages.

Nobody declares shapes. Small ones are tried. If two stages disagree, the parameter of one takes the shape that the
other needs. If an index leads outside a tensor, the tensor grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.sampling.samples import draw_sized
from slangad.compiler.ir.built_in_stages import is_built_in
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.pipelines import ValueArgument
from slangad.compiler.runtime.arrays.prepare import InputError, Prepared
from slangad.compiler.runtime.pipeline.stages import list_shapes, shapes_of, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.run.pipeline_stages import PipelineStages
    from slangad.compiler.ir.nodes import Range
    from slangad.compiler.ir.pipelines import Stage
    from slangad.compiler.runtime.arrays.signature import KernelValue
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline

    Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PipelineShapeSearch:
    """The search for the shapes of one pipeline.

    Attributes:
        oracle: The pipeline stage by stage, for sizes of its values.
        declared: Declared shapes; that of an ``Each`` parameter is the domain.
        ranges: Declared ranges.
    """

    runnable: RunnablePipeline
    oracle: Callable[[Prepared], PipelineStages]
    declared: Mapping[str, Shape]
    ranges: Iterable[Range]
    seed: int

    def find(self) -> Prepared | str:
        """Return the sizes, or the reason why none fit."""
        why = ""
        for sizes in tol.PIPELINE_TENSORS:
            prepared = self._from(sizes)
            if isinstance(prepared, Prepared):
                return prepared
            why = why or prepared
        return why

    def _from(self, sizes: tuple[int, ...]) -> Prepared | str:
        prepared = self._first(sizes)
        for _ in range(tol.SHAPE_ROUNDS):
            agreed = self._agreed(prepared)
            if isinstance(agreed, str):
                return agreed
            prepared = self._grown(agreed)
            if prepared == agreed:
                break
            large = [n for n, shape in prepared.extents.items() if math.prod(shape) > tol.PIPELINE_TENSOR_MOST]
            if large or math.prod(prepared.domain) > tol.PIPELINE_TENSOR_MOST:
                return f"{', '.join(large) or 'its domain'} would have to be too large: {self._remedy()}"
        else:
            return f"no shapes of its tensors fit its indices: {self._remedy()}"
        return self._outside(prepared) or prepared

    def _first(self, sizes: tuple[int, ...]) -> Prepared:
        signature = self.runnable.signature
        declared = [self.declared[v.name] for v in signature.parameters if v.per_element and v.name in self.declared]
        extents = {v.name: self.declared.get(v.name, _guess(v, sizes)) for v in signature.parameters if v.is_tensor}
        each = any(v.per_element for v in signature.parameters)
        domain = declared[0] if declared else tol.DOMAINS[signature.dims] if each else (1,) * signature.dims
        return Prepared(domain, extents, {})

    def _agreed(self, prepared: Prepared) -> Prepared | str:
        """Return sizes on which all stages agree."""
        for _ in range(tol.SHAPE_ROUNDS):
            wrong = self._disagreement(prepared)
            corrected = self._corrected(prepared) if wrong else prepared
            if corrected is None or (wrong and corrected == prepared):
                return f"{wrong}: {self._remedy()}"
            if not wrong:
                return prepared
            prepared = corrected
        return f"its stages do not agree about sizes: {self._remedy()}"

    def _disagreement(self, prepared: Prepared) -> str:
        """Return the runtime's error for these sizes; empty if they are right."""
        try:
            shapes_of(self.runnable, prepared)
        except InputError as error:
            return error.diagnostics[0].message
        return ""

    def _corrected(self, prepared: Prepared) -> Prepared | None:
        """Return the sizes with one parameter corrected for the first stage that disagrees; None if none can be."""
        known: dict[str, Shape] = dict(prepared.extents)
        known |= {
            v.name: prepared.domain if v.per_element else ()
            for v in self.runnable.signature.parameters
            if not v.is_tensor
        }
        free = {v.name for v in self.runnable.signature.parameters if v.name not in self.declared}
        for stage in self.runnable.pipeline.stages:
            signature = self.runnable.kernels[stage.kernel].signature
            if is_built_in(stage):
                names = [a.value for a in stage.arguments if isinstance(a, ValueArgument)]
                items = known[next((name for name in names if name not in free), names[0])]
                for name in names:
                    if known[name] != items and name in free:
                        return _with(prepared, name, items)
                known |= list_shapes(stage, known)
                continue
            sizes = [known[name] for name in self._elementwise(stage) if name not in free]
            sizes = [tuple(size_of(size, known) for size in stage.domain), *sizes] if stage.domain else sizes
            sizes += [known[name] for name in self._elementwise(stage) if name in free]
            domain = sizes[0] if sizes else next(iter(self._written(stage, known)), ())
            for name in self._elementwise(stage):
                if known[name] != domain and name in free:
                    return _with(prepared, name, domain)
            returned = [r for r in signature.results if not r.param]
            known |= {n: domain if r.per_element else () for n, r in zip(stage.results, returned, strict=True)}
        return None

    def _elementwise(self, stage: Stage) -> Iterator[str]:
        parameters = self.runnable.kernels[stage.kernel].signature.parameters
        for value, argument in zip(parameters, stage.arguments, strict=True):
            if isinstance(argument, ValueArgument) and value.per_element:
                yield argument.value

    def _written(self, stage: Stage, known: Mapping[str, Shape]) -> Iterator[Shape]:
        signature = self.runnable.kernels[stage.kernel].signature
        for value, argument in zip(signature.parameters, stage.arguments, strict=True):
            if isinstance(argument, ValueArgument) and value.is_written:
                yield known[argument.value][: signature.dims]

    def _grown(self, prepared: Prepared) -> Prepared:
        """Return sizes with room for every index: in its parameter if that is free, else in all free parameters."""
        oracle = self.oracle(prepared)
        rows = self._rows(oracle)
        for stage, name, axis, most in list(oracle.most(rows)):
            owner = next(use.version for use in stage.uses if use.value.name == name).partition("@")[0]
            shape = oracle.shapes.values[owner]
            if most < shape[axis]:
                continue
            if owner in prepared.extents and owner not in self.declared:
                wanted = tuple(most + 1 if k == axis else extent for k, extent in enumerate(shape))
                return _with(prepared, owner, wanted)
            free = {n: tuple(2 * x for x in s) if n not in self.declared else s for n, s in prepared.extents.items()}
            return Prepared(tuple(2 * x if x > 1 else x for x in prepared.domain), free, {})
        return prepared

    def _outside(self, prepared: Prepared) -> str:
        """Return the reason why most samples are out of bounds; empty if they are not."""
        oracle = self.oracle(prepared)
        rows = self._rows(oracle)
        inside = oracle.inside(rows)
        if inside.mean() >= tol.SHAPE_INSIDE:
            return ""
        full = oracle.full_lists(rows[~inside])
        if full is not None:
            return f"{full.shown(len(rows))}: {full.remedy}, or a shape of fewer items"
        return f"its indices lead outside its tensors: {self._remedy()}"

    def _rows(self, oracle: PipelineStages) -> Floats:
        name, count = self.runnable.pipeline.name, tol.PIPELINE_SHAPE_SAMPLES
        return draw_sized(oracle.inputs.columns, self.ranges, count, self.seed, name).rows

    def _remedy(self) -> str:
        name = self.runnable.pipeline.name
        return f"declare shapes of its tensors (--shape {name}.tensor=16x4) or ranges of its indices"


def _guess(value: KernelValue, sizes: tuple[int, ...]) -> Shape:
    return tol.PIPELINE_TEXTURE if value.memory is Memory.TEXTURE2D else sizes[: value.axes]


def _with(prepared: Prepared, name: str, shape: Shape) -> Prepared:
    if name in prepared.extents:
        return Prepared(prepared.domain, {**prepared.extents, name: shape}, {})
    return Prepared(shape, prepared.extents, {})
