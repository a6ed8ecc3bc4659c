"""Write functions that take memory and global parameters as arguments, set them, and call a function of the user.

The wrapper of ``load(uint i)``, which reads ``weights`` and adds gradients to ``gradients``:

    [BackwardDerivative(wrapper_bwd)]
    float wrapper(float[8] weights, uint i) { set weights; return load(i); }
    void wrapper_bwd(inout DifferentialPair<float[8]> weights, uint i, float d)
    {
        set weights and empty gradients;
        bwd_diff(load)(i, d);
        weights = diffPair(weights.p, the contents of gradients);
    }

A second one runs two threads before it looks at the gradients. What it finds is twice as much, if no thread loses the
additions of the other. A third one runs some lanes of a wave, if the derivative has operations of waves.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.memory.byte_addresses import WORD
from slangad.compiler.check.twins.one_lane import LANES_OF_WAVE
from slangad.compiler.slang_text.global_parameters import (
    BUFFERS,
    BYTES,
    DIFF_TENSORS,
    POINTER,
    READ_TENSORS,
    SAMPLERS,
    TEXTURES,
    WRITTEN_TENSORS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.check.memory.objects import HeldObject
    from slangad.compiler.slang_text.global_parameters import GlobalParameter

PREFIX: Final = "check_memory_"
"""Begins the names of wrappers."""
RACING: Final = "check_racing_"
"""Begins the names of wrappers whose derivative runs two threads."""
WAVING: Final = "check_waving_"
"""Begins the names of wrappers whose derivative runs the lanes of a wave."""
_BUILTIN: Final = re.compile(r"(?:float|half|double|vector|matrix)(?:[1-4](?:x[1-4])?)?\b")
_VALUE: Final = "check_d"


@dataclass(frozen=True, slots=True)
class Shim:
    """The type that stands for memory in the copy, and the function that makes it from storage."""

    type: str
    maker: str


_BUFFER: Final = Shim("CheckMemory", "check_memory")
SHIMS: Final = {
    "StructuredBuffer": _BUFFER,
    "Buffer": _BUFFER,
    "RWStructuredBuffer": _BUFFER,
    "RWBuffer": _BUFFER,
    "RasterizerOrderedStructuredBuffer": _BUFFER,
    "TensorView": Shim("CheckTensor", "check_tensor"),
    "DiffTensorView": Shim("CheckDiffTensor", "check_diff_tensor"),
    POINTER: Shim("CheckPointer", "check_pointer"),
    **dict.fromkeys(BYTES, Shim("CheckBytes", "check_bytes")),
    **dict.fromkeys((*READ_TENSORS, *WRITTEN_TENSORS), Shim("CheckArray", "check_array")),
    "AtomicTensor": Shim("CheckAtomicArray", "check_atomic_array"),
    **dict.fromkeys(DIFF_TENSORS, Shim("CheckDiffArray", "check_diff_array")),
    **dict.fromkeys(TEXTURES, Shim("CheckTexture", "check_texture")),
    **dict.fromkeys(SAMPLERS, Shim("CheckSampler", "check_sampler")),
}
"""The replacements of memory in the copy, by kind."""


@dataclass(frozen=True, slots=True)
class WrappedParam:
    """A parameter of the function: its type as written, and its part in derivatives.

    Attributes:
        memory: The number of the memory that it takes; -1 for values.
        built: The expression for the object that it takes; empty if it takes none.
    """

    name: str
    type: str
    direction: str
    active: bool
    no_diff: bool
    memory: int = -1
    built: str = ""

    @property
    def argument(self) -> str:
        """The argument that the function gets for it."""
        if self.built:
            return self.built
        return self.name if self.memory < 0 else f"check_handle_{self.memory}"


@dataclass(frozen=True, slots=True)
class MemoryInput:
    """Memory or a global that a wrapper sets.

    Attributes:
        number: Its number among the global parameters and the memory that functions take.
        name: The name of the wrapper's parameter; empty for memory that is no input, and starts empty.
        gradient: The number of the memory of its gradient, or -1.
        scalars: The elements of that for one of its own.
        entries: The number of its elements.
        local: True if the function takes it as a parameter.
        stored: True if the function stores to it and it holds its gradient: it is a result.
        passive: True if functions read its values alone.
        extents: The extents of a tensor, as declared; empty if they are not.
        is_added_to: True if a custom derivative adds to the gradient that it holds.
    """

    parameter: GlobalParameter
    number: int
    name: str
    gradient: int = -1
    scalars: int = 1
    entries: int = tol.MEMORY_ENTRIES
    local: bool = False
    stored: bool = False
    passive: bool = False
    extents: tuple[int, ...] = ()
    is_added_to: bool = False

    @property
    def type(self) -> str:
        """The type of the wrapper's parameter."""
        return f"{self.parameter.element}[{self.entries}]" if self.parameter.memory else self.parameter.type

    @property
    def is_pair(self) -> bool:
        """True if it holds its gradient, too."""
        return self.parameter.is_pair

    @property
    def active(self) -> bool:
        """True if it has a gradient that is an output of reverse mode."""
        return self.gradient >= 0 or (self.is_pair and not self.stored and not self.passive)

    @property
    def handle(self) -> str:
        """The expression for the memory with its storage."""
        storages = [f"check_{self.number}", *([f"check_gradient_{self.number}"] if self.is_pair else [])]
        shim = SHIMS[self.parameter.kind]
        addresses = ", ".join(f"__getAddress({storage})" for storage in storages)
        return f"{shim.maker}<{', '.join((*arguments_of(self.parameter), str(self.entries)))}>({addresses})"


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A function with the memory that it uses.

    Attributes:
        call: The text before its arguments in a call; ``derived`` is its name in ``bwd_diff``.
        result: The type of its result as written; ``void`` if it has none.
        flows: True if its result has a derivative.
        backward: True if it has reverse mode, and ``forward`` if it has forward mode.
        method: True if it is a method that is no static one. The first parameter is its object.
        threads: True if several threads may run its derivative.
        in_turn: True if they may run one after the other alone.
        waves: True if its derivative has operations of waves, and the function has none.
        objects: The objects with memory that it takes.
    """

    name: str
    call: str
    derived: str
    params: tuple[WrappedParam, ...]
    inputs: tuple[MemoryInput, ...]
    result: str
    flows: bool
    backward: bool
    forward: bool
    method: bool = False
    threads: bool = True
    in_turn: bool = False
    waves: bool = False
    objects: tuple[HeldObject, ...] = ()

    @property
    def accumulates(self) -> bool:
        """True if the gradient of some memory accumulates in other memory."""
        return any(one.gradient >= 0 for one in self.inputs)

    @property
    def races(self) -> bool:
        """True if threads may lose each other's additions to the gradient of some memory."""
        return self.accumulates or (self.backward and any(one.is_added_to and one.active for one in self.inputs))

    @property
    def read(self) -> list[MemoryInput]:
        """The memory and the globals that are inputs."""
        return [i for i in self.inputs if i.name and not i.stored]

    @property
    def stored(self) -> list[MemoryInput]:
        """The memory that is a result."""
        return [i for i in self.inputs if i.stored]

    @property
    def values(self) -> list[WrappedParam]:
        """The parameters that are values, those for fields of objects first."""
        fields = [
            WrappedParam(v.name, v.type, "", active=False, no_diff=True) for one in self.objects for v in one.values
        ]
        return [*fields, *(p for p in self.params if p.memory < 0 and not p.built)]


