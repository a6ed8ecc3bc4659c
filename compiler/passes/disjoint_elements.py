"""Prove that different blocks of the domain read different elements of a tensor.

An index is a sum of steps and of numbers that lie in a known range. ``n[0]`` is the number of a block along axis 0:

    coeffs[i // 16, j // 16, k]         k in 0 .. 7     ->   n[0], n[1], 0 .. 7         blocks of 16 x 16
    table[i // 64 * 32 + k]             k in 0 .. 31    ->   32 n[0] + 0 .. 31          blocks of 64
    table[i // 64 * 32 + k]             k in 0 .. 32    ->   none: two blocks read element 32
    table[(i // 16) * 9 + j // 16]                      ->   none: a domain may have more than nine blocks in a row
    table[(i // 16) * across + j // 16]                 ->   across n[0] + n[1]
        with across = (thread_count(1) + 15) // 16

Every number of a block is in one axis of the tensor. There the steps count like digits: each is at least as long as all
that the smaller ones reach, so equal sums have equal digits. All reads must have the same steps.

An ``int`` that nothing is known of can be anything. Sums that exceed it are the user's error, as are indices past the
end of a tensor.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.intervals import Interval, combine
from slangad.compiler.ir.types import INT
from slangad.compiler.ir.walk import body_exprs, children, root, statements, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_ALL: Final = Interval(-(1 << 31), (1 << 31) - 1)


class _Number(NamedTuple):
    """The number of an element's block along an axis; with ``is_count``, how many blocks the axis has."""

    axis: int
    size: int
    is_count: bool = False


_Product = tuple[_Number, ...]
"""Numbers that are multiplied, sorted."""


class _Value(NamedTuple):
    """What an integer can be: a sum of products with factors, and a number in a range."""

    terms: tuple[tuple[_Product, int], ...] = ()
    rest: Interval = _ALL


_UNKNOWN: Final = _Value()


@dataclass(frozen=True, slots=True)
class Disjoint:
    """The elements of a tensor that a block of the domain reads, and no other block.

    Attributes:
        blocks: The extents of a block.
        axes: For each axis of the tensor, the first element of a block, and how many it has.
    """

    blocks: tuple[int, ...]
    axes: tuple[ir.BlockAxis, ...]


def disjoint_elements(module: ir.Module, kernel: ir.Kernel, key: str) -> Disjoint | str:
    """Return the elements of a tensor that each block of a kernel's domain has for itself.

    If there are none, the result is the reason, and empty if the tensor is not indexed by blocks at all.
    """
    finder = _ReadFinder({f.key: f for f in module.functions}, key)
    given = dict.fromkeys((p.name for p in finder.functions[kernel.function].params), _UNKNOWN)
    reads = list(finder.reads(kernel.function, given))
    if not reads:
        return ""
    if any(finder.names(f) for f in module.functions if f.key not in finder.seen):
        return "a derivative of the user's own reads it"
    if finder.otherwise:
        return "it has another use than reads of its elements"
    if not all(_numbers(read) == list(range(kernel.dims)) for read in reads):
        return ""
    known = [axis for axis in map(_hull, zip(*reads, strict=True)) if axis is not None]
    if len(known) < len(reads[0]):
        return "its reads have different steps"
    if not all(map(_is_like_digits, known)):
        return "two blocks may read one element"
    numbers = [n for axis in known for product, _ in axis.terms for n in product if not n.is_count]
    blocks = tuple(n.size for n in sorted(numbers))
    return Disjoint(blocks, tuple(map(_axis, known)))


def _numbers(read: Iterable[_Value]) -> list[int]:
    """Return the axes of the domain whose numbers of blocks are in the indices of a read."""
    return sorted(n.axis for axis in read for product, _ in axis.terms for n in product if not n.is_count)


def _is_like_digits(axis: _Value) -> bool:
    """Return True if no two blocks with different numbers reach one index."""
    reach, inside = axis.rest.high - axis.rest.low + 1, set[_Number]()
    for product, factor in _digits(axis):
        own = [n for n in product if not n.is_count]
        counts = {n._replace(is_count=False) for n in product if n.is_count}
        if len(own) != 1 or counts != inside or len(product) != 1 + len(inside) or factor < reach:
            return False
        inside.add(own[0])
        reach = factor
    return True


def _digits(axis: _Value) -> list[tuple[_Product, int]]:
    return sorted(axis.terms, key=lambda term: len(term[0]))


