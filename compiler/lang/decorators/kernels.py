"""``@sa.kernel``: a function that runs once per element of a domain. ``@sa.pipeline``: a sequence of kernel calls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast, get_args, overload

from slangad.compiler.errors.diagnostics import nearest_of
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.lang.decorators.check_settings import SamplingSettings, read_check
from slangad.compiler.lang.decorators.factories import Instance, made, remember
from slangad.compiler.lang.decorators.frames import DecoratorLocation, caller
from slangad.compiler.lang.decorators.functions import describe_neighbours, factory_instance, read_ranges
from slangad.compiler.lang.decorators.methods import RunnableObject
from slangad.compiler.lang.decorators.python_execution import python_execution
from slangad.compiler.lang.errors import Argument, ArgumentError, DescriptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

R = TypeVar("R")

GROUP_SIZES: Final[dict[int, tuple[int, ...]]] = {1: (64,), 2: (8, 8), 3: (4, 4, 4)}
MAX_GROUP: Final = 1024
ROWS: Final = "rows"
"""The value of ``tile=`` of a kernel whose groups walk the domain in rows."""


class KernelObject(RunnableObject, Generic[R]):
    """A kernel; calling it runs every thread in Python, on numpy arrays. Its methods run it on devices.

    Attributes:
        python: The user's function as written.
        name: Its name.
        location: The location of the decorator, with the names around it.
        dims: The number of axes of its domain, 1 to 3.
        group_size: Threads of a group along each axis.
        tile: The extents of the tiles of the domain that groups take, () for rows, None if an analysis chooses.
        ranges: The ranges of samples of the check.
        sampling: The number of samples and their seed.
        shapes: The shapes of the arrays that the check makes.
    """

    def __init__(
        self,
        python: FunctionType,
        location: DecoratorLocation,
        instance: Instance,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.python = python
        self.name = python.__name__
        self.location = location
        self.instance = instance
        settings = dict(options or {})
        self.sampling = read_check(self.name, settings.pop("check", None))
        self.dims, self.group_size, self.tile = _read_walk(self.name, settings)
        self.ranges, self.shapes = _read_options(self.name, settings)
        self.__name__, self.__qualname__ = python.__name__, python.__qualname__
        self.__doc__, self.__module__ = python.__doc__, python.__module__
        self.__wrapped__ = python

    @property
    def frame_locals(self) -> Mapping[str, object]:
        """Names of the enclosing factory when it was decorated."""
        return self.location.locals

    @property
    def factory_suffix(self) -> str:
        """The suffix that the factory's arguments append to the name."""
        return self.instance.suffix

    @property
    def emitted_name(self) -> str:
        """The name with the factory's arguments."""
        return self.name + self.factory_suffix

    def __call__(self, *args: Any, domain: int | tuple[int, ...] | None = None, **kwargs: Any) -> R:  # noqa: ANN401
        """Run every thread in Python, one after another.

        Args:
            *args: Arrays for ``Each`` and tensors, values for the rest; structs of arrays as mappings.
            domain: The shape of the domain, needed if there is no ``Each`` argument.
            **kwargs: Further arguments by name.

        Returns:
            One array per result, a tuple when there are several.
        """
        return cast("R", python_execution().launch(self, args, kwargs, domain))

    def __repr__(self) -> str:
        return f"<kernel {self.emitted_name}>"


def _read_walk(name: str, options: dict[str, object]) -> tuple[int, tuple[int, ...], tuple[int, ...] | None]:
    """Take the options that say how groups walk the domain: axes, extents of a group, extents of a tile."""
    dims, group, tile = options.pop("dims", 1), options.pop("group_size", None), options.pop("tile", None)
    if not isinstance(dims, int) or isinstance(dims, bool) or dims not in GROUP_SIZES:
        raise ArgumentError(Argument("dims"), f"dims= of {name} is {dims!r}, not 1, 2 or 3")
    sizes = None if group is None else _group_size(name, dims, group)
    walked = _tile(name, dims, sizes, tile)
    return dims, sizes or walked or GROUP_SIZES[dims], walked


def _read_options(
    name: str, options: dict[str, object]
) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[int, ...]]]:
    ranges = read_ranges(name, options.pop("ranges", None))
    shapes = _read_shapes(name, options.pop("shapes", None))
    if options:
        unknown = next(iter(options))
        message = f"unknown keyword {unknown}= at {name}"
        raise ArgumentError(
            Argument(unknown, unknown=True), message, "dims=, group_size=, tile=, ranges=, shapes=, check= exist"
        )
    return ranges, shapes


def _read_shapes(name: str, shapes: object) -> dict[str, tuple[int, ...]]:
    """Check ``shapes=``: parameter to extents."""
    if shapes is None:
        return {}
    checked: dict[str, tuple[int, ...]] = {}
    for param, shape in shapes.items() if isinstance(shapes, Mapping) else [("", ())]:
        extents = shape if isinstance(shape, (tuple, list)) else (shape,)
        whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in extents)
        if not isinstance(param, str) or not param or not extents or not whole:
            message = f"shapes= of {name} is not a mapping of shapes"
            raise ArgumentError(Argument("shapes"), message, 'shapes={"w": (16, 4)}')
        checked[param] = tuple(extents)
    return checked


