"""Running a kernel in Python: every thread of its domain, one after another, on numpy arrays."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.ir.types import VOID, Tuple, Type
from slangad.compiler.lang.annotations import Memory, ir_type, memory_annotation, result_annotation
from slangad.compiler.lang.construct import from_host
from slangad.compiler.lang.errors import AnnotationError
from slangad.compiler.lang.execution.activation import activation
from slangad.compiler.lang.execution.elements import (
    EachArgument,
    EachResult,
    Result,
    SumResult,
    TensorArgument,
    common_domain,
    tensor_argument,
    texture_argument,
)
from slangad.compiler.lang.execution.run import as_result, body_of
from slangad.compiler.lang.resolve import annotations_of
from slangad.compiler.lang.signature import python_parameters
from slangad.compiler.lang.values import convert, copy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.lang.kernels import KernelObject

Domain = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Kernel:
    name: str
    parameters: tuple[tuple[inspect.Parameter, Memory, Type], ...]
    results: tuple[tuple[Memory, Type], ...]
    is_tuple: bool

    @property
    def result_type(self) -> Type:
        types = tuple(t for _, t in self.results)
        return VOID if not types else Tuple(types) if self.is_tuple else types[0]


def launch(
    kernel: KernelObject, args: Sequence[object], kwargs: Mapping[str, object], domain: int | Domain | None
) -> object:
    """Runs every thread and gives the results.

    Raises:
        TypeError: when an argument is of the wrong kind.
        ValueError: when shapes disagree, or nothing tells the domain.
    """
    read = _read(kernel)
    bound = inspect.Signature([p for p, _, _ in read.parameters]).bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = {p.name: _argument(p.name, bound.arguments[p.name], m, t) for p, m, t in read.parameters}
    shape = _domain(kernel, arguments, domain)
    results = [_result(m, t, shape) for m, t in read.results]
    body = body_of(kernel.python, {p.name: t for p, m, t in read.parameters if m.memory in _VALUES})
    for index in np.ndindex(shape):
        with activation(index, shape):
            values = [a.at(index) if isinstance(a, EachArgument) else copy(a) for a in arguments.values()]
            returned = as_result(read.name, body(*values), read.result_type)
        parts = returned if isinstance(returned, tuple) and read.is_tuple else (returned,)
        for result, part in zip(results, parts, strict=False):
            result.put(index, part)
    finished = tuple(r.finish() for r in results)
    return finished if read.is_tuple else (finished or (None,))[0]


_VALUES = ("value", "each", "param", "uniform")


def _read(kernel: KernelObject) -> _Kernel:
    annotations = annotations_of(kernel.python, kernel.frame_locals)
    parameters = []
    for parameter in python_parameters(kernel.python):
        if parameter.name not in annotations:
            raise AnnotationError(
                f"parameter {parameter.name} of {kernel.name} has no annotation", "write Each[float]", parameter.name
            )
        memory = memory_annotation(annotations[parameter.name])
        parameters.append((parameter, memory, ir_type(memory.value)))
    result = result_annotation(annotations.get("return"))
    results = tuple((m, ir_type(m.value)) for m in result.parts)
    for memory, _ in results:
        if memory.memory not in ("each", "sum", "mean"):
            raise AnnotationError(f"{kernel.name} returns {memory.value}", "write Each[…], Sum[…] or Mean[…]", "return")
    return _Kernel(kernel.name, tuple(parameters), results, result.is_tuple)


def _argument(name: str, value: object, memory: Memory, type_: Type) -> object:
    match memory.memory:
        case "each":
            return EachArgument(value, type_, name)
        case "tensor" | "out_tensor" | "inout_tensor":
            return tensor_argument(value, memory, type_, name)
        case "texture2d":
            return texture_argument(value, memory, type_, name)
        case _:
            return convert(from_host(value, type_), type_)


def _domain(kernel: KernelObject, arguments: Mapping[str, object], named: int | Domain | None) -> Domain:
    """The shape of the domain: of the ``Each`` arguments, of what is written, or as the caller says."""
    shapes = [a.domain() for a in arguments.values() if isinstance(a, EachArgument)]
    if named is not None:
        shapes.insert(0, ("the domain", (named,) if isinstance(named, int) else tuple(named)))
    if not shapes:
        written = [a for a in arguments.values() if isinstance(a, TensorArgument) and a.writable]
        shapes = [(a.name, a.array.shape[: kernel.dims]) for a in written]
    if not shapes:
        raise ValueError(f"nothing tells the domain of {kernel.name}: pass domain=")
    name, shape = common_domain(shapes)
    if len(shape) != kernel.dims:
        raise ValueError(f"{name} has {len(shape)} axes of elements, {kernel.name} has {kernel.dims} dims")
    return shape


def _result(memory: Memory, type_: Type, domain: Domain) -> Result:
    if memory.memory == "each":
        return EachResult(type_, domain)
    return SumResult(type_, domain, mean=memory.memory == "mean")
