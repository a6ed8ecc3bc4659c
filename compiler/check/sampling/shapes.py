"""Find sizes of launches: a domain, and a shape for every tensor, that fit a kernel's indices.

Nobody declares shapes. The domain is an odd number of a few threads. A tensor that is read at ``w[i, 3]`` needs four
columns: a twin runs with small tensors and records its indices, and the tensors grow until all indices fit. A tensor
whose extent the kernel asks for gets a few elements, since the kernel copes with any extent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.integers import NO_INTEGERS
from slangad.compiler.check.model.launch_columns import Extents, launch_inputs
from slangad.compiler.check.run.launch import within
from slangad.compiler.check.sampling.samples import draw_random, draw_sized
from slangad.compiler.check.twins.index_ranges import axes_of, rank_of
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slangad.compiler.check.model.arrays import Floats
    from slangad.compiler.check.model.columns import ColumnTable
    from slangad.compiler.check.model.integers import Integers
    from slangad.compiler.check.run.launch import LaunchRunner
    from slangad.compiler.ir.nodes import Kernel, KernelParam, Range

    Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShapeSearch:
    """The search for the shapes of one kernel.

    Attributes:
        twin: The twin that records indices, for a launch of some size.
        asked: Axes whose extents the kernel asks for.
        declared: Declared shapes; that of an ``Each`` parameter is the domain.
        ranges: Declared ranges.
        domain: The domain; empty if it is free.
        samples: The number of samples that show indices.
        integers: Integers worth a try, among them numbers of threads.
    """

    kernel: Kernel
    twin: Callable[[Extents], LaunchRunner]
    asked: frozenset[tuple[str, int]]
    declared: Mapping[str, Shape]
    ranges: Iterable[Range]
    seed: int
    domain: Shape = ()
    samples: int = tol.SHAPE_SAMPLES
    integers: Integers = NO_INTEGERS

    def find(self) -> Extents | str:
        """Return the size of a launch, or the reason why none fits."""
        for name, shape in self.declared.items():
            axes = next((self._axes(p) for p in self.kernel.params if p.name == name), 0)
            if len(shape) != axes:
                return f"{name} is declared to have the shape {show(shape)}, and has {axes} axes"
        extents = self._first()
        refusal = ""
        doublings = tol.SHAPE_DOUBLINGS
        for _ in range(tol.SHAPE_ROUNDS):
            least, most, share = self._reached(extents)
            wanted = self._wanted(extents, most)
            if wanted == extents and share >= tol.SHAPE_INSIDE:
                return extents
            if wanted == extents:
                refusal = refusal or self._outside(extents, least, most)
                wanted = self._doubled(extents, least)
                doublings -= 1
                if wanted == extents or doublings < 0:
                    return refusal
            large = next((n for n, shape in wanted.shapes.items() if math.prod(shape) > tol.TENSOR_MOST), "")
            if large:
                return f"{large} would need the shape {show(wanted.shapes[large])}: {_remedy(self.kernel, large)}"
            extents = wanted
        name = next(iter(extents.shapes), "")
        return f"no shapes of its tensors fit its indices: {_remedy(self.kernel, name)}"

    def _axes(self, param: KernelParam) -> int:
        """Return the number of axes of a parameter's shape; an ``Each`` has those of the domain."""
        return self.kernel.dims if param.memory is Memory.EACH else rank_of(param.type)

    def at(self, domain: Shape, small: Extents) -> Extents | str:
        """Return the size of a launch over another domain; no tensor is smaller than in a fitting small launch."""
        launch = replace(self, domain=domain, samples=tol.SHAPE_SAMPLES_AGAIN).find()
        if isinstance(launch, str):
            return launch
        ruled = {p.name for p in self.kernel.params if self._rules(p)}
        shapes = {
            name: shape if name in ruled else tuple(map(max, shape, small.shapes[name]))
            for name, shape in launch.shapes.items()
        }
        return Extents(domain, shapes)

    def _first(self) -> Extents:
        """Return the domain, and tensors of its shape or of a few elements."""
        each = [p.name for p in self.kernel.params if p.memory is Memory.EACH]
        ruling = each or [p.name for p in self.kernel.params if self._rules(p)]
        declared = [self.declared[name] for name in ruling if len(self.declared.get(name, ())) == self.kernel.dims]
        domain = self.domain or (declared[0] if declared else self._chosen())
        shapes: dict[str, Shape] = {}
        for param in self.kernel.params:
            rank = rank_of(param.type)
            if rank and param.name in self.declared:
                shapes[param.name] = self.declared[param.name]
            elif rank:
                alike = rank == self.kernel.dims and param.memory is not Memory.TEXTURE2D
                shapes[param.name] = domain if alike else tol.TENSOR_EXTENTS[:rank]
        return Extents(domain, shapes)

    def _chosen(self) -> Shape:
        """Return a small domain that exceeds the numbers that a thread's own number is compared with, up to a limit.

        Where threads compute together, it has more than one group if that fits.
        """
        extents = list(tol.DOMAINS[self.kernel.dims])
        for axis, number in self.integers.threads:
            wanted = [*extents[:axis], max(extents[axis], number + 2), *extents[axis + 1 :]]
            if math.prod(wanted) <= tol.DOMAIN_MOST:
                extents = wanted
        more = [*extents[:-1], max(extents[-1], self.kernel.group_size[-1] + 1)]
        return tuple(more if self.kernel.in_step and math.prod(more) <= tol.DOMAIN_MOST else extents)

    def _rules(self, param: KernelParam) -> bool:
        """Return True if the shape of a tensor is the domain, because nothing else determines the domain."""
        memories = [*(p.memory for p in self.kernel.params), *(r.memory for r in self.kernel.results)]
        if Memory.EACH in memories:
            return False
        return param.memory.is_written and rank_of(param.type) == self.kernel.dims

    def _reached(self, extents: Extents) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], int], float]:
        """Return the least and the largest index of each axis, and the share of samples whose indices fit."""
        runner = self.twin(extents)
        inputs = launch_inputs(self.kernel, extents)
        rows = self._drawn(inputs)
        reached = runner.index_ranges(rows)
        axes = axes_of(self.kernel)
        if not axes:
            return {}, {}, 1.0
        least, most = reached[:, :, 0].min(axis=0), reached[:, :, 1].max(axis=0)
        share = float(within(reached, self.kernel, extents).mean())
        return (
            {axis: int(v) for axis, v in zip(axes, least, strict=True)},
            {axis: int(v) for axis, v in zip(axes, most, strict=True)},
            share,
        )

    def _drawn(self, inputs: ColumnTable) -> Floats:
        """Return samples, also with integers that are equal or as large as possible."""
        columns, name = inputs.columns, self.kernel.name
        if self.samples < tol.SHAPE_SAMPLES and len(columns) <= tol.LARGE_LAUNCH:
            return draw_random(columns, self.ranges, self.samples, self.seed, name, self.integers)
        return draw_sized(columns, self.ranges, self.samples, self.seed, name, (), self.integers).rows

    def _wanted(self, extents: Extents, most: Mapping[tuple[str, int], int]) -> Extents:
        """Return shapes that fit every index; they are larger only if the kernel asks for the extent."""
        ruled = {p.name for p in self.kernel.params if self._rules(p)}
        shapes = {
            name: shape
            if name in self.declared or name in ruled
            else tuple(self._extent(name, axis, size, most[name, axis]) for axis, size in enumerate(shape))
            for name, shape in extents.shapes.items()
        }
        return Extents(extents.domain, shapes)

    def _extent(self, name: str, axis: int, size: int, most: int) -> int:
        if most < 0:
            return size
        texture = any(p.name == name and p.memory is Memory.TEXTURE2D for p in self.kernel.params)
        return max(size, most + 1) if texture or (name, axis) in self.asked else most + 1

    def _doubled(self, extents: Extents, least: Mapping[tuple[str, int], int]) -> Extents:
        """Return shapes that are larger where an index below 0 may depend on the extent: ``2 * n - 2 - i`` mirrors."""
        ruled = {p.name for p in self.kernel.params if self._rules(p)}
        kept = {*self.declared, *ruled}
        shapes = {
            name: tuple(
                2 * size if name not in kept and (name, axis) in self.asked and least[name, axis] < 0 else size
                for axis, size in enumerate(shape)
            )
            for name, shape in extents.shapes.items()
        }
        return Extents(extents.domain, shapes)

    def _outside(
        self, extents: Extents, least: Mapping[tuple[str, int], int], most: Mapping[tuple[str, int], int]
    ) -> str:
        """Return the message about an index that leads outside."""
        for (name, axis), low in least.items():
            size = extents.shapes[name][axis]
            if low < 0 or most[name, axis] >= size:
                index = low if low < 0 else most[name, axis]
                return f"index {index} is outside {name} {show(extents.shapes[name])}: {_remedy(self.kernel, name)}"
        return f"its indices lead outside its tensors: {_remedy(self.kernel, '')}"


def show(shape: Shape) -> str:
    """Return a shape as users write it on the command line."""
    return "x".join(str(extent) for extent in shape)


def _remedy(kernel: Kernel, name: str) -> str:
    place = f"{kernel.name}.{name or 'tensor'}"
    rank = next((rank_of(p.type) for p in kernel.params if p.name == name), 2)
    example = show((16, *(4,) * (rank - 1)))
    return f"declare ranges of its indices, or its shape (--shape {place}={example})"
