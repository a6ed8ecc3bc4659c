"""Kernels: memories of parameters and results from annotations, and a function for one thread."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.kernel_rules.memories import (
    check_has_output,
    check_param_memory,
    check_result_memory,
    is_written,
    kernel_signature,
    python_spelling,
    type_in,
)
from slangad.compiler.frontends.python.annotations import Annotations
from slangad.compiler.frontends.python.signatures import argument_span
from slangad.compiler.frontends.reading.fence import fence_function
from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.ir.nodes import KernelParam, KernelResult, Memory
from slangad.compiler.ir.types import DiffPair, Tuple, Void, show
from slangad.compiler.lang.decorators.resolve import scope_of
from slangad.compiler.lang.decorators.source import Definition, definition_of
from slangad.compiler.lang.errors import DescriptionError
from slangad.compiler.lang.types.annotations import result_annotation

if TYPE_CHECKING:
    from types import FunctionType

    from slangad.compiler.frontends.python.world import PythonWorld
    from slangad.compiler.frontends.reading.signatures import CallSignature
    from slangad.compiler.lang.decorators.kernels import KernelObject
    from slangad.compiler.lang.types.annotations import Memory as MemoryAnnotation
    from slangad.compiler.lang.types.annotations import ResultAnnotation


@dataclass(frozen=True, slots=True)
class DescribedKernel:
    """A kernel ready to be lowered."""

    object: KernelObject[object]
    definition: Definition
    locations: SourceLocations
    params: tuple[KernelParam, ...]
    results: tuple[KernelResult, ...]
    signature: CallSignature


def declare_kernel(world: PythonWorld, value: KernelObject[object]) -> DescribedKernel | None:
    """Return a kernel with its signature; None after all its errors were reported."""
    definition = definition_of(value.python)
    locations = SourceLocations(definition.path, definition.text)
    before = len(world.problems)
    fence_function(definition.tree, locations, world.problems)
    names = scope_of(value.python, value.frame_locals, None)
    annotations = Annotations(locations, world.problems, value.python.__globals__, names)
    params = [_param(world, value.python, a, annotations) for a in _arguments(definition.tree)]
    known = tuple(p for p in params if p is not None)
    written = any(is_written(p.type) for p in known)
    results = kernel_results(world, value.python, definition.tree, annotations, optional=written)
    if len(world.problems) != before or results is None or len(known) != len(params):
        return None
    where = locations.span(definition.tree.returns) if definition.tree.returns else locations.name_span(definition.tree)
    check_has_output(value.name, known, results, where, world.problems)
    if len(world.problems) != before:
        return None
    code = value.python.__code__
    key = f"{code.co_filename}:{code.co_firstlineno}:{value.emitted_name}"
    signature = kernel_signature(key, value.emitted_name, known, results)
    return DescribedKernel(value, definition, locations, known, results, signature)


def _arguments(tree: ast.FunctionDef) -> list[ast.arg]:
    return [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]


def kernel_params(
    world: PythonWorld, function: FunctionType, tree: ast.FunctionDef, annotations: Annotations
) -> tuple[KernelParam, ...] | None:
    """Return the parameters of a kernel or pipeline; None after all their errors were reported."""
    params = [_param(world, function, argument, annotations) for argument in _arguments(tree)]
    known = tuple(p for p in params if p is not None)
    return known if len(known) == len(params) else None


def _param(
    world: PythonWorld, function: FunctionType, argument: ast.arg, annotations: Annotations
) -> KernelParam | None:
    span = argument_span(annotations.locations, argument)
    if argument.annotation is None:
        world.problems.error(
            "SA016", span, f"parameter '{argument.arg}' has no annotation", help=f"write {argument.arg}: Each[float]"
        )
        return None
    declared = annotations.memory(function.__annotations__.get(argument.arg), argument.annotation, argument.arg)
    if declared is None:
        return None
    record, type_ = declared
    where = annotations.locations.span(argument.annotation)
    if record.memory == "value":
        world.problems.error(
            "SA030",
            where,
            f"'{argument.arg}' does not declare its memory",
            help=f"write Each[{ast.unparse(argument.annotation)}] for one value per thread, "
            "Uniform[…] for one value for all threads",
        )
        return None
    if isinstance(type_, (Tuple, DiffPair, Void)):
        world.problems.error(
            "SA017", where, f"a kernel can't take {show(type_)}", help="numbers, vectors, arrays, structs"
        )
        return None
    memory = Memory(record.memory)
    if not check_param_memory(memory, type_, python_spelling, where, world.problems):
        return None
    passive = record.no_diff or memory is Memory.UNIFORM
    return KernelParam(argument.arg, memory, type_in(memory, type_, record.rank, record.options), passive, span)


def kernel_results(
    world: PythonWorld, function: FunctionType, tree: ast.FunctionDef, annotations: Annotations, *, optional: bool
) -> tuple[KernelResult, ...] | None:
    """Return the results of a kernel or pipeline; None after all their errors were reported."""
    locations = annotations.locations
    if tree.returns is None and optional:
        return ()
    if tree.returns is None:
        world.problems.error(
            "SA016",
            locations.name_span(tree),
            f"'{function.__name__}' does not say what it returns",
            help="annotate it: -> Each[float]",
        )
        return None
    evaluated = annotations.evaluated(function.__annotations__.get("return"), tree.returns, "return")
    if evaluated is None:
        return None
    annotation = result_annotation(evaluated)
    results: list[KernelResult] = []
    before = len(world.problems)
    for index, (part, node) in enumerate(zip(annotation.parts, _result_nodes(tree.returns, annotation), strict=True)):
        name = f"result.{index}" if annotation.is_tuple else "result"
        result = _result(world, annotations, part, node, name)
        results.extend([result] if result is not None else [])
    return tuple(results) if len(world.problems) == before else None


def _result_nodes(node: ast.expr, annotation: ResultAnnotation) -> list[ast.expr]:
    """Return the node of each part of a result annotation."""
    count = len(annotation.parts)
    if annotation.is_tuple and isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) == count:
            return parts
    return [node] * count


def _result(
    world: PythonWorld, annotations: Annotations, part: MemoryAnnotation, node: ast.expr, name: str
) -> KernelResult | None:
    where = annotations.locations.span(node)
    type_ = annotations.value_type(part.value, node)
    if type_ is None:
        return None
    if part.memory == "value":
        world.problems.error("SA030", where, "the result does not declare its memory", help="write -> Each[float]")
        return None
    if isinstance(type_, (Tuple, DiffPair, Void)):
        world.problems.error(
            "SA017", where, f"a kernel can't return Each[{show(type_)}]", help="write a tuple of Each[…]"
        )
        return None
    memory = Memory(part.memory)
    if not check_result_memory(memory, type_, python_spelling, where, world.problems):
        return None
    return KernelResult(name, memory, type_)


def try_declare(world: PythonWorld, value: KernelObject[object]) -> DescribedKernel | None:
    """Return a kernel with its signature; None after a report, also of a missing source."""
    try:
        return declare_kernel(world, value)
    except DescriptionError as error:
        world.report(error, Span(value.location.file, value.location.line, 1, value.location.line, 2), "SA038")
        return None
