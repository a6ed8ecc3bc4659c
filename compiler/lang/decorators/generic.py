"""``@sa.generic``: a factory that gets the types of a call's arguments and returns the function for them."""

from __future__ import annotations

import inspect
from collections.abc import Sized
from typing import TYPE_CHECKING, Any

from slangad.compiler.ir.types import FLOAT, Array, strengthen
from slangad.compiler.lang.decorators.functions import DescribedFunction
from slangad.compiler.lang.errors import Argument, ArgumentError, DescriptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from slangad.compiler.ir.bounds import Bounds
    from slangad.compiler.ir.types import Type


class GenericFunction:
    """A function for any types that its factory accepts.

    Attributes:
        factory: The factory; its parameters take the types of the call's arguments.
        name: Its name.
        bounds: The numbers that parameters take, by name. Calls with numbers outside are refused: in Python all, in
            bodies those with constants.
    """

    def __init__(self, factory: Callable[..., object]) -> None:
        self.factory = factory
        self.name = self.__name__ = getattr(factory, "__name__", "generic")
        self.__doc__, self.__module__ = factory.__doc__, factory.__module__
        self.bounds: dict[str, Bounds] = {}
        self._known: dict[object, DescribedFunction[..., object]] = {}

    def instance(self, types: Sequence[Type], named: Mapping[str, Type]) -> DescribedFunction[..., object]:
        """Return the function for the types of positional and named arguments, the same one each time.

        Raises:
            DescriptionError: The factory takes other arguments or refuses these types.
        """
        from slangad.compiler.lang.types.construct import annotation_of

        strong = [strengthen(t) for t in types]
        strong_named = {name: strengthen(t) for name, t in named.items()}
        key = (*strong, *strong_named.items())
        if key not in self._known:
            annotations = [annotation_of(t) for t in strong]
            given_named = {name: annotation_of(t) for name, t in strong_named.items()}
            signature = inspect.signature(self.factory)
            try:
                signature.bind(*annotations, **given_named)
            except TypeError as error:
                help_ = f"{self.name}{signature.replace(return_annotation=signature.empty)}"
                raise DescriptionError(f"{self.name}: {error}", help_) from None
            made = self.factory(*annotations, **given_named)
            if not isinstance(made, DescribedFunction):
                raise DescriptionError(f"{self.name} returns no described function", "decorate the inner def")
            self._known[key] = made
        return self._known[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  (values of any type)
        """Run the function for the arguments' types in Python."""
        return self.of_values(args, kwargs)(*args, **kwargs)

    def of_values(self, args: Sequence[object], kwargs: Mapping[str, object]) -> DescribedFunction[..., object]:
        """Return the function for the values of a call in Python.

        Raises:
            ArgumentError: A number is out of its bounds.
        """
        made = self.instance(*typed(args, kwargs))
        if self.bounds:
            self._require_bounds(args, kwargs)
        return made

    def _require_bounds(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        from slangad.compiler.lang.types.tracing import bottom
        from slangad.compiler.lang.types.values import data_of

        given = inspect.signature(self.factory).bind(*args, **kwargs).arguments
        for position, (name, value) in enumerate(given.items()):
            bounds = self.bounds.get(name)
            if bounds is None:
                continue
            number = float(bottom(data_of(value)))
            if not bounds.contain(number):
                at = Argument(name, callee=self.name, position=position)
                raise ArgumentError(at, f"{name} of {self.name} is {number:g}", str(bounds))

    def __repr__(self) -> str:
        return f"<generic function {self.name}>"


def typed(args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[list[Type], dict[str, Type]]:
    """Return the types of arguments; numpy vectors and Python sequences are arrays of floats."""
    from slangad.compiler.lang.types.values import try_type_of, type_of

    def one(value: object) -> Type:
        known = try_type_of(value)
        listed = known is None and isinstance(value, Sized) and not isinstance(value, str)
        return Array(FLOAT, len(value)) if listed and isinstance(value, Sized) else known or type_of(value)

    return [one(a) for a in args], {name: one(a) for name, a in kwargs.items()}


def generic(factory: Callable[..., object]) -> GenericFunction:
    """Make a function for any types of a factory: each call in a body calls it with the types of the arguments.

    Raises:
        DescriptionError: if it decorates no function.
    """
    if not callable(factory):
        raise DescriptionError(f"{factory!r} is not a function", "decorate a def that returns a described function")
    return GenericFunction(factory)


__all__ = ["GenericFunction", "generic"]
