"""Signatures of described functions and methods: from annotations and defaults."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.kernel_rules.memories import check_function_memory, python_spelling, type_in
from slangad.compiler.frontends.lowering.constants import check_default
from slangad.compiler.frontends.python.annotations import Annotations
from slangad.compiler.frontends.reading.fence import fence_function
from slangad.compiler.frontends.reading.locations import SourceLocations
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.frontends.reading.signatures import CallSignature, Parameter
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.lang.decorators.resolve import scope_of
from slangad.compiler.lang.decorators.struct import CALL, CALL_IN_SLANG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.types import Struct, Type
    from slangad.compiler.lang.decorators.functions import DescribedFunction
    from slangad.compiler.lang.decorators.source import Definition


@dataclass(frozen=True, slots=True)
class DescribedSource:
    """A described function with its signature and source."""

    object: DescribedFunction[..., object]
    signature: CallSignature
    definition: Definition
    locations: SourceLocations


def annotations_for(
    problems: Problems, value: DescribedFunction[..., object], locations: SourceLocations
) -> Annotations:
    """Return the scope a function's annotations are evaluated in."""
    names = scope_of(value.python, value.frame_locals, value.owner)
    return Annotations(locations, problems, value.python.__globals__, names)


def declare(
    problems: Problems, value: DescribedFunction[..., object], definition: Definition, owner: Struct | None
) -> DescribedSource | None:
    """Return a function with its signature; None after all its errors were reported.

    Args:
        problems: Receives errors.
        value: The function.
        definition: Its source.
        owner: The struct if the function is a method.
    """
    locations = SourceLocations(definition.path, definition.text)
    fenced = Problems()
    fence_function(definition.tree, locations, fenced)
    for diagnostic in fenced.sorted():
        problems.add(diagnostic)
    annotations = annotations_for(problems, value, locations)
    params = [*_parameters(problems, value, definition.tree, annotations)]
    result = _result(value, definition.tree, annotations)
    if len(fenced) or result is None or any(p is None for p in params):
        return None
    signature = CallSignature(
        key_of(value, owner), _slang_name(value) if owner is not None else value.emitted_name,
        tuple(p for p in params if p is not None), result, value.differentiable, owner, value.static,
    )  # fmt: skip
    return DescribedSource(value, signature, definition, locations)


def _slang_name(method: DescribedFunction[..., object]) -> str:
    return CALL_IN_SLANG if method.name == CALL else method.name


def key_of(value: DescribedFunction[..., object], owner: Struct | None) -> str:
    """Return a unique key: file, line and name; the key of a method begins with its struct's."""
    code = value.python.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    return f"{owner.key}.{value.name}" if owner is not None else f"{where}:{value.emitted_name}"


def _parameters(
    problems: Problems, value: DescribedFunction[..., object], tree: ast.FunctionDef, annotations: Annotations
) -> Iterator[Parameter | None]:
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    if value.owner is not None and not value.static:
        yield from _without_self(problems, value, tree, annotations.locations)
        arguments = arguments[1:]
    nodes = default_nodes(tree.args)
    for argument in arguments:
        param = _parameter(problems, value, argument, annotations)
        if param is None or argument.arg not in nodes:
            yield param
        else:
            default = inspect.signature(value.python).parameters[argument.arg].default
            span = annotations.locations.span(nodes[argument.arg])
            fitting = check_default(problems, argument.arg, default, param.type, span)
            yield replace(param, default=default) if fitting else None


_NO_DIFF: Final = re.compile(r"\bNoDiff\b")


def _without_self(
    problems: Problems, value: DescribedFunction[..., object], tree: ast.FunctionDef, locations: SourceLocations
) -> Iterator[None]:
    """Report a method whose first parameter is not the object or has a ``NoDiff`` annotation."""
    arguments = [*tree.args.posonlyargs, *tree.args.args]
    if not arguments or arguments[0].arg != "self":
        span = argument_span(locations, arguments[0]) if arguments else locations.name_span(tree)
        problems.error(
            "SA016",
            span,
            f"the first parameter of method '{value.name}' is not 'self'",
            help="add self, or @staticmethod",
        )
        yield None
    elif arguments[0].annotation is not None and _NO_DIFF.search(ast.unparse(arguments[0].annotation)):
        problems.error(
            "SA017",
            locations.span(arguments[0].annotation),
            "the object of a method always has a gradient",
            help="end the gradient with sa.no_diff(self.x), or write a function with a NoDiff parameter",
        )
        yield None


def default_nodes(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the nodes of defaults by parameter."""
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    by_name = {a.arg: d for a, d in zip(last, arguments.defaults, strict=True)}
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {**by_name, **{a.arg: d for a, d in pairs if d is not None}}


def _parameter(
    problems: Problems, value: DescribedFunction[..., object], argument: ast.arg, annotations: Annotations
) -> Parameter | None:
    span = argument_span(annotations.locations, argument)
    if argument.annotation is None:
        problems.error(
            "SA016",
            span,
            f"parameter '{argument.arg}' has no annotation",
            label="its type is unknown",
            help=f"write {argument.arg}: float",
        )
        return None
    declared = annotations.memory(value.python.__annotations__.get(argument.arg), argument.annotation, argument.arg)
    if declared is None:
        return None
    memory, type_ = declared
    if memory.memory != "value":
        space, where = Memory(memory.memory), annotations.locations.span(argument.annotation)
        if not check_function_memory(space, type_, python_spelling, where, problems):
            return None
        type_ = type_in(space, type_, memory.rank, memory.options)
    kind = inspect.signature(value.python).parameters[argument.arg].kind
    return Parameter(argument.arg, type_, memory.no_diff, passed=_PASSED.get(kind, ""), span=span)


_PASSED: Final[dict[object, Literal["keyword", "positional"]]] = {
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.POSITIONAL_ONLY: "positional",
}


def argument_span(locations: SourceLocations, argument: ast.arg) -> Span:
    """Return the location of a parameter's name."""
    whole = locations.span(argument)
    return Span(whole.file, whole.line, whole.column, whole.line, whole.column + len(argument.arg))


def _result(value: DescribedFunction[..., object], tree: ast.FunctionDef, annotations: Annotations) -> Type | None:
    if tree.returns is None:
        annotations.problems.error(
            "SA016",
            annotations.locations.name_span(tree),
            f"'{value.name}' does not say what it returns",
            label="no '->'",
            help="annotate the result: -> float",
        )
        return None
    declared = annotations.memory(value.python.__annotations__.get("return"), tree.returns, "return")
    if declared is None:
        return None
    memory, type_ = declared
    if memory.memory != "value":
        annotations.problems.error(
            "SA031",
            annotations.locations.span(tree.returns),
            "only a kernel's results declare memory",
            help="return the value itself, for example float",
        )
        return None
    return type_