def element_of(one: GlobalParameter) -> str:
    """Return the type of the elements of memory in the copy."""
    return f"CheckAtomic<{one.element}>" if one.is_atomic else one.element


def arguments_of(one: GlobalParameter) -> tuple[str, ...]:
    """Return the generic arguments of the type that stands for memory in the copy."""
    return (element_of(one), *([one.further] if one.further else []))


def shim_type(one: GlobalParameter) -> str:
    """Return the type of a global in the copy."""
    return f"{SHIMS[one.kind].type}<{', '.join(arguments_of(one))}>" if one.memory else one.type


def setters(inputs: Iterable[MemoryInput]) -> Iterator[str]:
    """Yield the functions that set globals, one for each."""
    for number, i in {i.number: i for i in inputs if not i.local}.items():
        one = i.parameter
        yield _in_scopes(one.scopes, f"void check_set_{number}({shim_type(one)} value) {{ {one.name} = value; }}")


def wrapper_text(one: Wrapped, scopes: tuple[str, ...], comments: Sequence[str]) -> str:
    """Return a wrapper with its derivatives, and those that run two threads and the lanes of a wave, if needed."""
    texts = [_wrapper(one, PREFIX, comments, threads=1)]
    if one.races and one.threads:
        texts.append(_wrapper(one, RACING, comments, threads=2))
    if one.waves and one.backward:
        texts.append(_wrapper(one, WAVING, comments, threads=LANES_OF_WAVE))
    return _in_scopes(scopes, "\n".join(texts))


