"""Keep the values, gradients and tangents of a pipeline in buffers on a device, and plan its launches.

``forward``, ``backward`` and ``jvp`` return the launches in order; nothing is copied between host and device in
between. A value that several stages use gets the sum of their gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.entry_points.steps import state_scalar
from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.ir.built_in_stages import ORDER, is_built_in
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.prepare import Prepared
from slangad.compiler.runtime.arrays.signature import DTYPES
from slangad.compiler.runtime.device.tensors import borrowed_buffer, buffer_on, is_tensor, set_to, synchronize
from slangad.compiler.runtime.pipeline.flow import flow_of
from slangad.compiler.runtime.pipeline.run_kernel import Run
from slangad.compiler.runtime.pipeline.steps import Steps, scalar_name, submit
from slangad.compiler.runtime.pipeline.tile_lists import ListBuffers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import numpy.typing as npt

    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelValue, Path
    from slangad.compiler.runtime.device.model import Device, DeviceBuffer, DeviceProgram
    from slangad.compiler.runtime.pipeline.flow import GradientFlow, StageFlow, Use
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.pipeline.stages import Shapes
    from slangad.compiler.runtime.pipeline.steps import Planned, Step

    Array = npt.NDArray[Any]
    Place = tuple[str, Path]

Role = ParameterRole
_ROLES: Final = {Memory.UNIFORM: (Role.UNIFORM,), Memory.TEXTURE2D: (Role.INPUT, Role.TANGENT)}
"""Memories without a buffer; they are bound again for each stage."""


@dataclass
class Resident:
    """The buffers of a pipeline by version and path, and the launches of its modes.

    Attributes:
        values: The values that stages read and make.
        gradients: Of versions that gradient flows into; float or double.
        tangents: Of versions, for forward mode.
        seeds: The initial gradients of results.
        stored: Gradients that a single stage makes and stores completely.
        runs: Each stage by number and mode, with its scratch memory.
        lists: Lists that a device makes, and the lengths that they needed.
    """

    device: Device
    program: DeviceProgram
    runnable: RunnablePipeline
    prepared: Prepared
    shapes: Shapes
    roots: Collection[str]
    steps: Steps = field(default_factory=Steps)
    values: dict[Place, DeviceBuffer] = field(default_factory=dict)
    gradients: dict[Place, DeviceBuffer] = field(default_factory=dict)
    tangents: dict[Place, DeviceBuffer] = field(default_factory=dict)
    seeds: dict[Place, DeviceBuffer] = field(default_factory=dict)
    runs: dict[tuple[int, bool], Run] = field(default_factory=dict)
    scratch: list[DeviceBuffer] = field(default_factory=list)
    stored: set[Place] = field(default_factory=set)
    lists: list[tuple[ListBuffers, DeviceBuffer]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for value in self.runnable.signature.parameters:
            if value.memory in (Memory.UNIFORM, Memory.TEXTURE2D):
                continue
            for part in value.parts:
                self.values[value.name, part.path] = self._uploaded(value.name, part)

    def close(self) -> None:
        """Release all memory."""
        groups = (self.values, self.gradients, self.tangents, self.seeds)
        known = [*(b for buffers in groups for b in buffers.values()), *self.scratch]
        known += [b for run in self.runs.values() for b in (*run.buffers.values(), *run.textures.values())]
        for buffer in {id(b): b for b in known}.values():
            if hasattr(buffer, "close"):
                buffer.close()

    # --- buffers ---

    def buffer(self, scalar: str, count: int, *, fill: float | None = 0.0) -> DeviceBuffer:
        """Allocate memory that ``close`` releases."""
        import numpy as np

        made = buffer_on(self.device, self.prepared.place, np.dtype(DTYPES[scalar]), count)
        self.scratch.append(made)
        if fill is not None and count:
            made.fill(fill)
        return made

    def _uploaded(self, name: str, part: ArrayPart) -> DeviceBuffer:
        import numpy as np

        inputs = self.prepared.arrays.get((Role.INPUT, name, part.path))
        if is_tensor(inputs):
            return borrowed_buffer(inputs, np.dtype(part.device_dtype), self.prepared.place)
        buffer = self.buffer(
            "uint" if part.device_dtype == "u4" else part.scalar.name, self.count(name, part), fill=None
        )
        set_to(buffer, inputs, 0.0)
        return buffer

    def count(self, version: str, part: ArrayPart) -> int:
        """Return the number of scalars of a part of a value."""
        return math.prod((*self.shapes.values[version.partition("@")[0]], *part.shape))

    def _value(self, version: str, part: ArrayPart, scalar: str) -> DeviceBuffer:
        return self._kept(self.values, version, part, scalar)

    def gradient(self, version: str, part: ArrayPart) -> DeviceBuffer:
        """Return the buffer that collects the gradients of a version."""
        return self._kept(self.gradients, version, part, state_scalar(part.scalar.name))

    def add_to_gradient(self, version: str, part: ArrayPart, value: Array) -> Step:
        """Return the launch that adds a given array, to submit after the backward pass."""
        total = self.gradient(version, part)
        added = self.buffer(scalar_name(total), total.count, fill=None)
        set_to(added, value, None)
        return self.steps.add(added, total)

    def _kept(self, where: dict[Place, DeviceBuffer], version: str, part: ArrayPart, scalar: str) -> DeviceBuffer:
        place = (version, part.path)
        if place not in where:
            where[place] = self.buffer(scalar, self.count(version, part))
        return where[place]

    # --- stages ---

    def _run(self, stage: StageFlow, *, tangents: bool = False) -> Run:
        """Return the stage as a run of its kernel, its scratch memory kept from one time to the next."""
        if (stage.number, tangents) not in self.runs:
            shape = self.shapes.stages[stage.number]
            arrays = dict(self._by_value(stage))
            prepared = Prepared(shape.domain, shape.extents, arrays, place=self.prepared.place)
            plan = self.runnable.kernels[stage.stage.kernel]
            self.runs[stage.number, tangents] = Run(self.device, self.program, plan, prepared)
        return self.runs[stage.number, tangents]

    def _by_value(self, stage: StageFlow) -> Iterator[tuple[tuple[ParameterRole, str, Path], Array]]:
        """Yield the arguments without buffers: uniforms, constants and textures."""
        for use in stage.uses:
            for role in _ROLES.get(use.value.memory, ()):
                for part in use.value.parts:
                    array = self.prepared.arrays.get((role, use.version, part.path))
                    if array is not None:
                        yield (role, use.value.name, part.path), array
        for value in self.runnable.kernels[stage.stage.kernel].signature.parameters:
            if value.name in stage.fixed:
                yield from _constants(value, stage.fixed[value.name].scalars)

    def _launches(self, run: Run, mode: Mode) -> Iterator[Planned]:
        """Yield the launches that zero buffers, then those of a mode; none over an empty domain."""
        run.launches = []
        run.add(mode)
        if not run.elements:
            return
        yield from map(self.steps.zero, run.totals())
        yield from run.launches

    def _scalar(self, run: Run, mode: Mode, role: ParameterRole, name: str, path: Path) -> str | None:
        """Return the scalar type that entry points have for a slot; None where they have no such slot."""
        for entry in run.plan.entries.get(mode, ()):
            for p in entry.parameters:
                if (p.role, p.parameter, p.path) == (role, name, path) and p.access != "texture":
                    return p.scalar.name
        return None

    def _access(self, run: Run, role: ParameterRole, name: str, path: Path) -> str:
        parameters = [p for e in run.plan.entries[Mode.BACKWARD] for p in e.parameters]
        return next(p.access for p in parameters if (p.role, p.parameter, p.path) == (role, name, path))

    def _read(self, buffer: DeviceBuffer, scalar: str) -> tuple[DeviceBuffer, list[Planned]]:
        """Return a buffer in the type of the entry points, converted if necessary."""
        if scalar_name(buffer) == scalar:
            return buffer, []
        converted = self.buffer(scalar, buffer.count)
        return converted, [self.steps.copy(buffer, converted)]

    # --- forward ---

    def forward(self, flow: GradientFlow, *, only: Collection[int] | None = None) -> Iterator[Planned]:
        """Yield the results of all stages, or of some."""
        for stage in flow.stages:
            if only is not None and stage.number not in only:
                continue
            if is_built_in(stage.stage):
                yield from self._lists(stage)
            else:
                run = self._run(stage)
                yield from self._inputs(run, stage, Mode.FORWARD)
                yield from self._launches(run, Mode.FORWARD)

    def _lists(self, stage: StageFlow) -> Iterator[Planned]:
        """Yield the work that lists items by tile."""
        uses = ((use, part) for use in (*stage.uses, *stage.makes) for part in use.value.parts)
        buffers = tuple(self._value(use.version, part, part.scalar.name) for use, part in uses)
        shape, count = self.shapes.stages[stage.number], len(stage.uses)
        (capacity,) = shape.extents[ORDER]
        lists = ListBuffers(buffers[:count], buffers[count:], shape.domain, capacity, stage.stage.span)
        yield from self._list_work(lists)

    def _list_work(self, lists: ListBuffers) -> Iterator[Planned]:
        """Yield the launches that make lists; on a host device, the work of numpy."""
        if self.device.host:
            yield lists.work()
            return
        zero, needed = self.buffer("uint", 1), self.buffer("uint", 1)
        self.lists.append((lists, needed))
        yield from lists.launches(self.steps, partial(self.buffer, fill=None), zero, needed)

    def require_room(self) -> None:
        """Refuse lists that were too long in any of the submissions so far.

        Raises:
            CompileError: A list needs more places than it has.
        """
        for lists, needed in self.lists:
            lists.require(int(needed.download()[0]))

    def _inputs(self, run: Run, stage: StageFlow, mode: Mode) -> Iterator[Planned]:
        """Bind the values that a stage reads and makes; a written tensor starts as a copy of the version before."""
        for use in stage.uses:
            for part in use.value.parts:
                yield from self._input(run, use, part, mode)
        for use in stage.makes:
            for part in use.value.parts:
                scalar = self._scalar(run, mode, Role.RESULT, use.value.name, part.path)
                if scalar is not None:
                    run.buffers[Role.RESULT, use.value.name, part.path] = self._value(use.version, part, scalar)

    def _input(self, run: Run, use: Use, part: ArrayPart, mode: Mode) -> Iterator[Planned]:
        name, path = use.value.name, part.path
        scalar = self._scalar(run, mode, Role.INPUT, name, path)
        if scalar is not None and (Role.INPUT, name, path) not in run.buffers:
            buffer, before = self._read(self._value(use.version, part, scalar), scalar)
            run.buffers[Role.INPUT, name, path] = buffer
            yield from before
        if use.made and mode is not Mode.BACKWARD:
            before_, after = (self._value(v, part, _device_scalar(part)) for v in (use.version, use.made))
            run.buffers[Role.RESULT, name, path] = after
            yield self.steps.copy(before_, after)

    # --- backward ---

    def backward(self, flow: GradientFlow) -> Iterator[Planned]:
        """Yield the gradients of the roots, from the seeds; forward has run, except where only sums are wanted."""
        later = {version for stage in flow.stages for use in stage.uses for version in (use.version, use.made)}
        for place, seed in self.seeds.items():
            if place[0] not in later:  # nothing is added to it
                self.gradients.setdefault(place, seed)
        backward: list[Planned] = []
        for stage in reversed(flow.stages):
            if stage.active:
                backward += self._stage_backward(flow, stage)
        for place, seed in self.seeds.items():
            if self.gradients.get(place, seed) is not seed:
                yield self.steps.zero(self.gradients[place])
                yield self.steps.add(seed, self.gradients[place])
        yield from (
            self.steps.zero(g)
            for place, g in self.gradients.items()
            if place not in self.seeds and place not in self.stored
        )
        yield from backward

    def _stage_backward(self, flow: GradientFlow, stage: StageFlow) -> Iterator[Planned]:
        run = self._run(stage)
        yield from self._inputs(run, stage, Mode.BACKWARD)
        for use in stage.makes:
            for part in (p for p in use.value.parts if p.differentiable):
                yield from self._cotangent(run, Role.COTANGENT, use.value.name, use.version, part)
        after: list[Planned] = []
        taken: set[Place] = set()
        for use in stage.uses:
            for part in (p for p in use.value.parts if p.differentiable):
                if use.made:
                    yield from self._cotangent(run, Role.ADJOINT, use.value.name, use.made, part)
                    if use.version in flow.active:
                        adjoint = run.buffers[Role.ADJOINT, use.value.name, part.path]
                        after.append(self.steps.add(adjoint, self.gradient(use.version, part)))
                elif use.version in flow.active:
                    before, later = self._contribution(run, flow, use, part, taken)
                    yield from before
                    after += later
        yield from self._launches(run, Mode.BACKWARD)
        yield from after

    def _cotangent(self, run: Run, role: ParameterRole, name: str, version: str, part: ArrayPart) -> Iterator[Planned]:
        scalar = self._scalar(run, Mode.BACKWARD, role, name, part.path)
        if scalar is not None:
            buffer, before = self._read(self.gradient(version, part), scalar)
            run.buffers[role, name, part.path] = buffer
            yield from before

    def _is_alone(self, flow: GradientFlow, place: Place) -> bool:
        """Return True if nothing else sends gradient back to a value."""
        uses = [use for stage in flow.stages if stage.active for use in stage.uses if use.version == place[0]]
        return place not in self.seeds and len(uses) == 1

    def _contribution(
        self, run: Run, flow: GradientFlow, use: Use, part: ArrayPart, taken: set[Place]
    ) -> tuple[list[Planned], list[Planned]]:
        """Return the launches before and after a stage that sends gradient back to a value.

        Kernels that add to what is there add to the value's gradient, the first time they are passed the value;
        everything else goes through memory of its own.
        """
        name, path = use.value.name, part.path
        scalar = self._scalar(run, Mode.BACKWARD, Role.GRADIENT, name, path)
        if scalar is None:
            return [], []
        total = self.gradient(use.version, part)
        adds = self._access(run, Role.GRADIENT, name, path) == "add"
        place = (use.version, path)
        if adds and scalar == scalar_name(total) and place not in taken:
            taken.add(place)
            run.buffers[Role.GRADIENT, name, path] = total
            return [], []
        if not adds and scalar == scalar_name(total) and self._is_alone(flow, place):
            self.stored.add(place)
            run.buffers[Role.GRADIENT, name, path] = total
            return [], []
        part_buffer = self.buffer(scalar, total.count)
        run.buffers[Role.GRADIENT, name, path] = part_buffer
        return ([self.steps.zero(part_buffer)] if adds else []), [self.steps.add(part_buffer, total)]

    # --- forward mode ---

    def jvp(self, flow: GradientFlow) -> Iterator[Planned]:
        """Yield the results of all stages and their tangents, from those of the roots."""
        for stage in flow.stages:
            if is_built_in(stage.stage):
                yield from self._lists(stage)
                continue
            run = self._run(stage, tangents=True)
            mode = Mode.JVP if stage.active else Mode.FORWARD
            yield from self._inputs(run, stage, mode)
            for use in stage.uses if stage.active else ():
                for part in (p for p in use.value.parts if p.differentiable):
                    yield from self._tangent(run, flow, use, part)
            for use in stage.makes if stage.active else ():
                for part in (p for p in use.value.parts if p.differentiable):
                    self._bound_tangent(run, Role.RESULT_TANGENT, use.value.name, use.version, part)
            yield from self._launches(run, mode)

    def _tangent(self, run: Run, flow: GradientFlow, use: Use, part: ArrayPart) -> Iterator[Planned]:
        name = use.value.name
        if not use.made:
            if use.version in flow.active:
                self._bound_tangent(run, Role.TANGENT, name, use.version, part)
            return
        for role in (Role.TANGENT, Role.RESULT_TANGENT):
            if self._scalar(run, Mode.JVP, role, name, part.path) is not None:
                self._bound_tangent(run, role, name, use.made, part)
                made = self.tangents[use.made, part.path]
                known = self.tangents.get((use.version, part.path))
                yield self.steps.zero(made) if known is None else self.steps.copy(known, made)

    def _bound_tangent(self, run: Run, role: ParameterRole, name: str, version: str, part: ArrayPart) -> None:
        scalar = self._scalar(run, Mode.JVP, role, name, part.path)
        if scalar is not None:
            run.buffers[role, name, part.path] = self._kept(self.tangents, version, part, scalar)

    # --- inputs and outputs ---

    def flow(self, mode: Mode) -> GradientFlow:
        """Return how gradient (tangents, in forward mode) flows from the roots."""
        return flow_of(self.runnable, self.roots, mode)

    def upload_tangent(self, name: str, part: ArrayPart, array: Array | None) -> None:
        """Set the tangent of a parameter, zero by default."""
        set_to(self._kept(self.tangents, name, part, part.scalar.name), array, 0.0)

    def seed(self, version: str, part: ArrayPart, array: Array | None) -> None:
        """Set the initial gradient of a result, ones by default."""
        buffer = self.buffer(state_scalar(part.scalar.name), self.count(version, part), fill=None)
        set_to(buffer, array, 1.0)
        self.seeds[version, part.path] = buffer

    def submit(self, planned: list[Planned]) -> None:
        """Run the planned launches in one submission."""
        if self.prepared.place is not None:
            synchronize(self.prepared.place)
        submit(self.device, self.steps.launches(planned))
        if self.prepared.place is not None:
            self.device.wait()


def _device_scalar(part: ArrayPart) -> str:
    return "uint" if part.scalar.name == "bool" else part.scalar.name


def _constants(
    value: KernelValue, scalars: tuple[int | float | bool, ...]
) -> Iterator[tuple[tuple[ParameterRole, str, Path], Array]]:
    """Yield the arrays of a constant argument, from its scalars in memory order."""
    import numpy as np

    at, role = 0, Role.UNIFORM if value.memory is Memory.UNIFORM else Role.INPUT
    for part in value.parts:
        size = math.prod(part.shape)
        yield (role, value.name, part.path), np.array(scalars[at : at + size], part.dtype).reshape(part.shape)
        at += size
