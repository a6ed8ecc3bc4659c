"""``@sa.differentiable`` and ``@sa.function``: they make a ``DescribedFunction`` of a Python function.

Front ends translate it. A call of it runs the function on slangad's values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Concatenate, Final, Generic, ParamSpec, TypeVar, cast, overload

from slangad.compiler.lang.decorators.check_settings import read_check
from slangad.compiler.lang.decorators.factories import PLAIN, Instance, instance_of, made, remember
from slangad.compiler.lang.decorators.frames import DecoratorLocation, caller
from slangad.compiler.lang.decorators.methods import Outcome, SampledObject
from slangad.compiler.lang.decorators.policies import Policy
from slangad.compiler.lang.decorators.python_execution import python_execution
from slangad.compiler.lang.decorators.source import definition_of
from slangad.compiler.lang.errors import Argument, ArgumentError, DescriptionError

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., object])

PREFERENCES: Final = ("recompute", "checkpoint")
PRECISIONS: Final = ("float", "half")


class DescribedFunction(SampledObject, Generic[P, R]):
    """A function of the language.

    Attributes:
        python: The user's function as written.
        name: Its name.
        location: The location of the decorator, with the names around it.
        differentiable: False for ``@sa.function``.
        policy: The policy of ``derivative=``.
        prefer: ``recompute``, ``checkpoint`` or empty.
        precision: ``half`` if products of matrices may have factors in half; else empty.
        ranges: The ranges of samples of the check, parameter to (low, high).
        sampling: The number of samples and their seed.
        backward_function: The custom backward derivative.
        forward_function: The custom forward derivative.
        factory_suffix: The suffix that the factory's arguments append to the name.
        owner: The struct class it is a method of.
        static: True if it is a static method.
    """

    def __init__(
        self,
        python: FunctionType,
        location: DecoratorLocation,
        *,
        differentiable: bool = True,
        instance: Instance = PLAIN,
        options: Mapping[str, object] | None = None,
        static: bool = False,
    ) -> None:
        self.python = python
        self.name = python.__name__
        self.location = location
        self.differentiable = differentiable
        self.instance = instance
        self.static = static
        self.owner: type | None = None
        self.backward_function: FunctionType | None = None
        self.forward_function: FunctionType | None = None
        settings = dict(options or {})
        self.sampling = read_check(self.name, settings.pop("check", None))
        self.policy, self.prefer, self.precision, self.ranges = _read_options(self.name, settings)
        self.__name__, self.__qualname__ = python.__name__, python.__qualname__
        self.__doc__, self.__module__ = python.__doc__, python.__module__
        self.__wrapped__ = python

    @property
    def frame_locals(self) -> Mapping[str, object]:
        """Names of the enclosing factory and class when it was decorated."""
        return self.location.locals

    @property
    def factory_suffix(self) -> str:
        """The suffix that the factory's arguments append to the name: ``_4_16``."""
        return self.instance.suffix

    @property
    def emitted_name(self) -> str:
        """The name with the factory's arguments."""
        return self.name + self.factory_suffix

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function in Python on slangad's values."""
        return cast("R", python_execution().call(self, args, kwargs))

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> DescribedFunction[P, R]: ...

    @overload
    def __get__(
        self: DescribedFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None
    ) -> Callable[Q, R]: ...

    def __get__(self, instance: object, owner: type | None = None) -> object:
        """Return a method of an instance, as Python's own functions do."""
        return self if instance is None else BoundMethod(cast("DescribedFunction[..., object]", self), instance)

    def backward(self, function: F) -> F:
        """Make ``function`` the backward derivative: it takes the parameters and ``d_out``, and returns gradients."""
        self.backward_function = _own_derivative(self.name, "backward", function, self.backward_function)
        return function

    def forward(self, function: F) -> F:
        """Make ``function`` the forward derivative: it takes pairs ``.p``, ``.d`` and returns value and tangent."""
        self.forward_function = _own_derivative(self.name, "forward", function, self.forward_function)
        return function

    def __repr__(self) -> str:
        return f"<described function {self.emitted_name}>"


