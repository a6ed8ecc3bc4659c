"""Signatures of described functions and methods: from annotations and defaults."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from slangad.compiler.frontends.fence import fence_function
from slangad.compiler.frontends.lowering.entities import MISSING, Parameter, Signature
from slangad.compiler.frontends.places import Places
from slangad.compiler.frontends.problems import Problems
from slangad.compiler.frontends.python.annotations import Annotations
from slangad.compiler.frontends.python.world import Described, World
from slangad.compiler.lang.resolve import scope_of
from slangad.compiler.lang.struct import record_of
from slangad.compiler.spans import Span

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from slangad.compiler.ir.types import Struct, Type
    from slangad.compiler.lang.functions import DescribedFunction
    from slangad.compiler.lang.source import Definition


def annotations_for(world: World, value: DescribedFunction[..., object], places: Places) -> Annotations:
    """The scope a function's annotations are evaluated in."""
    names = scope_of(value.python, value.frame_locals, value.owner)
    return Annotations(places, world.problems, value.python.__globals__, names)


def declare(world: World, value: DescribedFunction[..., object], definition: Definition) -> Described | None:
    """A function's signature; None after everything wrong with it was reported."""
    places = Places(definition.path, definition.text)
    fenced = Problems()
    fence_function(definition.tree, places, fenced)
    for diagnostic in fenced.sorted():
        world.problems.add(diagnostic)
    annotations = annotations_for(world, value, places)
    owner = owner_type(world, value)
    params = [*_parameters(world, value, definition.tree, annotations)]
    result = _result(value, definition.tree, annotations)
    if len(fenced) or result is None or any(p is None for p in params):
        return None
    signature = Signature(
        key_of(value, owner), value.name if owner is not None else value.emitted_name,
        tuple(p for p in params if p is not None), result, value.differentiable, owner, value.static,
    )  # fmt: skip
    return Described(value, signature, definition, places)


def owner_type(world: World, value: DescribedFunction[..., object]) -> Struct | None:
    """The struct a method belongs to."""
    record = record_of(value.owner)
    if record is None:
        return None
    world.struct(record)
    return record.type


def key_of(value: DescribedFunction[..., object], owner: Struct | None) -> str:
    """A key no other function has: file, line and name; that of a method begins with its struct's."""
    code = value.python.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    return f"{owner.key}.{value.name}" if owner is not None else f"{where}:{value.emitted_name}"


def _parameters(
    world: World, value: DescribedFunction[..., object], tree: ast.FunctionDef, annotations: Annotations
) -> Iterator[Parameter | None]:
    defaults = inspect.signature(value.python).parameters
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    if value.owner is not None and not value.static:
        if not arguments:
            span = annotations.places.name_span(tree)
            world.problems.error(
                "SA016", span, f"method '{value.name}' has no 'self'", help="add self, or @staticmethod"
            )
        arguments = arguments[1:]
    for argument in arguments:
        yield _parameter(world, value, argument, annotations, defaults[argument.arg].default)


def _parameter(
    world: World, value: DescribedFunction[..., object], argument: ast.arg, annotations: Annotations, default: object
) -> Parameter | None:
    span = argument_span(annotations.places, argument)
    if argument.annotation is None:
        world.problems.error(
            "SA016",
            span,
            f"parameter '{argument.arg}' has no annotation",
            label="its type is unknown",
            help=f"write {argument.arg}: float",
        )
        return None
    found = annotations.memory(value.python.__annotations__.get(argument.arg), argument.annotation, argument.arg)
    if found is None:
        return None
    memory, type_ = found
    if memory.memory != "value":
        world.problems.error(
            "SA031",
            annotations.places.span(argument.annotation),
            "only a kernel's parameters say where they live",
            help="take the value itself, for example float3",
        )
        return None
    given = MISSING if default is inspect.Parameter.empty else default
    return Parameter(argument.arg, type_, memory.no_diff, given, span)


def argument_span(places: Places, argument: ast.arg) -> Span:
    """The place of a parameter's name."""
    whole = places.span(argument)
    return Span(whole.file, whole.line, whole.column, whole.line, whole.column + len(argument.arg))


def _result(value: DescribedFunction[..., object], tree: ast.FunctionDef, annotations: Annotations) -> Type | None:
    if tree.returns is None:
        annotations.problems.error(
            "SA016",
            annotations.places.name_span(tree),
            f"'{value.name}' does not say what it returns",
            label="no '->'",
            help="annotate the result: -> float",
        )
        return None
    found = annotations.memory(value.python.__annotations__.get("return"), tree.returns, "return")
    if found is None:
        return None
    memory, type_ = found
    if memory.memory != "value":
        annotations.problems.error(
            "SA031",
            annotations.places.span(tree.returns),
            "only a kernel's results say where they live",
            help="return the value itself, for example float",
        )
        return None
    return type_
