"""Calls of described functions in Python: bind and convert arguments, run the transformed body, convert the result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Final
from weakref import WeakKeyDictionary

from slangad.compiler.ir.types import Tensor, Texture, Type, show
from slangad.compiler.lang.activation import outermost
from slangad.compiler.lang.decorators.functions import DescribedFunction
from slangad.compiler.lang.decorators.signature import EMPTY, SignatureParameter, signature_of
from slangad.compiler.lang.decorators.source import definition_of
from slangad.compiler.lang.errors import DescriptionError
from slangad.compiler.lang.execution.locals import Locals
from slangad.compiler.lang.execution.memories import memory_argument, passive
from slangad.compiler.lang.execution.names import Outside, own_names
from slangad.compiler.lang.execution.runtime import Runtime, constant
from slangad.compiler.lang.execution.transform import BODY, FACTORY, RUNTIME, Transformer
from slangad.compiler.lang.types.construct import from_host
from slangad.compiler.lang.types.tracing import tracing
from slangad.compiler.lang.types.values import convert

Described = DescribedFunction[..., object]
Body = Callable[..., object]

_BODIES: Final[WeakKeyDictionary[FunctionType, Body]] = WeakKeyDictionary()


def call_from_host(described: Described, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """Call a function from ordinary Python: arguments may be Python and numpy numbers, sequences and arrays."""
    parameters = signature_of(described).parameters
    with outermost():
        arguments = assigned(described.name, parameters, args, kwargs)
        return invoke(described, converted(described.name, parameters, arguments, host=True))


def call_strict(described: Described, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """Call a function from a described function."""
    parameters = signature_of(described).parameters
    arguments = assigned(described.name, parameters, args, kwargs)
    return invoke(described, converted(described.name, parameters, arguments))


def assigned(
    name: str, parameters: Sequence[SignatureParameter], args: Sequence[object], kwargs: Mapping[str, object]
) -> list[object]:
    """Return one value per parameter, as Python assigns arguments.

    Raises:
        TypeError: for a wrong number or name.
    """
    if len(args) > len(parameters):
        raise TypeError(f"{name} takes {len(parameters)} arguments, not {len(args)}")
    arguments = dict(zip((p.name for p in parameters), args, strict=False))
    for key, value in kwargs.items():
        if key in arguments:
            raise TypeError(f"{name} got argument {key} twice")
        if all(key != p.name for p in parameters):
            raise TypeError(f"{name} has no parameter {key}")
        arguments[key] = value
    return [arguments[p.name] if p.name in arguments else _default(name, p) for p in parameters]


def _default(name: str, parameter: SignatureParameter) -> object:
    if parameter.default is EMPTY:
        raise TypeError(f"{name} misses argument {parameter.name}")
    return constant(parameter.default)


def converted(
    name: str, parameters: Sequence[SignatureParameter], values: Sequence[object], *, host: bool = False
) -> list[object]:
    """Return copies of arguments as their parameters' types.

    Raises:
        TypeError: naming the parameter.
    """
    return [_converted(name, p, from_host(v, p.type) if host else v) for p, v in zip(parameters, values, strict=True)]


def _converted(name: str, parameter: SignatureParameter, value: object) -> object:
    try:
        if isinstance(parameter.type, (Tensor, Texture)):
            memory = memory_argument(value, parameter.type, parameter.name)
            return passive(memory) if parameter.no_diff else memory
        return convert(value, parameter.type)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"parameter {parameter.name} of {name} is {show(parameter.type)}: {error}") from None


def invoke(described: Described, values: Sequence[object]) -> object:
    """Run a function on converted arguments, by its derivative rule while a derivative is being taken."""
    if tracing():
        from slangad.compiler.lang.execution.differentiate import call_by_rule

        return call_by_rule(described, values)
    return run_body(described, values)


def run_body(described: Described, values: Sequence[object]) -> object:
    """Run the body of a function on converted arguments."""
    signature = signature_of(described)
    types = {p.name: p.type for p in signature.parameters}
    result = body_of(described.python, types)(*values)
    return as_result(described.name, result, signature.result)


def as_result(name: str, result: object, type_: Type) -> object:
    """Return a returned value as the declared type.

    Raises:
        TypeError: naming the function.
    """
    try:
        return convert(result, type_)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"{name} returns {show(type_)}: {error}") from None


def body_of(function: FunctionType, types: Mapping[str, Type]) -> Body:
    """Return the transformed body of a function, all parameters positional; made once."""
    body = _BODIES.get(function)
    if body is None:
        body = _compile(function, types)
        _BODIES[function] = body
    return body


def _compile(function: FunctionType, types: Mapping[str, Type]) -> Body:
    definition = definition_of(function)
    names = own_names(definition.tree)
    transformer = Transformer(names, Locals(definition.tree, types, Outside(function, names)))
    module = transformer.function(definition.tree, function.__code__.co_freevars)
    whole = compile(module, definition.path, "exec", dont_inherit=True)
    code = _named(_inner(_inner(whole, FACTORY), BODY), function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = CellType(Runtime(transformer.types))
    closure = tuple(cells[name] for name in code.co_freevars)
    return FunctionType(code, function.__globals__, function.__name__, None, closure)


def _inner(code: CodeType, name: str) -> CodeType:
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_name == name:
            return inner
    raise DescriptionError(f"{name} was not compiled")


def _named(code: CodeType, function: FunctionType) -> CodeType:
    """Return the code under the function's own name, for tracebacks and debuggers."""
    names = {"co_name": function.__name__}
    if sys.version_info >= (3, 11):
        names["co_qualname"] = function.__qualname__
    return code.replace(**names)  # type: ignore[arg-type]  # both are strings
