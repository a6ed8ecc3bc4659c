"""The functions that transformed code calls, one for each construct that differs from Python."""

from __future__ import annotations

import builtins
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slangad.compiler.ir.types import BOOL, FLOAT, INT, WEAK_FLOAT, Array, Scalar, Type, Weak, show
from slangad.compiler.lang.decorators.functions import BoundMethod, DescribedFunction, describe
from slangad.compiler.lang.decorators.generic import GenericFunction
from slangad.compiler.lang.decorators.loops import BoundedRange, max_iters
from slangad.compiler.lang.decorators.struct import CALL
from slangad.compiler.lang.errors import LoopBoundExceeded
from slangad.compiler.lang.execution.memories import TensorArgument, TextureArgument
from slangad.compiler.lang.intrinsics import python_equivalents
from slangad.compiler.lang.types.arrays import ArrayValue, array_class
from slangad.compiler.lang.types.construct import annotation_of
from slangad.compiler.lang.types.intrinsic_functions import IntrinsicFunction
from slangad.compiler.lang.types.matrices import MatrixValue
from slangad.compiler.lang.types.operators import binary, call_intrinsic, unary
from slangad.compiler.lang.types.pairs import PairValue
from slangad.compiler.lang.types.parts import position
from slangad.compiler.lang.types.records import record_of
from slangad.compiler.lang.types.values import cast, copy, joined, scalar, shown, try_type_of
from slangad.compiler.lang.types.vectors import VectorValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Step = tuple[str, Any]


def constant(value: object) -> object:
    """Return a value bound outside the function: numpy's 64-bit scalars are literals, tuples and arrays are tables."""
    if isinstance(value, (np.float64, np.ndarray, tuple)):
        return _table(value) if not isinstance(value, np.float64) else float(value)
    return np.int32(value) if isinstance(value, np.int64) else value


def _table(value: np.ndarray | tuple[object, ...]) -> object:
    """Return numbers of one type as an array, other tuples unchanged."""
    items = [value[i] for i in range(len(value))] if isinstance(value, np.ndarray) else list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        items = value.tolist() if value.dtype not in (np.float16, np.uint32) else items
    made = [copy(constant(item)) for item in items]
    types = {try_type_of(item) for item in made}
    if types == {INT, FLOAT}:
        made, types = [cast(item, FLOAT) for item in made], {FLOAT}
    (type_,) = types if len(types) == 1 else (None,)
    if type_ is None or not _is_stored(type_):
        return value
    return array_class(annotation_of(type_), len(made)).of(made)


def _is_stored(type_: Type) -> bool:
    return isinstance(type_, (Scalar, Array)) or hasattr(type_, "element")


def truth(value: object) -> bool:
    """Return a condition.

    Raises:
        TypeError: when it is no bool.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    help_ = "use sa.any(…) or sa.all(…)" if isinstance(value, VectorValue) else "compare it, for example x != 0"
    raise TypeError(f"a condition must be a bool, not {shown(value)}: {help_}")


def attribute(value: object, name: str) -> object:
    """Return ``value.name``."""
    value_of_attribute = getattr(value, name)
    if (
        isinstance(value, (VectorValue, PairValue, TensorArgument, TextureArgument))
        or record_of(type(value)) is not None
    ):
        return value_of_attribute
    return constant(value_of_attribute)


def index(value: object, place: object) -> object:
    """Return ``value[place]``; parts of stored values stay parts. ``table[i, j]`` is ``table[i][j]``."""
    if isinstance(place, tuple) and isinstance(value, (tuple, ArrayValue)):
        for one in place:
            value = index(value, one)
        return value
    if isinstance(value, tuple):
        return value[position(place, len(value))]
    if isinstance(value, (type, ModuleType)) or not hasattr(value, "__getitem__"):
        return value[place]  # type: ignore[index]  # Array[float, 4], or Python's own error
    return value[place]


def change(operator: str, target: Any, place: object, value: object) -> None:  # noqa: ANN401  (any value with parts)
    """Store ``target[place] += value``, or add to an output tensor that threads share."""
    if isinstance(target, TensorArgument) and not target.type.reads and operator in ("+", "-"):
        target.add(operator, place, value)
    else:
        store(target, (("index", place),), binary(operator, index(target, place), value))


def store(target: Any, steps: Sequence[Step], value: object) -> None:  # noqa: ANN401  (any value with parts)
    """Store ``target.a[i].b = value`` at the end of a path of ``("field", name)`` and ``("index", i)``."""
    kind, key = steps[0]
    if len(steps) > 1:
        child = getattr(target, key) if kind == "field" else target[key]
        store(child, steps[1:], value)
        if not isinstance(target, (VectorValue, MatrixValue)):
            return
        value = child
    if kind == "field":
        setattr(target, key, value)
    else:
        target[key] = value


def bind(value: object) -> object:
    """Return the value of a new name: a copy with strong literals."""
    return copy(value)


def bind_as(value: object, type_: Type) -> object:
    """Return the value of a new name of a known type.

    Raises:
        TypeError: when it does not convert by itself.
    """
    if isinstance(type_, Weak):
        return float(value) if type_ == WEAK_FLOAT else value  # type: ignore[arg-type]  # literals are numbers
    return joined(value, type_)


def unpack(value: object, count: int) -> tuple[object, ...]:
    """Return the parts of ``a, b = value``.

    Raises:
        TypeError: if their number differs.
    """
    parts = tuple(value) if isinstance(value, (tuple, ArrayValue, VectorValue, MatrixValue)) else None
    if parts is None or len(parts) != count:
        actual = "no parts" if parts is None else f"{len(parts)} parts"
        raise TypeError(f"{shown(value)} has {actual}, not {count}")
    return parts


def iterate(values: Iterable[object]) -> Iterator[object]:
    """Return an iterator over the items of a ``for`` loop."""
    if isinstance(values, (range, BoundedRange)):
        return (scalar(turn, INT) for turn in values)
    return iter(values)


class IterationCount:
    """The count of iterations of one run of a ``while`` loop, against the bound of ``sa.max_iters``."""

    __slots__ = ("bound", "count")

    def __init__(self) -> None:
        self.bound: int | None = None
        self.count = 0

    def call(self, function: object, *args: object, **kwargs: object) -> object:
        """Call a function in the loop's condition; ``sa.max_iters`` sets the bound."""
        if function is max_iters:
            self.bound = int(args[0]) if args else int(kwargs["n"])  # type: ignore[call-overload]  # checked by max_iters
        return call(function, *args, **kwargs)

    def turn(self) -> None:
        """Count one iteration.

        Raises:
            LoopBoundExceeded: if the count exceeds the bound.
        """
        self.count += 1
        if self.bound is not None and self.count > self.bound:
            raise LoopBoundExceeded(f"the loop takes more iterations than its bound of {self.bound}")