class BoundMethod:
    """A method and its object."""

    __slots__ = ("function", "instance")

    def __init__(self, function: DescribedFunction[..., object], instance: object) -> None:
        self.function = function
        self.instance = instance

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the method in Python."""
        return self.function(self.instance, *args, **kwargs)

    def map(self, *args: object, **kwargs: object) -> object:
        """Return the value of the method for each sample."""
        return self.function.map(self.instance, *args, **kwargs)

    def grad(self, *args: object, **kwargs: object) -> Outcome:
        """Compute the gradients of the sum of the results; that of the object is ``.grad["self"]``."""
        return self.function.grad(self.instance, *args, **kwargs)

    def jvp(self, *args: object, **kwargs: object) -> Outcome:
        """Compute the results of samples, and their change along ``tangent=``."""
        return self.function.jvp(self.instance, *args, **kwargs)


def _own_derivative(name: str, mode: str, function: object, before: FunctionType | None) -> FunctionType:
    if not isinstance(function, FunctionType):
        call = f"{name}.grad(…) computes gradients" if mode == "backward" else f"{name}.map(…) computes values"
        help_ = f"write it above def {name}_{'bwd' if mode == 'backward' else 'fwd'}(...); {call}"
        raise DescriptionError(f"@{name}.{mode} must be above a def", help_)
    if before is not None and before.__code__ is not function.__code__:
        raise DescriptionError(f"{name} already has a {mode} derivative, {before.__name__}", "remove one of them")
    return function


def _read_options(
    name: str, options: dict[str, object]
) -> tuple[Policy | None, str, str, dict[str, tuple[float, float]]]:
    policy, prefer = options.pop("derivative", None), options.pop("prefer", "")
    precision = options.pop("precision", "float")
    ranges = options.pop("ranges", None)
    if options:
        unknown = next(iter(options))
        at = Argument(unknown, unknown=True)
        raise ArgumentError(
            at, f"unknown keyword {unknown}= at {name}", "derivative=, prefer=, precision=, ranges= and check= exist"
        )
    if policy is not None and not isinstance(policy, Policy):
        message, help_ = f"derivative= of {name} is not a policy", "derivative=sa.finite_difference(step=1e-3)"
        raise ArgumentError(Argument("derivative"), message, help_)
    if prefer not in ("", *PREFERENCES):
        help_ = 'prefer="recompute" or prefer="checkpoint"'
        raise ArgumentError(Argument("prefer"), f"prefer= of {name} is {prefer!r}", help_)
    if precision not in PRECISIONS:
        help_ = 'precision="float" or precision="half"'
        raise ArgumentError(Argument("precision"), f"precision= of {name} is {precision!r}", help_)
    return policy, str(prefer), "half" if precision == "half" else "", read_ranges(name, ranges)


def read_ranges(name: str, ranges: object, keyword: str = "ranges") -> dict[str, tuple[float, float]]:
    """Check ``ranges=`` or another keyword: parameter (or a part of one, ``m.roughness``) to (low, high).

    Raises:
        DescriptionError: when it says something else.
    """
    if ranges is None:
        return {}
    checked: dict[str, tuple[float, float]] = {}
    for path, bounds in ranges.items() if isinstance(ranges, Mapping) else [("", ranges)]:
        pair = bounds if isinstance(bounds, (tuple, list)) and len(bounds) == 2 else ("", "")
        is_valid = all(isinstance(b, (int, float)) for b in pair) and isinstance(path, str) and path
        low, high = map(_bound, pair) if is_valid else (0.0, 0.0)
        message = ""
        if not is_valid:
            message = f"{keyword}= of {name} does not give two bounds for each name"
        elif not math.isfinite(high - low):
            message = f"the range of '{path}' in {keyword}= of {name} is not of finite numbers: {low:g} to {high:g}"
        elif low > high:
            message = f"the range of '{path}' in {keyword}= of {name} goes from its highest to its lowest value"
        if message:
            raise ArgumentError(Argument(keyword), message, f'{keyword}={{"x": (-1.0, 1.0)}}')
        checked[path] = (low, high)
    return checked


def _bound(value: float) -> float:
    """Return a bound as a float; infinite if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def describe(function: FunctionType) -> DescribedFunction[..., object]:
    """Return a plain function as if decorated with ``@sa.differentiable``, the same object each time."""
    known = function.__dict__.get("__slangad_described__")
    if isinstance(known, DescribedFunction):
        return known
    code = function.__code__
    made_now: DescribedFunction[..., object] = DescribedFunction(
        function, DecoratorLocation(code.co_filename, code.co_firstlineno, {}, None, function.__globals__)
    )
    function.__dict__["__slangad_described__"] = made_now
    return made_now


