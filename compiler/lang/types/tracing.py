"""Derivatives in Python execution: numbers that carry their tangent or their tape.

The components of a value are a numpy array. While a derivative is taken they are ``Traced``: a ``Dual`` with its
tangent, or a ``Node`` of a tape. Levels nest, because a differentiated function may take derivatives: the
primal and the tangent of one level are data of the level below. Primals keep their precision; partial derivatives,
tangents and cotangents are float64. A zero tangent or cotangent gives zero, also if the slope is infinite.
"""

# ruff: noqa: ARG005  (all functions of a primitive take the same arguments)

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from slangad.compiler.lang.intrinsics import INTRINSICS, IntrinsicRow

if TYPE_CHECKING:
    from slangad.compiler.lang.intrinsics.model import Meaning

Numbers = npt.NDArray[Any]
"""A numpy array or scalar."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One derivative that is being taken. Deeper levels belong to derivatives inside it."""

    depth: int
    reverse: bool


_DEPTH: ContextVar[int] = ContextVar("slangad_derivative_depth", default=0)
_ORDER: Final = itertools.count()


@contextmanager
def new_level(*, reverse: bool) -> Iterator[Level]:
    """Open a level above all open ones."""
    depth = _DEPTH.get() + 1
    token = _DEPTH.set(depth)
    try:
        yield Level(depth, reverse)
    finally:
        _DEPTH.reset(token)


def tracing() -> bool:
    """Return True if a derivative is being taken."""
    return _DEPTH.get() > 0


@dataclass(frozen=True, slots=True)
class Primitive:
    """An operation by component: a row of the intrinsics table without types."""

    name: str
    meaning: Meaning
    partials: tuple[Meaning | None, ...] | None
    composed: Meaning | None = None


class Traced:
    """Components that depend on the variables of a level."""

    __slots__ = ("level", "primal")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # compared by value, as numpy arrays are

    def __init__(self, level: Level, primal: Data) -> None:
        self.level = level
        self.primal = primal

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components."""
        return bottom(self).shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the primal."""
        return bottom(self).dtype

    def __add__(self, other: Data | float) -> Data:
        return apply(ADD, self, other)

    def __radd__(self, other: Data | float) -> Data:
        return apply(ADD, other, self)

    def __sub__(self, other: Data | float) -> Data:
        return apply(SUBTRACT, self, other)

    def __rsub__(self, other: Data | float) -> Data:
        return apply(SUBTRACT, other, self)

    def __mul__(self, other: Data | float) -> Data:
        return apply(MULTIPLY, self, other)

    def __rmul__(self, other: Data | float) -> Data:
        return apply(MULTIPLY, other, self)

    def __truediv__(self, other: Data | float) -> Data:
        return apply(DIVIDE, self, other)

    def __rtruediv__(self, other: Data | float) -> Data:
        return apply(DIVIDE, other, self)

    def __neg__(self) -> Data:
        return apply(NEGATE, self)

    def __eq__(self, other: object) -> Numbers:  # type: ignore[override]  # by component, as numpy
        return np.equal(bottom(self), _value(other))

    def __ne__(self, other: object) -> Numbers:  # type: ignore[override]  # by component, as numpy
        return np.not_equal(bottom(self), _value(other))

    def __lt__(self, other: Data | float) -> Numbers:
        return np.less(bottom(self), _value(other))

    def __le__(self, other: Data | float) -> Numbers:
        return np.less_equal(bottom(self), _value(other))

    def __gt__(self, other: Data | float) -> Numbers:
        return np.greater(bottom(self), _value(other))

    def __ge__(self, other: Data | float) -> Numbers:
        return np.greater_equal(bottom(self), _value(other))

    def __float__(self) -> float:
        return float(bottom(self))

    def __repr__(self) -> str:
        return f"{bottom(self)} (traced)"


class Dual(Traced):
    """Forward mode: a primal and its tangent."""

    __slots__ = ("tangent",)

    def __init__(self, level: Level, primal: Data, tangent: Data) -> None:
        super().__init__(level, primal)
        self.tangent = tangent


Pullback = Callable[[Any], Sequence[Any]]
"""Maps the cotangent of a node to one for each parent."""


class Node(Traced):
    """Reverse mode: a primal, its parents, and the function that distributes its cotangent to them."""

    __slots__ = ("order", "parents", "pullback")

    def __init__(self, level: Level, primal: Data, parents: tuple[Node, ...], pullback: Pullback) -> None:
        super().__init__(level, primal)
        self.parents = parents
        self.pullback = pullback
        self.order = next(_ORDER)


Data = Numbers | Traced


def bottom(data: Data) -> Numbers:
    """Return the plain numbers under all levels."""
    while isinstance(data, Traced):
        data = data.primal
    return data


def _value(other: object) -> Numbers | float:
    return bottom(other) if isinstance(other, Traced) else other  # type: ignore[return-value]  # numbers are what rules compare with


def copied(data: Data) -> Data:
    """Return a copy. Traced data is never changed in place and needs none."""
    return data if isinstance(data, Traced) else data.copy()