def _in_scopes(scopes: tuple[str, ...], text: str) -> str:
    opened = "".join(f"namespace {scope} {{ " for scope in scopes)
    return opened + text + " }" * len(scopes)


def _wrapper(one: Wrapped, prefix: str, comments: Sequence[str], threads: int) -> str:
    name = prefix + one.name
    forward = one.forward and not one.accumulates
    attributes = [f"[BackwardDerivative({name}_bwd)]"] * one.backward + [f"[ForwardDerivative({name}_fwd)]"] * forward
    inputs = [f"{'' if i.active else 'no_diff '}{i.type} {i.name}" for i in one.read]
    outputs = [f"out {i.type} {i.name}" for i in one.stored]
    params = [f"{'no_diff ' * p.no_diff}{p.direction} {p.type} {p.name}" for p in one.values]
    lines = [
        *comments,
        " ".join(attributes),
        f"{one.result} {name}({', '.join((*inputs, *outputs, *params))})",
        "{",
        *_storages(one, ""),
        *_sets(one),
        *_called(one, _call(one), one.result, [f"{i.name}[k] = check_{i.number}.end(k);" for i in one.stored]),
        "}",
    ]
    if one.backward:
        lines += _backward(one, name, threads, wave=prefix == WAVING)
    if forward:
        lines += _forward(one, name)
    return "\n".join(lines) + "\n"


def _called(one: Wrapped, call: str, result: str, stores: Sequence[str]) -> Iterator[str]:
    """Yield the lines that call a function, copy the memory that it stores to, and return its result."""
    yield f"{call};" if result == "void" else f"{result} check_result = {call};"
    for i, store in zip(one.stored, stores, strict=True):
        yield f"for (int k = 0; k < {i.entries}; ++k) {store}"
    if result != "void":
        yield "return check_result;"


def _backward(one: Wrapped, name: str, threads: int, *, wave: bool) -> Iterator[str]:
    """Yield the backward derivative of a wrapper. A wave runs twice (see the library of lanes)."""
    inputs = [f"inout DifferentialPair<{i.type}> {i.name}" if i.active else f"{i.type} {i.name}" for i in one.read]
    outputs = [f"{_differential(i.type)} {i.name}" for i in one.stored]
    cotangent = [f"{_differential(one.result)} {_VALUE}"] if one.flows else []
    yield f"void {name}_bwd({', '.join((*inputs, *outputs, *(_derived(p) for p in one.values), *cotangent))})"
    yield "{"
    pairs = [p for p in one.values if p.active and p.direction != "out"]
    yield from (f"var check_first_{p.name} = {p.name};" for p in pairs)
    if wave:
        yield "for (uint check_pass = 1; check_pass <= 2; ++check_pass)"
        yield "{"
    yield from _storages(one, "bwd")
    yield f"for (uint check_thread = 0; check_thread < {threads}; ++check_thread)"
    yield "{"
    yield from ["check_lane_begin(check_pass, check_thread);"] * wave
    yield from (f"{p.name} = check_first_{p.name};" for p in pairs)
    yield from _sets(one)
    arguments = [*(p.argument for p in one.params), *([_VALUE] if one.flows else [])]
    yield f"bwd_diff({one.derived})({', '.join(arguments)});"
    if wave or (threads > 1 and one.in_turn):
        yield from (f"{_found_in(i)}.keep();" for i in one.read if i.active)
    yield "}"
    yield from (line for i in one.read if i.active for line in _gradient(one, i))
    yield from ["}"] * wave
    yield "}"


def _found_in(i: MemoryInput) -> str:
    """Return the storage that holds the gradient of memory."""
    return f"check_gradient_{i.number}" if i.is_pair else f"check_{i.gradient}"


def _gradient(one: Wrapped, i: MemoryInput) -> Iterator[str]:
    """Yield the lines that give memory its gradient."""
    variable = f"check_found_{i.number}"
    value = f"{_found_in(i)}.end({{}})"
    if not i.is_pair:
        memory = next(other.parameter for other in one.inputs if other.number == i.gradient)
        value += ".value" if memory.is_atomic else ""
    yield f"{_differential(i.type)} {variable};"
    yield f"for (int k = 0; k < {i.entries}; ++k)"
    if i.scalars > 1:
        yield f"for (int c = 0; c < {i.scalars}; ++c)"
        yield f"{variable}[k][c] = {value.format(f'k * {i.scalars} + c')};"
    else:
        number = ".number" if i.parameter.element == WORD else ""
        yield f"{variable}[k]{number} = {value.format('k')};"
    yield f"{i.name} = diffPair({i.name}.p, {variable});"


