"""Run a pipeline in a mode on a device, and return results, gradients and tangents by key.

The results are the values that the pipeline returns, and every tensor that its kernels write, by the parameter's name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slangad.compiler.emit.model import Mode, ParameterRole
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.array_keys import PREFIXES, needs_domain
from slangad.compiler.runtime.arrays.conversion import MisfitError, convert
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError, prepare
from slangad.compiler.runtime.arrays.signature import result_value
from slangad.compiler.runtime.device.cuda_capture import is_captured
from slangad.compiler.runtime.device.memory import too_little_memory
from slangad.compiler.runtime.device.tensors import typed
from slangad.compiler.runtime.pipeline.flow import flow_of
from slangad.compiler.runtime.pipeline.resident import Resident
from slangad.compiler.runtime.pipeline.stages import Shapes, shapes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.runtime.arrays.array_keys import Shape
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelSignature, KernelValue
    from slangad.compiler.runtime.device.model import Device, DeviceBuffer, DeviceProgram
    from slangad.compiler.runtime.pipeline.flow import GradientFlow
    from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline
    from slangad.compiler.runtime.pipeline.steps import Step
    from slangad.compiler.toolchain.cache import Cache

    Array = npt.NDArray[Any]

COTANGENT = PREFIXES[ParameterRole.COTANGENT]


@dataclass(frozen=True, slots=True)
class PipelineInputs:
    """The arguments of a pipeline: its inputs, the shapes that follow, and cotangents by key."""

    prepared: Prepared
    shapes: Shapes
    cotangents: Mapping[str, Array]


def outputs_of(runnable: RunnablePipeline) -> Iterator[tuple[KernelValue, str]]:
    """Yield the results of a pipeline and the values they are; then the tensors that it writes."""
    for result in runnable.pipeline.results:
        yield result_value(result.name, result.memory, result.type), result.value
    for value in runnable.signature.parameters:
        if value.is_written:
            yield value, value.name


def signature_of(runnable: RunnablePipeline) -> KernelSignature:
    """Return the parameters and results of a pipeline."""
    results = tuple(value for value, _ in outputs_of(runnable) if not value.is_written)
    return replace(runnable.signature, results=results)


def prepare_pipeline(
    runnable: RunnablePipeline, mode: RunMode, arguments: Mapping[str, object], domain: Shape | None = None
) -> PipelineInputs:
    """Check and convert the user's arrays.

    Raises:
        InputError: With everything that is wrong.
    """
    if domain is None and not needs_domain(runnable.signature, arguments):
        domain = (1,) * runnable.signature.dims
    inputs = {key: value for key, value in arguments.items() if not key.startswith(COTANGENT)}
    prepared = prepare(runnable.signature, mode, inputs, domain)
    shapes = shapes_of(runnable, prepared)
    wanted = {
        f"{COTANGENT}{p.key}": (p, v) for value, v in outputs_of(runnable) for p in value.parts if p.differentiable
    }
    problems, cotangents = [], {}
    for key, array in arguments.items():
        if key.startswith(COTANGENT) and key not in wanted:
            problems.append(_unknown(key, wanted))
        elif key.startswith(COTANGENT):
            try:
                cotangents[key] = _cotangent(key, array, wanted, shapes)
            except MisfitError as misfit:
                problems.append(Diagnostic("SA413", f"{key} {misfit}", help=misfit.help))
            except InputError as wrong:
                problems += wrong.diagnostics
    if problems:
        raise InputError(problems)
    return PipelineInputs(prepared, shapes, cotangents if mode in (RunMode.BACKWARD, RunMode.HVP) else {})


def _unknown(key: str, wanted: Collection[str]) -> Diagnostic:
    from difflib import get_close_matches

    near = get_close_matches(key, wanted, n=1)
    help_ = f"did you mean {near[0]}?" if near else f"there are {', '.join(wanted) or 'none'}"
    return Diagnostic("SA411", f"there is no {key}", help=help_)


def _cotangent(key: str, argument: object, wanted: Mapping[str, tuple[ArrayPart, str]], shapes: Shapes) -> Array:
    part, value = wanted[key]
    array, _ = convert(argument, part)
    right = (*shapes.values[value], *part.shape)
    if array.shape != right:
        raise InputError(
            [Diagnostic("SA412", f"{key} has shape {array.shape}, not {right}", help="that of the result")]
        )
    return array


def run_pipeline(
    device: Device,
    program: DeviceProgram,
    runnable: RunnablePipeline,
    mode: RunMode,
    arguments: PipelineInputs,
    cache: Cache | None = None,
) -> dict[str, Array]:
    """Run a pipeline, wait, and return arrays by key.

    Raises:
        CompileError: No gradient flows, and one is wanted.
        ToolchainError: The device failed, or has too little memory.
    """
    inputs = (v for v in runnable.signature.parameters if v.memory is not Memory.OUT_TENSOR)
    roots = tuple(v.name for v in inputs if v.differentiable)
    for step in mode.steps:
        _require(runnable, roots, step)
    resident = Resident(device, program, runnable, arguments.prepared, arguments.shapes, roots)
    try:
        return _Run(resident, runnable, arguments, cache).run(mode)
    except MemoryError:
        raise too_little_memory("this machine") from None
    finally:
        resident.close()


def _require(runnable: RunnablePipeline, roots: tuple[str, ...], mode: Mode) -> None:
    if mode is Mode.FORWARD:
        return
    flow = flow_of(runnable, roots, mode)
    if not any(flow.last[value] in flow.active for _, value in outputs_of(runnable)):
        name = runnable.pipeline.name
        message = f"{name} has no {mode.value} mode: no gradient flows from its parameters to its results"
        raise CompileError([Diagnostic("SA417", message, runnable.pipeline.span, help="it has: forward")])


@dataclass(frozen=True, slots=True)
class _Run:
    resident: Resident
    runnable: RunnablePipeline
    inputs: PipelineInputs
    cache: Cache | None

    def run(self, mode: RunMode) -> dict[str, Array]:
        resident = self.resident
        forward = mode in (RunMode.FORWARD, RunMode.BACKWARD)
        flow = resident.flow(Mode.JVP if not forward else Mode.BACKWARD)
        if forward:
            planned = [*resident.forward(flow)]
        else:
            self._upload_tangents()
            planned = [*resident.jvp(flow)]
        if Mode.BACKWARD in mode.steps:
            self._seed(flow, from_tangents=not forward)
            flow = resident.flow(Mode.BACKWARD)
            planned += resident.backward(flow)
            planned += self._given_gradients()
        resident.steps.load(resident.device, self.cache)
        resident.submit(planned)
        if not is_captured():
            resident.require_room()
        return dict(self._results(flow, mode))

    def _upload_tangents(self) -> None:
        for value in (v for v in self.runnable.signature.parameters if v.name in self.resident.roots):
            for part in (p for p in value.parts if p.differentiable):
                array = self.inputs.prepared.arrays.get((ParameterRole.TANGENT, value.name, part.path))
                self.resident.upload_tangent(value.name, part, array)

    def _seed(self, flow: GradientFlow, *, from_tangents: bool) -> None:
        """Set the cotangents of the results; a tensor from which others follow has zeros, unless some are given."""
        outputs = {flow.last[name] for value, name in outputs_of(self.runnable) if value.differentiable}
        for value, name in outputs_of(self.runnable):
            version = flow.last[name]
            for part in value.parts if version in flow.active else ():
                given = self.inputs.cotangents.get(f"{COTANGENT}{part.key}")
                if not part.differentiable:
                    continue
                if given is None and value.is_written and flow.leads_to(version, outputs):
                    continue
                if from_tangents:
                    self.resident.seeds[version, part.path] = self.resident.tangents[version, part.path]
                else:
                    self.resident.seed(version, part, given)

    def _given_gradients(self) -> Iterator[Step]:
        """Add the launches that add to the caller's gradients."""
        for value in (v for v in self.runnable.signature.parameters if v.name in self.resident.roots):
            for part in (p for p in value.parts if p.differentiable):
                array = self.inputs.prepared.arrays.get((ParameterRole.GRADIENT, value.name, part.path))
                if array is not None:
                    yield self.resident.add_to_gradient(value.name, part, array)

    def _results(self, flow: GradientFlow, mode: RunMode) -> Iterator[tuple[str, Array]]:
        resident = self.resident
        for value, name in outputs_of(self.runnable):
            yield from self._read(value, flow.last[name], resident.values, "")
        if mode is RunMode.JVP:
            for value, name in outputs_of(self.runnable):
                yield from self._read(value, flow.last[name], resident.tangents, PREFIXES[ParameterRole.RESULT_TANGENT])
        if Mode.BACKWARD not in mode.steps:
            return
        for value in (v for v in self.runnable.signature.parameters if v.name in resident.roots):
            yield from self._read(value, value.name, resident.gradients, PREFIXES[ParameterRole.GRADIENT])
        yield from self._probes()

    def _probes(self) -> Iterator[tuple[str, Array]]:
        """Return the values of probes, in the order of the stages; repeated kernels get a number."""
        times: Counter[str] = Counter()
        for _, run in sorted(self.resident.runs.items()):
            for name, parameter in run.probes.items():
                times[name] += 1
                key = f"{PREFIXES[ParameterRole.PROBE]}{name}" + (f"#{times[name]}" if times[name] > 1 else "")
                array = run.buffers[ParameterRole.PROBE, name, ()].take()
                yield key, array.reshape((*run.prepared.domain, *parameter.shape))

    def _read(
        self, value: KernelValue, version: str, where: Mapping[tuple[str, Any], DeviceBuffer], prefix: str
    ) -> Iterator[tuple[str, Array]]:
        shape = self.inputs.shapes.values[version.partition("@")[0]]
        for part in value.parts:
            if (version, part.path) in where:
                count = self.resident.count(version, part)
                buffer = where[version, part.path]
                array = buffer.download() if self.inputs.prepared.place is None else buffer.take()
                yield f"{prefix}{part.key}", typed(array[:count], part.dtype).reshape((*shape, *part.shape))
