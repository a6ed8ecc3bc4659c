"""Launches of kernels in Python: every thread of the domain, one after another, on numpy arrays."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.ir.types import VOID, Tensor, Texture, Tuple, Type, carries_gradient
from slangad.compiler.lang.activation import Meet, activation
from slangad.compiler.lang.decorators.resolve import annotations_of
from slangad.compiler.lang.decorators.signature import python_parameters
from slangad.compiler.lang.errors import AnnotationError
from slangad.compiler.lang.execution.elements import (
    EachArgument,
    EachResult,
    Result,
    SumResult,
    common_domain,
)
from slangad.compiler.lang.execution.groups import blocks_of, computes_together, run_in_step
from slangad.compiler.lang.execution.memories import TensorArgument, tensor_argument, texture_argument
from slangad.compiler.lang.execution.run import as_result, body_of
from slangad.compiler.lang.types.annotations import (
    Memory,
    ir_type,
    memory_annotation,
    parameter_type,
    result_annotation,
)
from slangad.compiler.lang.types.construct import from_host
from slangad.compiler.lang.types.values import convert, copy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slangad.compiler.lang.decorators.kernels import KernelObject

Domain = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A kernel's parameter: its memory and the type that one thread sees."""

    python: inspect.Parameter
    memory: Memory
    type: Type

    @property
    def name(self) -> str:
        """Its name."""
        return self.python.name

    @property
    def differentiable(self) -> bool:
        """True if it has a gradient."""
        return not self.memory.no_diff and self.memory.memory != "uniform" and carries_gradient(self.type)


@dataclass(frozen=True, slots=True)
class ExecutedKernel:
    """A kernel's parameters and results."""

    name: str
    parameters: tuple[KernelParameter, ...]
    results: tuple[tuple[Memory, Type], ...]
    is_tuple: bool

    @property
    def result_type(self) -> Type:
        """The type that one thread returns."""
        types = tuple(t for _, t in self.results)
        return VOID if not types else Tuple(types) if self.is_tuple else types[0]

    def parts(self, returned: object) -> tuple[object, ...]:
        """Return one value per result."""
        if not self.results:
            return ()
        return returned if isinstance(returned, tuple) and self.is_tuple else (returned,)

    def finished(self, values: Sequence[object]) -> object:
        """Return the value of a call of the kernel: None, the result, or a tuple of results."""
        return tuple(values) if self.is_tuple else (*values, None)[0]


@dataclass(frozen=True, slots=True)
class PythonLaunch:
    """A kernel with its arguments, ready to run thread by thread."""

    kernel: ExecutedKernel
    arguments: Mapping[str, object]
    shape: Domain
    body: Callable[..., object]

    def run(self, values: Sequence[object]) -> tuple[object, ...]:
        """Run one thread on its arguments; return one value per result."""
        returned = as_result(self.kernel.name, self.body(*values), self.kernel.result_type)
        return self.kernel.parts(returned)

    def results(self) -> list[Result]:
        """Return the results, empty."""
        return [_result(m, t, self.shape) for m, t in self.kernel.results]


def launch(
    kernel: KernelObject[object], args: Sequence[object], kwargs: Mapping[str, object], domain: int | Domain | None
) -> object:
    """Run every thread and return the results.

    Raises:
        TypeError: when an argument is of the wrong kind.
        ValueError: if shapes disagree, or the domain is not known.
    """
    ready = prepare(kernel, args, kwargs, domain)
    results = ready.results()

    def run(index: Domain, meet: Meet | None = None) -> None:
        with activation(index, ready.shape, meet):
            parts = ready.run([seen(a, index) for a in ready.arguments.values()])
        for result, part in zip(results, parts, strict=True):
            result.put(index, part)

    if computes_together(kernel.python):
        for block in blocks_of(ready.shape, kernel.group_size):
            run_in_step(block, run)
    else:
        for index in np.ndindex(ready.shape):
            run(index)
    return ready.kernel.finished([r.finish() for r in results])