def _forward(one: Wrapped, name: str) -> Iterator[str]:
    inputs = [f"DifferentialPair<{i.type}> {i.name}" if i.active else f"{i.type} {i.name}" for i in one.read]
    outputs = [f"out DifferentialPair<{i.type}> {i.name}" for i in one.stored]
    params = [
        f"{p.direction} DifferentialPair<{p.type}> {p.name}" if p.active else f"{p.direction} {p.type} {p.name}"
        for p in one.values
    ]
    result = f"DifferentialPair<{one.result}>" if one.flows else one.result
    yield f"{result} {name}_fwd({', '.join((*inputs, *outputs, *params))})"
    yield "{"
    yield from _storages(one, "fwd")
    yield from _sets(one)
    for i in one.stored:
        yield f"{i.type} check_values_{i.number};"
        yield f"{_differential(i.type)} check_tangents_{i.number};"
    call = f"fwd_diff({one.derived})({', '.join(p.argument for p in one.params)})"
    yield from _called(
        one,
        call,
        result,
        [
            f"{{ check_values_{n}[k] = check_{n}.end(k); check_tangents_{n}[k] = check_gradient_{n}.end(k); "
            f"{i.name} = diffPair(check_values_{n}, check_tangents_{n}); }}"
            for i in one.stored
            for n in [i.number]
        ],
    )
    yield "}"


def _call(one: Wrapped) -> str:
    arguments = [p.argument for p in one.params]
    if one.method:
        return f"{arguments[0]}.{one.call}({', '.join(arguments[1:])})"
    return f"{one.call}({', '.join(arguments)})"


def _derived(param: WrappedParam) -> str:
    """Return a parameter in the signature of a backward derivative."""
    if not param.active:
        return f"{param.direction} {param.type} {param.name}"
    if param.direction == "out":
        return f"{_differential(param.type)} {param.name}"
    return f"inout DifferentialPair<{param.type}> {param.name}"


def _differential(type_: str) -> str:
    """Return the type of the derivative of a type. The general spelling fails for some structs (Slang 2026.12)."""
    if not _BUILTIN.match(type_) and not type_.endswith("]"):
        return f"{type_}.Differential"
    return f"DifferentialPair<{type_}>.DifferentialElementType"


def _storages(one: Wrapped, mode: str) -> Iterator[str]:
    """Yield the variables that hold memory. In a ``mode``, active inputs are pairs, and results have a derivative."""
    for i in (i for i in one.inputs if i.parameter.memory):
        gradient = f"check_gradient_{i.number}"
        yield f"CheckStorage<{element_of(i.parameter)}, {i.entries}> check_{i.number} = {{}};"
        if i.parameter.kind not in BUFFERS:
            yield from _extents(i)
        if i.is_pair:
            yield f"CheckStorage<{_differential(i.parameter.element)}, {i.entries}> {gradient} = {{}};"
        if i.name and not i.stored:
            yield f"check_{i.number}.held = {i.name}{'.p' if mode and i.active else ''};"
        if mode == "bwd" and i.stored:
            yield f"{gradient}.held = {i.name};"
        if mode == "fwd" and i.is_pair and i.active:
            yield f"{gradient}.held = {i.name}.d;"


def _extents(i: MemoryInput) -> Iterator[str]:
    """Yield the lines that give a tensor its extents and strides. Undeclared axes all have some elements."""
    axes = range(tol.TENSOR_AXES)
    extents = [*i.extents, *(1 for _ in axes)] if i.extents else [tol.TENSOR_EXTENT for _ in axes]
    behind = [*reversed(i.extents), *(0 for _ in axes)]
    strides = [math.prod(behind[:k]) if i.extents else 1 if not k else 2 << k for k in axes]
    for name, numbers in (("extents", extents), ("strides", strides)):
        yield f"check_{i.number}.{name} = uint4({', '.join(str(number) for number in numbers[: tol.TENSOR_AXES])});"


def _sets(one: Wrapped) -> Iterator[str]:
    used = {i.parameter: i.handle for i in one.inputs if i.parameter.place}
    for held in one.objects:
        yield f"{held.type} {held.name};"
        yield from (f"{held.name}{m.place} = {used[m]};" for m in held.memory if m in used)
        yield from (f"{held.name}{v.path} = {v.expression};" for v in held.values)
    for i in one.inputs:
        if i.parameter.place:
            continue
        if i.local:
            yield f"var check_handle_{i.number} = {i.handle};"
        else:
            yield f"check_set_{i.number}({i.handle if i.parameter.memory else i.name});"