def top_level(args: Iterable[object]) -> Level | None:
    """Return the deepest level of the arguments, None if none is traced."""
    if not tracing():
        return None
    levels = [a.level for a in args if isinstance(a, Traced)]
    return max(levels, key=lambda level: level.depth) if levels else None


def lowered(value: Any, level: Level) -> Any:  # noqa: ANN401  (numbers, Python floats or traced)
    """Return a value as seen from the levels below one."""
    return value.primal if isinstance(value, Traced) and value.level is level else value


def apply(row: IntrinsicRow | Primitive, *args: Any) -> Data:  # noqa: ANN401  (numbers, Python floats or traced)
    """Return an operation on arrays of one shape, traced or not."""
    level = top_level(args)
    if level is None:
        with np.errstate(all="ignore"):
            return row.meaning(np, *args)  # type: ignore[return-value]  # meanings give numbers
    primals = [lowered(a, level) for a in args]
    result = apply(row, *primals)
    if row.partials is None:
        return _composed(row, level, result, args)
    exact = [widened(p) for p in primals]
    moving = [
        (partial, arg)
        for partial, arg in zip(row.partials, args, strict=True)
        if partial is not None and isinstance(arg, Traced) and arg.level is level
    ]
    return _follow(level, result, moving, exact)


def _follow(level: Level, result: Data, moving: list[tuple[Meaning, Traced]], exact: list[Any]) -> Data:
    if level.reverse:
        parents = tuple(arg for _, arg in moving if isinstance(arg, Node))

        def pullback(cotangent: Data) -> list[Data]:
            return [scaled(_partial(partial, exact), cotangent) for partial, _ in moving]

        return Node(level, result, parents, pullback) if moving else result
    tangents = [scaled(_partial(partial, exact), arg.tangent) for partial, arg in moving if isinstance(arg, Dual)]
    return Dual(level, result, _total(tangents)) if tangents else result


def _partial(partial: Meaning, exact: list[Any]) -> Any:  # noqa: ANN401  (as the table's functions give it)
    with np.errstate(all="ignore"):
        return partial(FUNCTIONS, *exact)


def _total(parts: list[Data]) -> Data:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _composed(row: IntrinsicRow | Primitive, level: Level, result: Data, args: Sequence[Any]) -> Data:
    """Return the row's value with the derivative of its ``composed`` definition."""
    if row.composed is None:
        return result
    inner = row.composed(FUNCTIONS, *(widened(a) for a in args))
    if isinstance(inner, Dual) and inner.level is level:
        return Dual(level, result, inner.tangent)
    if isinstance(inner, Node) and inner.level is level:
        return Node(level, result, (inner,), lambda cotangent: [cotangent])
    return result


def scaled(partial: Any, moved: Data) -> Data:  # noqa: ANN401  (a number, an array or traced)
    """Return a partial derivative times a tangent or cotangent. Zero times infinity or NaN is zero."""
    if isinstance(partial, Traced) or isinstance(moved, Traced):
        return partial * moved  # type: ignore[no-any-return]  # one of them is traced
    with np.errstate(all="ignore"):
        return np.where((moved == 0.0) | (partial == 0.0), 0.0, partial * moved)


def linear(forward: Callable[..., Numbers], transposes: Sequence[Callable[..., Numbers]], *args: Any) -> Data:  # noqa: ANN401  (numbers or traced)
    """Apply a function that is linear in all its arguments; ``transposes`` map a cotangent to each argument."""
    level = top_level(args)
    if level is None:
        return forward(*args)
    result = linear(forward, transposes, *(lowered(a, level) for a in args))
    if level.reverse:
        here = [(i, a) for i, a in enumerate(args) if isinstance(a, Node) and a.level is level]
        return Node(
            level,
            result,
            tuple(a for _, a in here),
            lambda cotangent: [linear(transposes[i], (_no_transpose,), cotangent) for i, _ in here],
        )
    tangents = [a.tangent if isinstance(a, Dual) and a.level is level else zeros_like(a) for a in args]
    return Dual(level, result, linear(forward, transposes, *tangents))


def _no_transpose(_: Numbers) -> Numbers:
    raise TypeError("the reverse derivative of a reverse derivative is not supported")


def zeros_like(data: Data) -> Numbers:
    """Return a zero tangent or cotangent."""
    return np.zeros(bottom(data).shape)


def converted(data: Data, dtype: npt.DTypeLike) -> Data:
    """Return components in another precision."""
    if isinstance(data, Traced):
        return linear(lambda x: x.astype(dtype), (lambda g: g,), data)
    with np.errstate(all="ignore"):
        return np.asarray(data).astype(dtype)[()]


