"""Derivatives of kernels in Python, as ``slangad run`` computes them on a device: thread by thread, in float64.

Reverse mode takes cotangents of results and written tensors and returns a gradient per differentiable parameter.
Forward mode takes tangents of parameters. A read from a tensor or texture counts for its address:
gradients of one address add up over all threads and accesses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from slangad.compiler.lang.activation import activation
from slangad.compiler.lang.execution.differentiate import moved, start, tangent_of, with_parts
from slangad.compiler.lang.execution.elements import (
    EachArgument,
    EachResult,
    Index,
    Numbers,
    as_array,
    dtype_of,
    put_value,
    trailing_shape,
    value_at,
)
from slangad.compiler.lang.execution.launch import KernelParameter, PythonLaunch, prepare, seen
from slangad.compiler.lang.execution.memories import TensorArgument, TextureArgument
from slangad.compiler.lang.types.construct import from_host
from slangad.compiler.lang.types.tracing import Level, Node, bottom, converted, lowered, new_level, pull
from slangad.compiler.lang.types.values import convert, data_of, floating_parts, map_floating, zeroed

if TYPE_CHECKING:
    from slangad.compiler.lang.decorators.kernels import KernelObject
    from slangad.compiler.lang.types.tracing import Data

MemoryArgument = TensorArgument | TextureArgument


@dataclass(frozen=True, slots=True)
class Derived:
    """Results and written tensors of a kernel, with the gradients of its parameters or the tangents of its results."""

    results: Mapping[str, object]
    derivatives: Mapping[str, object]


def backward(
    kernel: KernelObject[object],
    args: Mapping[str, object],
    cotangents: Mapping[str, object] | None = None,
    domain: int | Index | None = None,
) -> Derived:
    """Run reverse mode.

    Args:
        kernel: The kernel.
        args: Its arguments by name; written tensors are not changed.
        cotangents: By result name or written tensor. The default is ones for results, zeros for tensors.
        domain: The domain, needed if no argument has its shape.
    """
    ready = prepare(kernel, (), _own_arrays(args), domain)
    run = _Backward(ready, dict(cotangents or {}))
    for index in np.ndindex(ready.shape):
        run.thread(index)
    return Derived(_results(ready, run.finished), run.gradients())


def jvp(
    kernel: KernelObject[object],
    args: Mapping[str, object],
    tangents: Mapping[str, object] | None = None,
    domain: int | Index | None = None,
) -> Derived:
    """Run forward mode.

    Args:
        kernel: The kernel.
        args: Its arguments by name; written tensors are not changed.
        tangents: By parameter. The default is zeros.
        domain: The domain, needed if no argument has its shape.
    """
    ready = prepare(kernel, (), _own_arrays(args), domain)
    run = _Forward(ready, dict(tangents or {}))
    for index in np.ndindex(ready.shape):
        run.thread(index)
    return Derived(_results(ready, run.finished), run.moved())


def _own_arrays(args: Mapping[str, object]) -> dict[str, object]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in args.items()}


def result_names(ready: PythonLaunch) -> list[str]:
    """Return ``result``, or ``result.0`` and so on for a tuple."""
    count = len(ready.kernel.results)
    return [f"result.{i}" for i in range(count)] if ready.kernel.is_tuple else ["result"] * count


def _results(ready: PythonLaunch, finished: Sequence[object]) -> dict[str, object]:
    return {**dict(zip(result_names(ready), finished, strict=True)), **{a.name: a.array for a in _written(ready)}}


def _written(ready: PythonLaunch) -> list[TensorArgument]:
    return [a for a in ready.arguments.values() if isinstance(a, TensorArgument) and a.type.writes]


@dataclass(slots=True)
class _Tape:
    """The elements one thread read and wrote in reverse mode."""

    level: Level
    reads: list[tuple[str, Index, list[Node]]] = field(default_factory=list)
    writes: dict[tuple[str, Index], object] = field(default_factory=dict)
    additions: list[tuple[str, Index, object]] = field(default_factory=list)

    def read(self, name: str, place: Index, value: object) -> object:
        """Return the value as leaves of the tape."""
        traced, nodes = start(self.level, value)
        self.reads.append((name, place, nodes))
        return traced

    def write(self, name: str, place: Index, value: object) -> None:
        """Keep the last value of each element."""
        self.writes[name, place] = value

    def add(self, name: str, place: Index, value: object) -> None:
        """Keep every addition: each has the cotangent of its element."""
        self.additions.append((name, place, value))


class _Backward:
    """Reverse mode over all threads: gradients are added up in float64."""

    def __init__(self, ready: PythonLaunch, cotangents: dict[str, object]) -> None:
        self.ready = ready
        self._forward = ready.results()
        self._seeds = [
            _Seed(memory.memory, type_, ready.shape, cotangents.get(name))
            for name, (memory, type_) in zip(result_names(ready), ready.kernel.results, strict=True)
        ]
        self._written = {a.name: _cotangent(a, cotangents.get(a.name)) for a in _written(ready)}
        self._sums: dict[str, list[Any]] = {}
        self._each: dict[str, EachResult] = {}
        self._memories: dict[str, Numbers] = {}
        for p in _differentiable(ready):
            argument = ready.arguments[p.name]
            if isinstance(argument, (TensorArgument, TextureArgument)):
                self._memories[p.name] = np.zeros(argument.array.shape)
            elif isinstance(argument, EachArgument):
                self._each[p.name] = EachResult(p.type, ready.shape)
            else:
                self._sums[p.name] = [np.zeros(bottom(d).shape) for d in floating_parts(argument)]

    @property
    def finished(self) -> list[object]:
        """The results."""
        return [r.finish() for r in self._forward]

    def thread(self, index: Index) -> None:
        """Run one thread and add its gradients."""
        with activation(index, self.ready.shape), new_level(reverse=True) as level:
            tape, leaves, values = _Tape(level), {}, []
            for p in self.ready.kernel.parameters:
                value = seen(self.ready.arguments[p.name], index)
                if isinstance(value, (TensorArgument, TextureArgument)):
                    value = replace(value, trace=tape) if p.differentiable else value
                elif p.differentiable:
                    value, leaves[p.name] = start(level, value)
                values.append(value)
            parts = self.ready.run(values)
            done = pull(self._seeded(parts, index, tape), level)
        for result, part in zip(self._forward, parts, strict=True):
            result.put(index, map_floating(part, bottom))
        self._add(index, tape, leaves, done)

    def _seeded(self, parts: Sequence[object], index: Index, tape: _Tape) -> list[tuple[Data, Data]]:
        pairs = [(part, seed.at(index)) for part, seed in zip(parts, self._seeds, strict=True)]
        for name, place, value in (*((*key, value) for key, value in tape.writes.items()), *tape.additions):
            argument = self.ready.arguments[name]
            assert isinstance(argument, TensorArgument)  # noqa: S101  (only tensors are written)
            pairs.append((value, value_at(self._written[name], place, argument.type.element)))
            if argument.type.reads:
                self._written[name][place] = 0.0
        return [
            (data, converted(seed, np.float64))
            for value, cotangent in pairs
            for data, seed in zip(floating_parts(value), floating_parts(cotangent), strict=True)
        ]

    def _add(self, index: Index, tape: _Tape, leaves: Mapping[str, list[Node]], done: Mapping[int, Data]) -> None:
        for name, place, nodes in tape.reads:
            numbers = [np.ravel(_found(done, n)) for n in nodes]
            array = self._memories[name]
            array[place] += np.concatenate(numbers).reshape(array[place].shape)
        for name, nodes in leaves.items():
            additions = [_found(done, n) for n in nodes]
            if name in self._sums:
                self._sums[name] = [a + b for a, b in zip(self._sums[name], additions, strict=True)]
            else:
                argument = self.ready.arguments[name]
                self._each[name].put(index, with_parts(seen(argument, index), additions))

    def gradients(self) -> dict[str, object]:
        """Return the gradients by parameter; for an in-place tensor that of its initial content."""
        result: dict[str, object] = {}
        for p in _differentiable(self.ready):
            argument = self.ready.arguments[p.name]
            if p.name in self._sums:
                result[p.name] = with_parts(argument, self._sums[p.name])
            elif p.name in self._each:
                result[p.name] = self._each[p.name].finish()
            elif not isinstance(argument, TensorArgument) or argument.type.reads:
                result[p.name] = self._memories[p.name] + self._written.get(p.name, 0.0)
        return result


def _found(done: Mapping[int, Data], node: Node) -> Numbers:
    cotangent = done.get(node.order)
    return np.zeros(bottom(node).shape) if cotangent is None else np.asarray(bottom(cotangent))


def _differentiable(ready: PythonLaunch) -> list[KernelParameter]:
    return [p for p in ready.kernel.parameters if p.differentiable]


def _cotangent(argument: TensorArgument, value: object) -> Numbers:
    if value is None:
        return np.zeros(argument.array.shape)
    return np.array(as_array(value, argument.type.element, f"the cotangent of {argument.name}"), np.float64)


class _Seed:
    """The cotangent of one result, by thread."""

    def __init__(self, memory: str, type_: Any, domain: Index, argument: object) -> None:  # noqa: ANN401  (a type of the IR)
        self.count = max(int(np.prod(domain)), 1) if memory == "mean" else 1
        self.each: EachArgument | None = None
        if memory == "each":
            shape = (*domain, *(() if isinstance(argument, Mapping) else trailing_shape(type_)))
            self.each = EachArgument(np.ones(shape) if argument is None else argument, type_, "a cotangent")
        else:
            ones = value_at(np.ones((1, *trailing_shape(type_)), dtype_of(type_)), (0,), type_)
            self.value = ones if argument is None else convert(from_host(argument, type_), type_)

    def at(self, index: Index) -> object:
        """Return one thread's part."""
        if self.each is not None:
            return self.each.at(index)
        return map_floating(self.value, lambda data: converted(data, np.float64) / self.count)