# --- calls -----------------------------------------------------------------------------------------------------------


def call(function: Any, *args: object, **kwargs: object) -> object:  # noqa: ANN401  (anything callable)
    """Return ``function(*args)``; Python's own functions have the language's meaning."""
    from slangad.compiler.lang.execution.run import call_strict

    if isinstance(function, DescribedFunction):
        return call_strict(function, args, kwargs)
    if isinstance(function, BoundMethod):
        return call_strict(function.function, (function.instance, *args), kwargs)
    if isinstance(function, GenericFunction):
        return call_strict(function.of_values(args, kwargs), args, kwargs)
    method = vars(type(function)).get(CALL) if record_of(type(function)) is not None else None
    if isinstance(method, DescribedFunction):
        return call_strict(method, (function, *args), kwargs)
    if isinstance(function, FunctionType) and not function.__module__.startswith("slangad."):
        return call_strict(describe(function), args, kwargs)
    if isinstance(function, IntrinsicFunction):
        return function(*args, **kwargs)
    if isinstance(function, (type, type(len))):
        return _call_own(function, args, kwargs)
    result = function(*args, **kwargs)
    return result if _is_of_the_language(function) else constant(result)


def _is_of_the_language(function: Any) -> bool:  # noqa: ANN401  (anything callable)
    """Return True if calls return values of the language, in which a numpy double is not a literal."""
    return (getattr(function, "__module__", None) or "").startswith("slangad.")


def _call_own(function: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:  # noqa: ANN401  (a builtin or class)
    row = python_equivalents.get(function)
    if row is not None:
        return call_intrinsic(row, _checked(function, args, kwargs))
    form = _FORMS.get(function)
    if form is not None:
        return form(*args, **kwargs)
    result = function(*args, **kwargs)
    return result if _is_of_the_language(function) else constant(result)


def _checked(function: Any, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:  # noqa: ANN401  (a builtin)
    if kwargs:
        raise TypeError(f"{function.__name__} takes no keywords in a described function")
    return args


def _converter(type_: Scalar) -> Callable[..., object]:
    return lambda *args: cast(args[0], type_) if args else scalar(0, type_)


def _range(*bounds: object) -> range:
    return range(*(_bound(b) for b in bounds))


def _bound(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"the bounds of range are ints, not {shown(value)}")
    return int(value)


def _enumerate(values: Iterable[object], start: object = 0) -> Iterator[tuple[object, object]]:
    return ((scalar(i, INT), item) for i, item in enumerate(iterate(values), _bound(start)))


def _zip(*values: Iterable[object]) -> Iterator[tuple[object, ...]]:
    return zip(*(iterate(v) for v in values), strict=False)


def _reversed(values: Any) -> Iterator[object]:  # noqa: ANN401  (a range or values)
    if isinstance(values, (range, BoundedRange)):
        return (scalar(turn, INT) for turn in reversed(values))
    return reversed(list(iterate(values)))


def _len(values: Any) -> object:  # noqa: ANN401  (anything with a length)
    return values.shape[0] if isinstance(values, TensorArgument) else len(values)


_FORMS: Final[dict[object, Callable[..., object]]] = {
    builtins.float: _converter(FLOAT),
    builtins.int: _converter(INT),
    builtins.bool: _converter(BOOL),
    builtins.range: _range,
    builtins.len: _len,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.reversed: _reversed,
}


class Runtime:
    """The functions above, with the types that one transformed function refers to by number."""

    binary = staticmethod(binary)
    unary = staticmethod(unary)
    constant = staticmethod(constant)
    truth = staticmethod(truth)
    attribute = staticmethod(attribute)
    index = staticmethod(index)
    change = staticmethod(change)
    store = staticmethod(store)
    bind = staticmethod(bind)
    unpack = staticmethod(unpack)
    iterate = staticmethod(iterate)
    turns = IterationCount
    call = staticmethod(call)

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = tuple(types)

    def bind_as(self, value: object, number: int) -> object:
        """Return the value of a new name of a type given by number."""
        return bind_as(value, self.types[number])

    def declared(self, value: object, number: int, name: str) -> object:
        """Return the value of a name that the user annotated.

        Raises:
            TypeError: naming the variable.
        """
        try:
            return bind_as(value, self.types[number])
        except TypeError as error:
            raise TypeError(f"{name}: {show(self.types[number])}: {error}") from None