def widened(value: Any) -> Any:  # noqa: ANN401  (anything; only floating data changes)
    """Return floating data in float64, other data unchanged."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype.kind != "f" or dtype == np.float64:
        return value
    return converted(value, np.float64)


def take(data: Data, index: int, axis: int = -1) -> Data:
    """Return one slice along an axis."""
    shape = bottom(data).shape

    def back(cotangent: Numbers) -> Numbers:
        spread = np.zeros(shape)
        np.moveaxis(spread, axis, 0)[index] = cotangent
        return spread

    return linear(lambda x: np.take(x, index, axis), (back,), data)


def put(data: Data, index: Any, value: Data) -> Data:  # noqa: ANN401  (whatever numpy takes as an index)
    """Return the same data with one part replaced."""

    def forward(old: Numbers, new: Numbers) -> Numbers:
        changed = np.array(old)
        changed[index] = new
        return changed

    def keep(cotangent: Numbers) -> Numbers:
        return forward(cotangent, np.zeros(bottom(value).shape))

    return linear(forward, (keep, lambda cotangent: cotangent[index]), data, value)


def stack(*parts: Data, axis: int = -1) -> Data:
    """Stack parts of one shape along a new axis."""

    def back(position: int) -> Callable[[Numbers], Numbers]:
        return lambda cotangent: np.take(cotangent, position, axis)

    backs = [back(i) for i in range(len(parts))]
    return linear(lambda *arrays: np.stack(arrays, axis=axis), backs, *parts)


def spread(data: Data, shape: tuple[int, ...]) -> Data:
    """Return one number repeated over a shape."""
    if bottom(data).shape == shape:
        return data
    return linear(lambda x: np.broadcast_to(x, shape).copy(), (lambda g: np.asarray(np.sum(g)),), data)


class TracedFunctions:
    """The functions that ``partials`` and ``composed`` of the table use: its rows, and moves of components."""

    def __getattr__(self, name: str) -> Callable[..., Data]:
        row = INTRINSICS[name]
        return lambda *args: apply(row, *args)

    take = staticmethod(take)
    stack = staticmethod(stack)

    @staticmethod
    def where(condition: Numbers, a: Any, b: Any) -> Data:  # noqa: ANN401  (numbers, Python floats or traced)
        """Return ``a`` where the condition holds, else ``b``."""
        return apply(INTRINSICS["select"], condition, a, b)

    @staticmethod
    def sum(data: Data) -> Data:
        """Return the sum over the last axis."""
        shape = bottom(data).shape
        return linear(
            lambda x: np.sum(x, axis=-1), (lambda g: np.broadcast_to(np.expand_dims(g, -1), shape).copy(),), data
        )

    @staticmethod
    def spread(data: Data, like: Data) -> Data:
        """Return one number repeated over the shape of another value."""
        return spread(data, bottom(like).shape)

    @staticmethod
    def spread_rows(data: Data, rows: int) -> Data:
        """Return a vector repeated as the rows of a matrix."""
        shape = (rows, *bottom(data).shape)
        return linear(lambda x: np.broadcast_to(x, shape).copy(), (lambda g: np.sum(g, axis=0),), data)

    @staticmethod
    def transpose(data: Data) -> Data:
        """Swap rows and columns."""
        return linear(lambda x: np.swapaxes(x, -1, -2), (lambda g: np.swapaxes(g, -1, -2),), data)


FUNCTIONS: Final = TracedFunctions()

ADD: Final = Primitive("+", lambda _, a, b: a + b, (lambda *_: 1.0, lambda *_: 1.0))
SUBTRACT: Final = Primitive("-", lambda _, a, b: a - b, (lambda *_: 1.0, lambda *_: -1.0))
MULTIPLY: Final = Primitive("*", lambda _, a, b: a * b, (lambda _, a, b: b, lambda _, a, b: a))
DIVIDE: Final = Primitive("/", lambda _, a, b: a / b, (lambda _, a, b: 1.0 / b, lambda _, a, b: -(a / b) / b))
NEGATE: Final = Primitive("-", lambda _, a: -a, (lambda *_: -1.0,))


def pull(seeds: Iterable[tuple[Data, Data]], level: Level) -> dict[int, Data]:
    """Return the cotangents of all nodes that results depend on, by ``order``.

    Args:
        seeds: Results and their cotangents. Results of other levels are ignored.
        level: The level of the tape.
    """
    waiting: dict[int, tuple[Node, Any]] = {}
    heap: list[int] = []
    done: dict[int, Data] = {}

    def meet(node: Node, cotangent: Any) -> None:  # noqa: ANN401  (data, or slots of a group)
        if node.order in waiting:
            waiting[node.order] = (node, added(waiting[node.order][1], cotangent))
            return
        waiting[node.order] = (node, cotangent)
        heapq.heappush(heap, -node.order)

    for result, cotangent in seeds:
        if isinstance(result, Node) and result.level is level:
            meet(result, cotangent)
    while heap:
        node, cotangent = waiting.pop(-heapq.heappop(heap))
        done[node.order] = cotangent
        for parent, part in zip(node.parents, node.pullback(cotangent), strict=True):
            meet(parent, part)
    return done


def added(a: Any, b: Any) -> Any:  # noqa: ANN401  (data, or slots of a group)
    """Return the sum of two cotangents; those of a group are slots by number."""
    if isinstance(a, dict):
        return {**a, **{slot: added(a[slot], g) if slot in a else g for slot, g in b.items()}}
    return a + b