def _group_size(name: str, dims: int, group: object) -> tuple[int, ...]:
    at = Argument("group_size")
    sizes = group if isinstance(group, (tuple, list)) else (group,)
    if not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in sizes):
        raise ArgumentError(at, f"group_size= of {name} is {group!r}, not positive integers", "group_size=(8, 8)")
    if len(sizes) != dims:
        raise ArgumentError(at, f"group_size= of {name} has {len(sizes)} numbers for {dims} dims", "one per axis")
    if math.prod(sizes) > MAX_GROUP:
        raise ArgumentError(at, f"group_size= of {name} is {math.prod(sizes)} threads", f"at most {MAX_GROUP}")
    return tuple(sizes)


def _tile(name: str, dims: int, group: tuple[int, ...] | None, tile: object) -> tuple[int, ...] | None:
    if tile is None:
        return None
    sizes = () if isinstance(tile, str) and tile == ROWS else tile
    whole = isinstance(sizes, (tuple, list)) and all(isinstance(n, int) and not isinstance(n, bool) for n in sizes)
    if not whole or tile in ((), []):
        raise ArgumentError(Argument("tile"), f"tile= of {name} is {tile!r}", f"tile=(16, 16), or tile='{ROWS}'")
    extents = tuple(cast("tuple[int, ...]", sizes))
    fault = tile_fault(dims, group, extents)
    if fault is not None:
        raise ArgumentError(Argument("tile"), f"tile= of {name} {fault[0]}", fault[1])
    return extents


def tile_fault(dims: int, group: tuple[int, ...] | None, tile: tuple[int, ...]) -> tuple[str, str] | None:
    """Return what is wrong with a tile of a kernel, and the remedy; ``group`` is its group, if it gives one."""
    threads = math.prod(tile)
    if dims == 1:
        return "is for two or three axes, and the domain has one", "dims=2, or no tile"
    if tile and len(tile) != dims:
        return f"has {len(tile)} numbers for {dims} dims", "one per axis"
    if any(extent < 1 or extent & (extent - 1) for extent in tile):
        return f"is {' x '.join(map(str, tile))}, which are not powers of two", "extents such as 1, 8, 16"
    if threads > MAX_GROUP:
        return f"has {threads} threads", f"at most {MAX_GROUP}"
    if tile and group and threads != math.prod(group):
        return f"has {threads} threads, and a group {math.prod(group)}", "no group size: it is then that of the tile"
    return None


@overload
def kernel(python: Callable[..., R], /) -> KernelObject[R]: ...


@overload
def kernel(
    *,
    dims: int = 1,
    group_size: int | tuple[int, ...] | None = None,
    tile: tuple[int, ...] | Literal["rows"] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    shapes: Mapping[str, int | tuple[int, ...]] | None = None,
    check: Mapping[str, int] | None = None,
) -> Callable[[Callable[..., R]], KernelObject[R]]: ...


def kernel(python: object = None, /, **options: object) -> object:
    """Describe a function that runs once per element of a domain.

    Args:
        python: The function, when used bare.
        **options: ``dims=`` is 1 to 3. ``group_size=`` is the number of threads per group. ``tile=`` is the block of
            the domain that a group takes at a time. ``ranges=`` are those of samples. ``shapes=`` are those of tensors
            in checks. ``check=`` has the number and seed of samples.

    Raises:
        DescriptionError: for unknown keywords and values that make no sense.
    """
    if python is not None:
        return _make(python, caller(1), options)
    return lambda function: _make(function, caller(1), options)


def _make(python: object, location: DecoratorLocation, options: Mapping[str, object]) -> KernelObject[object]:
    if not isinstance(python, FunctionType):
        raise DescriptionError(f"{python!r} is not a function", "decorate a def")
    if location.in_class:
        raise DescriptionError(f"kernel {python.__name__} is inside a class", "define it at module level")
    instance = factory_instance(python, location, options)
    before = made(instance)
    if isinstance(before, KernelObject):
        return before
    describe_neighbours(location)
    made_now: KernelObject[object] = KernelObject(python, location, instance, options)
    remember(instance, made_now)
    return made_now