def seen(argument: object, index: Domain) -> object:
    """Return the value that one thread sees of an argument."""
    return argument.at(index) if isinstance(argument, EachArgument) else copy(argument)


def prepare(
    kernel: KernelObject[object], args: Sequence[object], kwargs: Mapping[str, object], domain: int | Domain | None
) -> PythonLaunch:
    """Return a kernel bound to its arguments.

    Raises:
        TypeError: when an argument is of the wrong kind.
        ValueError: if shapes disagree, or the domain is not known.
    """
    read = _read(kernel)
    if "device" in kwargs and all(p.name != "device" for p in read.parameters):
        name, device = kernel.name, kwargs["device"]
        raise TypeError(f"{name}(…) runs in Python, on no device: {name}.forward(…, device={device!r}) runs on one")
    bound = inspect.Signature([p.python for p in read.parameters]).bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = {p.name: _argument(p, bound.arguments[p.name]) for p in read.parameters}
    shape = _domain(kernel, arguments, domain)
    return PythonLaunch(read, arguments, shape, body_of(kernel.python, {p.name: p.type for p in read.parameters}))


def _read(kernel: KernelObject[object]) -> ExecutedKernel:
    annotations = annotations_of(kernel.python, kernel.frame_locals)
    parameters = []
    for parameter in python_parameters(kernel.python):
        if parameter.name not in annotations:
            raise AnnotationError(
                f"parameter {parameter.name} of {kernel.name} has no annotation", "write Each[float]", parameter.name
            )
        memory = memory_annotation(annotations[parameter.name])
        parameters.append(KernelParameter(parameter, memory, parameter_type(memory, ir_type(memory.value))))
    result = result_annotation(annotations.get("return"))
    results = tuple((m, ir_type(m.value)) for m in result.parts)
    for memory, _ in results:
        if memory.memory not in ("each", "sum", "mean"):
            raise AnnotationError(f"{kernel.name} returns {memory.value}", "write Each[…], Sum[…] or Mean[…]", "return")
    return ExecutedKernel(kernel.name, tuple(parameters), results, result.is_tuple)


def _argument(parameter: KernelParameter, value: object) -> object:
    type_ = parameter.type
    if getattr(value, "requires_grad", False):  # torch's mark; numpy would refuse it with less help
        raise TypeError(f"{parameter.name} requires a gradient, which Python execution loses: use .torch()(…)")
    if isinstance(type_, Tensor):
        return tensor_argument(value, type_, parameter.name)
    if isinstance(type_, Texture):
        return texture_argument(value, type_, parameter.name)
    if parameter.memory.memory == "each":
        return EachArgument(value, type_, parameter.name)
    return convert(from_host(value, type_), type_)


def _domain(kernel: KernelObject[object], arguments: Mapping[str, object], named: int | Domain | None) -> Domain:
    """Return the shape of the domain: the caller's, that of ``Each`` arguments, or that of written tensors."""
    shapes = [a.domain() for a in arguments.values() if isinstance(a, EachArgument)]
    if named is not None:
        shapes.insert(0, ("the domain", (named,) if isinstance(named, int) else tuple(named)))
    if not shapes:
        written = [a for a in arguments.values() if isinstance(a, TensorArgument) and a.type.writes]
        shapes = [(a.name, a.array.shape[: kernel.dims]) for a in written]
    if not shapes:
        raise ValueError(f"the domain of {kernel.name} is unknown: pass domain=")
    name, shape = common_domain(shapes)
    if len(shape) != kernel.dims:
        raise ValueError(f"{name} has {len(shape)} axes of elements, {kernel.name} has {kernel.dims} dims")
    return shape


def _result(memory: Memory, type_: Type, domain: Domain) -> Result:
    if memory.memory == "each":
        return EachResult(type_, domain)
    return SumResult(type_, domain, mean=memory.memory == "mean")
