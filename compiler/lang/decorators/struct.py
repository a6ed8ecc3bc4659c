"""``@sa.struct``: it makes a value type of a class of annotated fields; functions of the class become methods.

The class gets a constructor, value semantics, and a ``DescribedStruct`` under ``__slangad_struct__``. The record
resolves field types at their first use.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Final, TypeVar, overload

from slangad.compiler.ir.distributions import Distribution, Uniform
from slangad.compiler.ir.types import DiffPair, Tuple, Void, show
from slangad.compiler.lang.decorators.factories import PLAIN, Instance, instance_of, made, remember
from slangad.compiler.lang.decorators.frames import DecoratorLocation, caller
from slangad.compiler.lang.decorators.functions import DescribedFunction, describe_neighbours, read_ranges
from slangad.compiler.lang.decorators.resolve import resolve
from slangad.compiler.lang.decorators.source import ClassDefinition, class_definition_of
from slangad.compiler.lang.errors import AnnotationError, DescriptionError, FieldError
from slangad.compiler.lang.types.annotations import ir_type, memory_annotation
from slangad.compiler.lang.types.records import DefaultValue, FieldRecord, StructRecord, record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform() -> object:
        """Tell type checkers how instances are made; nothing at run time."""
        return lambda decorator: decorator


C = TypeVar("C", bound=type)
CALL: Final = "__call__"
"""The method that runs when a value of the struct is called."""
CALL_IN_SLANG: Final = "call"
"""Its name in the Slang."""


class DescribedStruct(StructRecord):
    """A struct class with its source and methods.

    Attributes:
        location: The location of the decorator.
        factory_suffix: The suffix that the factory's arguments append to the name.
        arguments: The factory's arguments that the class uses.
        methods: Functions by name, static ones included.
        initial: The distributions of initial values, by field.
    """

    def __init__(
        self,
        cls: type,
        location: DecoratorLocation,
        instance: Instance,
        methods: dict[str, DescribedFunction[..., object]],
        initial: dict[str, Distribution],
    ) -> None:
        key = f"{location.file}:{location.line}:{cls.__qualname__}{instance.suffix}"
        super().__init__(cls, cls.__name__ + instance.suffix, key)
        self.location = location
        self.factory_suffix = instance.suffix
        self.arguments = instance.arguments
        self.methods = methods
        self.initial = initial
        self.annotations: dict[str, object] = dict(inspect.get_annotations(cls))
        self.defaults = _defaults(cls, self.annotations)
        self._fields: tuple[FieldRecord, ...] | None = None
        self._resolving = False

    @property
    def file(self) -> str:
        """The file that contains the class."""
        return self.location.file

    @property
    def line(self) -> int:
        """The line of its decorator."""
        return self.location.line

    @property
    def definition(self) -> ClassDefinition:
        """Its syntax tree."""
        return class_definition_of(self.cls.__name__, self.location.file, self.location.line)

    @property
    def fields(self) -> tuple[FieldRecord, ...]:
        """The fields in order.

        Raises:
            FieldError: when an annotation names no type.
        """
        if self._fields is None:
            if self._resolving:
                raise AnnotationError(f"{self.name} contains itself", "a struct holds its fields, not references")
            self._resolving = True
            try:
                self._fields = tuple(self._checked_field(name) for name in self.annotations)
            finally:
                self._resolving = False
        return self._fields

    def field_errors(self) -> Iterator[FieldError]:
        """Yield the errors of each field; for a field of another struct, the error of the inner field."""
        for name in self.annotations:
            try:
                self._checked_field(name)
            except FieldError as error:  # noqa: PERF203  (one bad field must not hide another)
                yield error

    def _checked_field(self, name: str) -> FieldRecord:
        try:
            return self._field(name)
        except FieldError:
            raise
        except AnnotationError as error:
            raise FieldError(self, name, error) from None

    def _field(self, name: str) -> FieldRecord:
        names = {**self.location.locals, self.cls.__name__: self.cls}
        annotation = resolve(self.annotations[name], self.location.globals, names, name)
        memory = memory_annotation(annotation)
        if memory.memory != "value":
            raise AnnotationError(f"field {name} of {self.name} declares memory", "write the type only", name)
        type_ = ir_type(memory.value)
        if isinstance(type_, (Tuple, DiffPair, Void)):
            raise AnnotationError(f"a field can't be {show(type_)}", "numbers, vectors, arrays and structs")
        return FieldRecord(name, memory.value, type_, memory.no_diff, self.defaults.get(name))


def described_struct(cls: object) -> DescribedStruct | None:
    """Return the record of a struct class with its methods, None for anything else."""
    record = record_of(cls)
    return record if isinstance(record, DescribedStruct) else None


@overload
def struct(cls: C) -> C: ...


@overload
def struct(*, initial: Mapping[str, tuple[float, float] | Distribution] | None = None) -> Callable[[C], C]: ...


@dataclass_transform()
def struct(
    cls: C | None = None, *, initial: Mapping[str, tuple[float, float] | Distribution] | None = None
) -> C | Callable[[C], C]:
    """Make a class of annotated fields a struct of the language.

    Args:
        cls: The class, when used bare.
        initial: Field, or a part of one as in ``layer.w``, to the values at which training starts: a range, or
            ``sa.nn.normal(deviation)``.

    Raises:
        DescriptionError: for bases, properties, class methods and operators.
    """
    if cls is not None:
        return _describe(cls, caller(1), {})
    values = _read_initial(initial)
    return lambda decorated: _describe(decorated, caller(1), values)


def _read_initial(initial: object) -> dict[str, Distribution]:
    """Return the initial values by field, in the order of ``initial=``."""
    if not isinstance(initial, Mapping):
        read_ranges("struct", initial, "initial")
        return {}
    ranges = read_ranges("struct", {k: v for k, v in initial.items() if not isinstance(v, Distribution)}, "initial")
    return {path: Uniform(*ranges[path]) if path in ranges else values for path, values in initial.items()}


def _describe(cls: C, location: DecoratorLocation, initial: dict[str, Distribution]) -> C:
    instance = _instance(cls, location)
    before = made(instance)
    if before is not None:
        return before  # type: ignore[return-value]  # the same class, made by an equal call of the factory
    _check_class(cls)
    describe_neighbours(location)
    methods = {name: m for name, m in ((n, _method(n, v, location)) for n, v in vars(cls).items()) if m is not None}
    derivatives = {id(f) for m in methods.values() for f in (m.backward_function, m.forward_function)}
    describe_neighbours(location)
    methods = {name: m for name, m in methods.items() if id(m.python) not in derivatives}
    record = DescribedStruct(cls, location, instance, methods, initial)
    for name, method in methods.items():
        method.owner = cls
        setattr(cls, name, staticmethod(method) if method.static else method)
    setattr(cls, "__slangad_struct__", record)  # noqa: B010  (no checker knows it)
    _add_behaviour(cls)
    remember(instance, cls)
    return cls


def _instance(cls: type, location: DecoratorLocation) -> Instance:
    if location.factory is None:
        return PLAIN
    try:
        return instance_of(location, class_definition_of(cls.__name__, location.file, location.line).tree)
    except DescriptionError:
        return PLAIN


def _check_class(cls: type) -> None:
    if cls.__bases__ != (object,):
        raise DescriptionError(f"struct {cls.__name__} inherits", "make the other struct a field")
    if not inspect.get_annotations(cls):
        raise DescriptionError(f"struct {cls.__name__} has no fields", "write fields as annotations, x: float")
    for name, member in vars(cls).items():
        _check_member(cls.__name__, name, member)


def _check_member(owner: str, name: str, member: object) -> None:
    if isinstance(member, property):
        raise DescriptionError(f"{owner}.{name} is a property", "make it a method: def name(self) -> float")
    if isinstance(member, classmethod):
        raise DescriptionError(f"{owner}.{name} is a class method", "make it a @staticmethod")
    if isinstance(member, FunctionType) and is_operator(name):
        raise DescriptionError(f"struct {owner} defines {name}", "structs have no operators or constructors")


def is_operator(name: str) -> bool:
    """Return True for names that Python gives a meaning; ``__call__`` is a method."""
    return name.startswith("__") and name.endswith("__") and name != CALL


def _method(name: str, member: object, location: DecoratorLocation) -> DescribedFunction[..., object] | None:
    static = isinstance(member, staticmethod)
    inner = member.__func__ if isinstance(member, staticmethod) else member
    if isinstance(inner, DescribedFunction):
        inner.static = inner.static or static
        return inner
    if isinstance(inner, FunctionType) and not is_operator(name):
        return DescribedFunction(inner, location, static=static)
    return None


def _defaults(cls: type, annotations: Mapping[str, object]) -> dict[str, DefaultValue]:
    defaults: dict[str, DefaultValue] = {}
    for name in annotations:
        default = _default(cls.__dict__.get(name, dataclasses.MISSING))
        if default is not None:
            defaults[name] = default
        elif defaults:
            raise DescriptionError(
                f"field {name} of {cls.__name__} has no default but follows one that has", "put it first"
            )
    return defaults


def _default(value: object) -> DefaultValue | None:
    if isinstance(value, dataclasses.Field):
        if value.default is not dataclasses.MISSING:
            return DefaultValue(value.default)
        return None if value.default_factory is dataclasses.MISSING else DefaultValue(factory=value.default_factory)
    return None if value is dataclasses.MISSING else DefaultValue(value)


def _add_behaviour(cls: type) -> None:
    """Give instances their constructor, checked stores, equality by value and a readable form."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:  # noqa: N807  (becomes the class' own)
        from slangad.compiler.lang.types.construct import fill_struct

        fill_struct(self, args, kwargs)

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807  (as above)
        from slangad.compiler.lang.types.parts import set_field

        set_field(self, name, value)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807  (as above)
        from slangad.compiler.lang.types.parts import same

        return same(self, other)

    def __repr__(self: object) -> str:  # noqa: N807  (as above)
        parts = ", ".join(f"{k}={v}" for k, v in vars(self).items())
        return f"{type(self).__name__}({parts})"

    for function in (__init__, __setattr__, __eq__, __repr__):
        function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
        setattr(cls, function.__name__, function)
    setattr(cls, "__hash__", None)  # noqa: B010  (equal by value and mutable)


__all__ = ["CALL", "CALL_IN_SLANG", "DescribedStruct", "described_struct", "is_operator", "struct"]