class _CheckedSettings:
    """The settings of an optimizer are those of the table, and numbers within its bounds.

    Raises:
        ArgumentError: for other names and other values.
    """

    __slots__ = ()

    def __new__(cls, *_: object, **settings: object) -> Self:
        """Refuse names that the table does not have."""
        known = [setting.name for setting in OPTIMIZERS[cls.__name__.lower()].settings]
        unknown = next((name for name in settings if name not in known), None)
        if unknown is not None:
            having = (c.__name__ for c in get_args(Optimizer) if unknown in OPTIMIZERS[c.__name__.lower()].usual)
            others = " or ".join(f"sa.{name}" for name in having)
            help_ = f"use {others}, which has it" if others else nearest_of(unknown, known)
            at = Argument(unknown, unknown=True, callee=cls.__name__)
            raise ArgumentError(at, f"{cls.__name__} has no setting '{unknown}'", help_)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        callee = type(self).__name__
        for position, setting in enumerate(OPTIMIZERS[callee.lower()].settings):
            value = getattr(self, setting.name)
            if not setting.bounds.contain(value):
                at = Argument(setting.name, callee=callee, position=position)
                message = f"{setting.name} of {callee} is {value!r}"
                raise ArgumentError(at, message, f"{setting.name} is {setting.bounds}")


@dataclass(frozen=True, slots=True)
class SGD(_CheckedSettings):
    """Gradient descent, with momentum when that is not 0."""

    lr: float
    momentum: float = 0.0
    warmup: float = 0.0
    half_life: float = 0.0


@dataclass(frozen=True, slots=True)
class Adam(_CheckedSettings):
    """Adam."""

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    warmup: float = 0.0
    half_life: float = 0.0


@dataclass(frozen=True, slots=True)
class AdamW(_CheckedSettings):
    """Adam with decoupled weight decay."""

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.01
    warmup: float = 0.0
    half_life: float = 0.0


Optimizer = SGD | Adam | AdamW


class PipelineObject(RunnableObject, Generic[R]):
    """A pipeline of kernel calls; calling it runs them in Python. Its methods run it on devices.

    Attributes:
        python: The user's function as written.
        name: Its name.
        location: The location of the decorator.
        optimizer: The optimizer of ``slangad train``, None if the pipeline isn't trained.
        fuse: True if neighbouring kernels over one domain may become one.
        sampling: The number of samples of the check and their seed.
    """

    sampling = SamplingSettings()

    def __init__(
        self, python: FunctionType, location: DecoratorLocation, optimizer: Optimizer | None, *, fuse: bool = True
    ) -> None:
        self.python = python
        self.name = python.__name__
        self.location = location
        self.optimizer = optimizer
        self.fuse = fuse
        self.__doc__ = python.__doc__

    @property
    def frame_locals(self) -> Mapping[str, object]:
        """Names of the enclosing function when it was decorated."""
        return self.location.locals

    def __call__(self, *args: Any, **kwargs: Any) -> R:  # noqa: ANN401
        """Run the kernels of the body in Python."""
        return cast("R", self.python(*args, **kwargs))

    def __repr__(self) -> str:
        return f"<pipeline {self.name}>"


@overload
def pipeline(python: Callable[..., R], /) -> PipelineObject[R]: ...


@overload
def pipeline(
    *, optimizer: Optimizer | None = None, fuse: bool = True, check: Mapping[str, int] | None = None
) -> Callable[[Callable[..., R]], PipelineObject[R]]: ...


def pipeline(python: object = None, /, **options: object) -> object:
    """Describe a sequence of kernel calls.

    Args:
        python: The function, when used bare.
        **options: ``optimizer=`` sa.SGD, sa.Adam or sa.AdamW; ``fuse=False`` keeps every kernel apart;
            ``check=`` the number and seed of the samples of a check.

    Raises:
        DescriptionError: for unknown keywords and values that make no sense.
    """
    if python is not None:
        return _make_pipeline(python, caller(1), options)
    return lambda function: _make_pipeline(function, caller(1), options)


def _make_pipeline(
    python: object, location: DecoratorLocation, options: Mapping[str, object]
) -> PipelineObject[object]:
    optimizer = options.get("optimizer")
    fuse = options.get("fuse", True)
    unknown = sorted(set(options) - {"optimizer", "fuse", "check"})
    if not isinstance(python, FunctionType):
        raise DescriptionError(f"{python!r} is not a function", "decorate a def")
    if unknown:
        at = Argument(unknown[0], unknown=True)
        raise ArgumentError(
            at, f"unknown keyword {unknown[0]}= at {python.__name__}", "optimizer=, fuse=, check= exist"
        )
    if optimizer is not None and not isinstance(optimizer, Optimizer):
        message = f"optimizer= of {python.__name__} is {optimizer!r}"
        raise ArgumentError(Argument("optimizer"), message, "sa.SGD, sa.Adam or sa.AdamW")
    if not isinstance(fuse, bool):
        raise ArgumentError(Argument("fuse"), f"fuse= of {python.__name__} is {fuse!r}, not True or False")
    made_now: PipelineObject[object] = PipelineObject(python, location, optimizer, fuse=fuse)
    made_now.sampling = read_check(python.__name__, options.get("check"))
    return made_now


__all__ = ["SGD", "Adam", "AdamW", "KernelObject", "PipelineObject", "kernel", "pipeline"]