@dataclass(slots=True)
class _Moves:
    """The elements of one thread in forward mode, with their tangents."""

    level: Level
    tangents: Mapping[str, Numbers]
    arguments: Mapping[str, object]

    def read(self, name: str, place: Index, value: object) -> object:
        """Return the value with its tangent."""
        argument = self.arguments[name]
        assert isinstance(argument, (TensorArgument, TextureArgument))  # noqa: S101  (only those are read by address)
        return moved(self.level, value, value_at(self.tangents[name], place, argument.type.element))

    def write(self, name: str, place: Index, value: object) -> None:
        """Keep the tangent of a written value."""
        argument = self.arguments[name]
        assert isinstance(argument, TensorArgument)  # noqa: S101  (only tensors are written)
        tangent = map_floating(value, lambda data: tangent_of(data, self.level), zeroed)
        put_value(self.tangents[name], place, tangent, argument.type.element)

    def add(self, name: str, place: Index, value: object) -> None:
        """Add the tangent of an added value."""
        tangent = map_floating(value, lambda data: tangent_of(data, self.level), zeroed)
        self.tangents[name][place] += bottom(data_of(tangent))


class _Forward:
    """Forward mode over all threads."""

    def __init__(self, ready: PythonLaunch, tangents: dict[str, object]) -> None:
        self.ready = ready
        self._primal, self._tangent = ready.results(), ready.results()
        self._each: dict[str, EachArgument] = {}
        self._values: dict[str, object] = {}
        self._memories: dict[str, Numbers] = {}
        for p in _differentiable(ready):
            argument, tangent = ready.arguments[p.name], tangents.get(p.name)
            if isinstance(argument, (TensorArgument, TextureArgument)):
                array = np.zeros(argument.array.shape) if tangent is None else tangent
                self._memories[p.name] = np.array(as_array(array, argument.type.element, f"the tangent of {p.name}"))
            elif isinstance(argument, EachArgument) and tangent is not None:
                self._each[p.name] = EachArgument(tangent, p.type, f"the tangent of {p.name}")
            elif tangent is not None:
                self._values[p.name] = convert(from_host(tangent, p.type), p.type)

    @property
    def finished(self) -> list[object]:
        """The results."""
        return [r.finish() for r in self._primal]

    def thread(self, index: Index) -> None:
        """Run one thread and keep the tangents of its results."""
        with activation(index, self.ready.shape), new_level(reverse=False) as level:
            moves = _Moves(level, self._memories, self.ready.arguments)
            values = [self._seen(p, index, level, moves) for p in self.ready.kernel.parameters]
            parts = self.ready.run(values)
        for primal, tangent, part in zip(self._primal, self._tangent, parts, strict=True):
            primal.put(index, map_floating(part, lambda data: lowered(data, level)))
            tangent.put(index, map_floating(part, lambda data: tangent_of(data, level), zeroed))

    def _seen(self, p: KernelParameter, index: Index, level: Level, moves: _Moves) -> object:
        value = seen(self.ready.arguments[p.name], index)
        if isinstance(value, (TensorArgument, TextureArgument)):
            return replace(value, trace=moves) if p.differentiable else value
        if p.name in self._each:
            return moved(level, value, self._each[p.name].at(index))
        return moved(level, value, self._values[p.name]) if p.name in self._values else value

    def moved(self) -> dict[str, object]:
        """Return the tangents of results and written tensors."""
        names = result_names(self.ready)
        result: dict[str, object] = dict(zip(names, (r.finish() for r in self._tangent), strict=True))
        written = {a.name for a in _written(self.ready)}
        return {**result, **{name: array for name, array in self._memories.items() if name in written}}