def _axis(axis: _Value) -> ir.BlockAxis:
    steps = []
    for product, factor in _digits(axis):
        (own,) = (n.axis for n in product if not n.is_count)
        steps.append(ir.BlockStep(own, factor, tuple(n.axis for n in product if n.is_count)))
    return ir.BlockAxis(axis.rest.low, axis.rest.high - axis.rest.low + 1, tuple(steps))


@dataclass(slots=True)
class _ReadFinder:
    """Finds the reads of one tensor; ``seen`` has the functions that were searched."""

    functions: Mapping[str, ir.Function]
    key: str
    seen: set[str] = field(default_factory=set)
    otherwise: bool = False

    def names(self, function: ir.Function) -> bool:
        """Return True if a function itself has the tensor's name."""
        return any(self._is_own(e) for e in body_exprs(statements(function)))

    def _is_own(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Var) and expr.name == self.key

    def reads(self, key: str, params: Mapping[str, _Value]) -> Iterator[tuple[_Value, ...]]:
        """Yield the indices of the reads in a function and in all that it calls."""
        self.seen.add(key)
        function = self.functions[key]
        values = _Values(params, function, self.functions)
        for expr in body_exprs(statements(function)):
            match expr:
                case ir.Read(source=source, indices=indices) if self._is_own(source):
                    yield tuple(values.of(index) for index in indices)
                case ir.Extent():
                    pass
                case ir.Call(function=callee, args=args):
                    inner = self.functions[callee].params
                    passed = {p.name: values.of(a) for p, a in zip(inner, args, strict=True)}
                    yield from self.reads(callee, passed)
                case _:
                    self.otherwise = self.otherwise or any(map(self._is_own, children(expr)))


