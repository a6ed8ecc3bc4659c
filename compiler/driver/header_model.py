"""Collect the data of a C++ header from the launch plans and Slang's reflection of one compiled input.

``print_header`` prints it. Kernels, buffers and launches come from ``emit.launch_plan``, as they do in the runtime.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.driver.blocks import blocks_of
from slangad.compiler.driver.model import CPP
from slangad.compiler.driver.requirements import requirements_of
from slangad.compiler.emit.launch_plan import Start, plan_mode, tensor_name, tensors_of
from slangad.compiler.emit.model import MANY_COPIES, Mode, ParameterRole
from slangad.compiler.runtime.arrays.array_keys import PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.driver.model import CompiledInput
    from slangad.compiler.driver.requirements import Requirements
    from slangad.compiler.emit.launch_plan import BufferPlan, LaunchPlan
    from slangad.compiler.emit.model import EntryParameter, EntryPoint

    Json = Mapping[str, Any]

HOST: Final = CPP
_ADJOINT: Final = "adjoint."
_INTERNAL: Final = (ParameterRole.PARTIALS, ParameterRole.TOTALS, ParameterRole.TANGENT_TOTALS)
_CHANNELS: Final = 3, 4
"""Texels of three channels have a fourth in memory, which is not read."""


@dataclass(frozen=True, slots=True)
class EntryBlocks:
    """An entry point for one target, from Slang's reflection.

    Attributes:
        target: The target.
        file: The file of its code.
        requirements: The features that its code needs, and the name of the entry point in it.
        blocks: Its own parameters.
        shared: The parameters of the module.
        places: Where its blocks of values are bound, by scope: ``entry_point`` and ``module``.
    """

    target: str
    file: str
    requirements: Requirements
    blocks: tuple[Json, ...]
    shared: tuple[Json, ...]
    places: Mapping[object, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class HeaderBuffer:
    """A buffer of a mode.

    Attributes:
        plan: Its plan.
        key: The name that files and ``slangad run`` use: ``grad.m.albedo``.
        internal: True for scratch memory that callers never see.
        required: True if the caller has to give it.
    """

    plan: BufferPlan
    key: str
    internal: bool
    required: bool

    @property
    def is_input(self) -> bool:
        """Return True if all modes read it alike."""
        return self.plan.parameter.role is ParameterRole.INPUT


@dataclass(frozen=True, slots=True)
class HeaderMode:
    """A mode of a kernel. ``host`` buffers are those of the CPU, ``buffers`` those of the other targets."""

    mode: Mode
    host: tuple[HeaderBuffer, ...]
    buffers: tuple[HeaderBuffer, ...]
    launches: tuple[LaunchPlan, ...]


@dataclass(frozen=True, slots=True)
class HeaderKernel:
    """A kernel.

    Attributes:
        name: Its name.
        dims: The number of the domain's axes.
        tensors: The tensors whose extents are known at launch, with their numbers of axes.
        totals: The tensors whose totals have copies, and how many they need at least to be exact.
        uniforms: The uniforms, by the name of the entry points' parameter: ``camera``, or ``camera.fov`` for a field.
        entries: Its entry points.
        blocks: The reflection of each entry point, one for each target.
        modes: Its modes.
    """

    name: str
    dims: int
    tensors: Mapping[str, int]
    totals: Mapping[str, int]
    uniforms: Mapping[str, str]
    entries: tuple[EntryPoint, ...]
    blocks: Mapping[str, tuple[EntryBlocks, ...]]
    modes: tuple[HeaderMode, ...]


@dataclass(frozen=True, slots=True)
class HeaderModel:
    """All that a header says of one input."""

    source: str
    stem: str
    kernels: tuple[HeaderKernel, ...]


def header_model(compiled: CompiledInput) -> HeaderModel:
    """Return the data of a header."""
    slang = compiled.slang
    blocks = _blocks(compiled)
    kernels = (_kernel(k.name, [e for e in slang.entries if e.kernel == k.name], blocks) for k in slang.kernels)
    return HeaderModel(slang.source, slang.stem, tuple(kernel for kernel in kernels if kernel.entries))


def _blocks(compiled: CompiledInput) -> dict[str, tuple[EntryBlocks, ...]]:
    result: dict[str, list[EntryBlocks]] = {}
    code = {(o.target, o.entry): o for o in compiled.outputs if o.kind == "artefact"}
    for output in compiled.outputs:
        if output.kind == "reflection":
            parsed: dict[str, Any] = json.loads(output.data)
            (entry,) = parsed["entryPoints"]
            entry_block, shared = (
                tuple(p for p in of.get("parameters", ()) if "binding" in p) for of in (entry, parsed)
            )
            artefact = code[output.target, output.entry]
            places = {block["scope"]: block for block in blocks_of(output.target, parsed)}
            needs = requirements_of(artefact)
            blocks = EntryBlocks(output.target, artefact.name, needs, entry_block, shared, places)
            result.setdefault(output.entry, []).append(blocks)
    return {entry: tuple(blocks) for entry, blocks in result.items()}


def _kernel(name: str, entries: Sequence[EntryPoint], blocks: Mapping[str, tuple[EntryBlocks, ...]]) -> HeaderKernel:
    parameters = [parameter for entry in entries for parameter in entry.parameters]
    read = {p.parameter for p in parameters if p.role is ParameterRole.INPUT}
    modes = [mode for mode in Mode if any(entry.mode is mode and not entry.written for entry in entries)]
    return HeaderKernel(
        name=name,
        dims=max((entry.dims for entry in entries), default=1),
        tensors=tensors_of(entries),
        totals={
            factor: MANY_COPIES if buffer.parameter.copied else 1
            for mode in modes
            for buffer in plan_mode(mode, entries).buffers
            for kind, factor in buffer.count.factors
            if kind.value == "copies"
        },
        uniforms=_uniforms([p for p in parameters if p.role is ParameterRole.UNIFORM]),
        entries=tuple(entries),
        blocks={entry.name: blocks.get(entry.symbol, ()) for entry in entries},
        modes=tuple(_mode(mode, entries, read) for mode in modes),
    )


def _uniforms(parameters: Sequence[EntryParameter]) -> dict[str, str]:
    """Return the uniforms; several parts of a struct share one parameter, or each has its own."""
    parts = {(p.name, tensor_name(p)): p for p in parameters}
    shared = Counter(name for name, _ in parts)
    return {name: p.parameter if shared[name] > 1 else key for (name, key), p in parts.items()}


def _mode(mode: Mode, entries: Sequence[EntryPoint], read: set[str]) -> HeaderMode:
    host, other = (plan_mode(mode, entries, host=is_host) for is_host in (True, False))
    on_host, elsewhere = (tuple(_buffer(plan, read) for plan in planned.buffers) for planned in (host, other))
    return HeaderMode(mode, on_host, elsewhere, other.launches)


def _buffer(plan: BufferPlan, read: set[str]) -> HeaderBuffer:
    parameter = plan.parameter
    if parameter.access == "texture" and parameter.shape == (_CHANNELS[0],):
        plan = replace(plan, count=replace(plan.count, times=_CHANNELS[1]))
    in_place = parameter.role is ParameterRole.RESULT and parameter.access == "change" and parameter.parameter in read
    return HeaderBuffer(
        plan,
        key_of(parameter),
        parameter.role in _INTERNAL or parameter.access == "unused",
        plan.start is Start.GIVEN or in_place,
    )


def key_of(parameter: EntryParameter) -> str:
    """Return the name of a buffer: those of files and ``slangad run``, and for scratch memory the role first."""
    path = ".".join((parameter.parameter, *map(str, parameter.path)))
    match parameter.role:
        case ParameterRole.ADJOINT:
            return _ADJOINT + path
        case ParameterRole.PARTIALS:
            return parameter.name
        case ParameterRole.TOTALS | ParameterRole.TANGENT_TOTALS:
            return f"{parameter.role.value}.{path}"
        case role:
            return PREFIXES.get(role, "") + path


def host_blocks(kernel: HeaderKernel) -> Iterator[tuple[EntryPoint, EntryBlocks]]:
    """Yield the entry points that were compiled for the CPU, each with its reflection."""
    for entry in kernel.entries:
        for blocks in kernel.blocks[entry.name]:
            if blocks.target == HOST:
                yield entry, blocks
