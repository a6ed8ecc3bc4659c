"""The parameters and result of a described function, from its annotations: resolved at the first use, then kept."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from slangad.compiler.ir.types import Type, carries_gradient
from slangad.compiler.lang.decorators.resolve import annotations_of
from slangad.compiler.lang.errors import AnnotationError
from slangad.compiler.lang.types.annotations import ir_type, memory_annotation, parameter_type
from slangad.compiler.lang.types.records import record_of

if TYPE_CHECKING:
    from types import FunctionType

    from slangad.compiler.lang.decorators.functions import DescribedFunction

EMPTY: Final = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class SignatureParameter:
    """A parameter; ``default`` is ``inspect.Parameter.empty`` if it has none."""

    name: str
    type: Type
    no_diff: bool = False
    default: object = EMPTY

    @property
    def differentiable(self) -> bool:
        """True if it has a gradient."""
        return not self.no_diff and carries_gradient(self.type)


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """The parameters of a function, the object of a method among them, and its result."""

    parameters: tuple[SignatureParameter, ...]
    result: Type

    @property
    def differentiable(self) -> tuple[SignatureParameter, ...]:
        """The parameters that have a gradient."""
        return tuple(p for p in self.parameters if p.differentiable)


_KNOWN: Final[WeakKeyDictionary[DescribedFunction[..., object], FunctionSignature]] = WeakKeyDictionary()


def signature_of(described: DescribedFunction[..., object]) -> FunctionSignature:
    """Return the signature of a described function.

    Raises:
        AnnotationError: with the parameter's name, when an annotation is missing or names no type.
    """
    known = _KNOWN.get(described)
    if known is None:
        known = _read(described)
        _KNOWN[described] = known
    return known


def _read(described: DescribedFunction[..., object]) -> FunctionSignature:
    annotations = annotations_of(described.python, described.frame_locals, described.owner)
    parameters = []
    for position, parameter in enumerate(python_parameters(described.python)):
        record = record_of(described.owner)
        if position == 0 and record is not None and not described.static:
            parameters.append(SignatureParameter(parameter.name, record.type))
        else:
            parameters.append(_parameter(described.name, parameter, annotations))
    if "return" not in annotations:
        raise AnnotationError(f"{described.name} has no result annotation", "write -> float, or -> None", "return")
    return FunctionSignature(tuple(parameters), _type(annotations["return"], "return"))


def _parameter(function: str, parameter: inspect.Parameter, annotations: dict[str, object]) -> SignatureParameter:
    name = parameter.name
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise AnnotationError(f"{function} takes *{name}", "name each parameter", name)
    if name not in annotations:
        raise AnnotationError(f"parameter {name} of {function} has no annotation", f"write {name}: float", name)
    memory = memory_annotation(annotations[name])
    if memory.memory not in ("value", "tensor", "texture2d"):
        raise AnnotationError(f"parameter {name} of {function} declares memory", "only kernels do that", name)
    type_ = parameter_type(memory, _type(memory.value, name))
    return SignatureParameter(name, type_, memory.no_diff, parameter.default)


def _type(annotation: object, parameter: str) -> Type:
    try:
        return ir_type(annotation)
    except AnnotationError as error:
        raise AnnotationError(error.message, error.help, parameter) from None


@lru_cache(maxsize=1024)
def python_parameters(function: FunctionType) -> tuple[inspect.Parameter, ...]:
    """Return the parameters of a Python function as written."""
    return tuple(inspect.signature(function).parameters.values())