@dataclass(slots=True)
class _Values:
    """What the integers of a function can be at any time: a local can be what any statement stores in it."""

    params: Mapping[str, _Value]
    function: ir.Function
    functions: Mapping[str, ir.Function]
    stores: dict[str, list[ir.Expr | ir.For | None]] = field(default_factory=dict)
    known: dict[str, _Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for stmt in walk_stmts(statements(self.function)):
            match stmt:
                case ir.Let(name=name, value=value):
                    self.stores.setdefault(name, []).append(value)
                case ir.Assign(target=ir.Var(name), value=value):
                    self.stores.setdefault(name, []).append(value)
                case ir.For(variable=name):
                    self.stores.setdefault(name, []).append(stmt)
                case _:
                    pass
        for expr in body_exprs(statements(self.function)):
            if isinstance(expr, ir.Call):
                pairs = zip(self.functions[expr.function].params, expr.args, strict=True)
                changed = (root(arg) for param, arg in pairs if param.direction != "in")
                self.known |= {var.name: _UNKNOWN for var in changed if var is not None}

    def of(self, expr: ir.Expr) -> _Value:
        """Return what an expression can be."""
        return self._integer(expr) if expr.type == INT else _UNKNOWN

    def _integer(self, expr: ir.Expr) -> _Value:
        match expr:
            case ir.Const(value=value):
                return _exactly(int(value))
            case ir.ThreadId(axis):
                return _single(_Number(axis, 1))
            case ir.ThreadCount(axis):
                return _single(_Number(axis, 1, is_count=True))
            case ir.Var(name):
                return self._local(name)
            case ir.Cast(operand=value) | ir.NoDiff(value=value):
                return self.of(value)
            case ir.Ternary(then=first, other=second):
                return _hull((self.of(first), self.of(second))) or _UNKNOWN
            case ir.Unary(op="-", operand=value):
                return _times(self.of(value), _exactly(-1))
            case ir.Binary(op=op, left=left, right=right):
                return _combined(op, self.of(left), self.of(right))
            case ir.Intrinsic(name=name, args=args):
                return _called(name, [self.of(arg) for arg in args])
            case _:
                return _UNKNOWN

    def _local(self, name: str) -> _Value:
        if name not in self.known:
            self.known[name] = _UNKNOWN  # while it depends on itself
            stored = [self._stored(store) for store in self.stores.get(name, ())]
            stored += [self.params[name]] if name in self.params else []
            self.known[name] = (_hull(stored) or _UNKNOWN) if stored else _UNKNOWN
        return self.known[name]

    def _stored(self, store: ir.Expr | ir.For | None) -> _Value:
        if store is None:
            return _UNKNOWN
        return self._counter(store) if isinstance(store, ir.For) else self.of(store)

    def _counter(self, loop: ir.For) -> _Value:
        """Return what the variable of a loop can be: from its start up to its stop, or as often as it may run."""
        start, stop = self.of(loop.start), self.of(loop.stop)
        ends = [_plus(start, _exactly(loop.step * max(loop.limit - 1, 0)))] if loop.bounded else []
        if stop.terms == start.terms:
            ends.append(_plus(stop, _exactly(-1 if loop.step > 0 else 1)))
        if not ends:
            return _UNKNOWN
        if loop.step > 0:
            high = min(end.rest.high for end in ends)
            return _Value(start.terms, Interval(start.rest.low, max(start.rest.low, high)))
        low = max(end.rest.low for end in ends)
        return _Value(start.terms, Interval(min(start.rest.high, low), start.rest.high))


def _combined(op: str, a: _Value, b: _Value) -> _Value:
    match op:
        case "+":
            return _plus(a, b)
        case "-":
            return _plus(a, _times(b, _exactly(-1)))
        case "*":
            return _times(a, b)
        case _:
            return _UNKNOWN


def _called(name: str, args: list[_Value]) -> _Value:
    """Return what a function of the library can be."""
    match name, args:
        case (("floor_div" | "mod"), [value, _Value((), Interval() as size)]) if size.only is not None and size.low > 0:
            return _divided(value, size.low) if name == "floor_div" else _remainder(value, size.low)
        case (("min" | "max"), _):
            return functools.reduce(lambda a, b: _extreme(name, a, b), args)
        case "clamp", [value, low, high]:
            return _extreme("min", _extreme("max", value, low), high)
        case _:
            return _UNKNOWN


def _exactly(value: int) -> _Value:
    return _Value((), Interval(value, value))


def _single(number: _Number) -> _Value:
    return _Value((((number,), 1),), Interval(0, 0))


def _sum(terms: Iterable[tuple[_Product, int]], rest: Interval | None) -> _Value:
    """Return a sum; anything if the range exceeds what an int holds, since it wraps around."""
    if rest is None or rest.low < _ALL.low or rest.high > _ALL.high:
        return _UNKNOWN
    total: dict[_Product, int] = {}
    for product, factor in terms:
        total[product] = total.get(product, 0) + factor
    return _Value(tuple(sorted((p, f) for p, f in total.items() if f)), rest)


def _plus(a: _Value, b: _Value) -> _Value:
    return _sum((*a.terms, *b.terms), combine("+", a.rest, b.rest))


def _times(a: _Value, b: _Value) -> _Value:
    """Return a product; of numbers of blocks if both have no range."""
    if not a.terms and not b.terms:
        return _sum((), combine("*", a.rest, b.rest))
    if b.terms and a.rest.only is not None and not a.terms:
        a, b = b, a
    if b.rest.only is None:
        return _UNKNOWN
    if not b.terms:
        return _sum(((p, f * b.rest.low) for p, f in a.terms), combine("*", a.rest, b.rest))
    if a.rest.only is None:
        return _UNKNOWN
    left, right = ((*v.terms, ((), v.rest.low)) for v in (a, b))
    products = [(tuple(sorted((*p, *q))), f * g) for p, f in left for q, g in right]
    only = sum(f for p, f in products if not p)
    return _sum(((p, f) for p, f in products if p), Interval(only, only))


def _divided(value: _Value, size: int) -> _Value:
    """Return a value divided by a number, rounded down."""
    match value:
        case _Value((((number,), 1),), Interval(0, 0)) if not number.is_count:
            return _single(number._replace(size=number.size * size))
        case _Value((((number,), 1),), Interval(more, only)) if number.is_count and more == only == size - 1:
            return _single(number._replace(size=size)) if number.size == 1 else _UNKNOWN
        case _ if all(factor % size == 0 for _, factor in value.terms):
            rest = Interval(value.rest.low // size, value.rest.high // size)
            return _sum(((p, f // size) for p, f in value.terms), rest)
        case _:
            return _UNKNOWN


def _remainder(value: _Value, size: int) -> _Value:
    if not value.terms and value.rest.low >= 0 and value.rest.high < size:
        return value
    return _Value((), Interval(0, size - 1))


def _extreme(name: str, a: _Value, b: _Value) -> _Value:
    """Return the smaller or the larger value; what has terms can be anything."""
    found = combine(name, _ALL if a.terms else a.rest, _ALL if b.terms else b.rest)
    return _sum((), found)


def _hull(values: Iterable[_Value]) -> _Value | None:
    """Return what any of some values can be; None if their terms differ."""
    first, *others = values
    if any(other.terms != first.terms for other in others):
        return None
    ranges = [first.rest, *(other.rest for other in others)]
    return _Value(first.terms, Interval(min(r.low for r in ranges), max(r.high for r in ranges)))