def describe_neighbours(location: DecoratorLocation) -> None:
    """Describe the plain functions of the same factory, because their annotations need the names around them."""
    if location.factory is None:
        return
    for value in location.locals.values():
        if not isinstance(value, FunctionType) or value.__code__ not in location.factory.co_consts:
            continue
        if "__slangad_described__" not in value.__dict__:
            instance = factory_instance(value, location, {})
            value.__dict__["__slangad_described__"] = DescribedFunction(value, location, instance=instance)


def _make(
    python: object, location: DecoratorLocation, options: Mapping[str, object], *, differentiable: bool
) -> DescribedFunction[..., object]:
    static = isinstance(python, staticmethod)
    inner = python.__func__ if isinstance(python, staticmethod) else python
    if not isinstance(inner, FunctionType):
        raise DescriptionError(f"{inner!r} is not a function", "decorate a def")
    instance = factory_instance(inner, location, options)
    before = made(instance)
    if isinstance(before, DescribedFunction):
        return before
    describe_neighbours(location)
    described: DescribedFunction[..., object] = DescribedFunction(
        inner, location, differentiable=differentiable, instance=instance, options=options, static=static
    )
    remember(instance, described)
    return described


def factory_instance(function: FunctionType, location: DecoratorLocation, options: Mapping[str, object]) -> Instance:
    """Return the instance of a decorated function."""
    if location.factory is None:
        return PLAIN
    try:
        return instance_of(location, definition_of(function).tree, options)
    except DescriptionError:
        return PLAIN


@overload
def differentiable(python: Callable[P, R], /) -> DescribedFunction[P, R]: ...


@overload
def differentiable(
    *,
    derivative: Policy | None = None,
    prefer: str = "",
    precision: str = "float",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    check: Mapping[str, int] | None = None,
) -> Callable[[Callable[P, R]], DescribedFunction[P, R]]: ...


def differentiable(python: object = None, /, **options: object) -> object:
    """Describe a function that is differentiated.

    Args:
        python: The function, when used bare.
        **options: ``derivative=`` a policy, ``prefer=`` recompute or checkpoint, ``precision=`` float or half for
            products of matrices, ``ranges=`` for samples, ``check=`` their number and seed.

    Raises:
        DescriptionError: for unknown keywords and values that make no sense.
    """
    if python is not None:
        return _make(python, caller(1), options, differentiable=True)
    return lambda function: _make(function, caller(1), options, differentiable=True)


@overload
def function(python: Callable[P, R], /) -> DescribedFunction[P, R]: ...


@overload
def function(
    *, ranges: Mapping[str, tuple[float, float]] | None = None
) -> Callable[[Callable[P, R]], DescribedFunction[P, R]]: ...


def function(python: object = None, /, **options: object) -> object:
    """Describe a device function that is not differentiated.

    Args:
        python: The function, when used bare.
        **options: ``ranges=`` for samples.

    Raises:
        DescriptionError: for unknown keywords and values that make no sense.
    """
    refused = next((keyword for keyword in ("derivative", "prefer", "precision", "check") if keyword in options), None)
    if refused is not None:
        at = Argument(refused, unknown=True)
        raise ArgumentError(at, "@sa.function is not differentiated", f"use @sa.differentiable with {refused}=")
    if python is not None:
        return _make(python, caller(1), options, differentiable=False)
    return lambda function: _make(function, caller(1), options, differentiable=False)


__all__ = ["DescribedFunction", "describe", "differentiable", "function"]
