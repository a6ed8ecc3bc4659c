"""Find the elements of arrays that one iteration of a loop reads or changes, so that it need not take whole arrays.

    for i in 0 .. n:                          for i in 0 .. n:
        total = total + x[s][i] * y[i]   ->       total = total + x_s_i * y_i        x_s = x[s], x_s_i = x_s[i],
        y[i] = sin(y[i])                          y_i = sin(y_i)                     y_i = y[i], and back

Reverse mode of an iteration then adds to one element of a gradient. Of whole arrays it would add up all elements, in
each iteration. What all iterations read of an array, such as a row ``x[s]``, is taken before the loop.

An index counts if it can be computed before the iteration, and if it is known to be in its array: because every
iteration accesses there, or by the counters of loops and the conditions of branches. There it is clamped: other
iterations read an element that they do not use, and their cotangent for it is zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import call
from slangad.compiler.ir.intervals import Interval
from slangad.compiler.ir.types import Array, Struct, carries_gradient, count_scalars, is_integral
from slangad.compiler.ir.walk import (
    children,
    map_blocks,
    map_children,
    map_stmt_exprs,
    stmt_exprs,
    walk,
    walk_stmts,
)
from slangad.compiler.passes.replay_loops.guards import accesses, values_of_index
from slangad.compiler.passes.replay_loops.read import Element, Elements, names_in, stored_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.gradient_flow import Carrying
    from slangad.compiler.ir.types import Type

_PURE = (
    ir.Const, ir.ConstantRef, ir.Var, ir.Unary, ir.Binary, ir.Ternary, ir.Cast, ir.Index, ir.Member, ir.Intrinsic,
)  # fmt: skip
"""Expressions of which an index may consist."""


def elements_of(
    stmt: ir.For, carrying: Carrying, names: Fresh, counters: Mapping[str, Interval], *, changes: bool
) -> Elements:
    """Return the elements of arrays that the iterations of a loop read and change.

    Args:
        stmt: The loop; ``obstacle`` finds none.
        carrying: The gradient flow of the function. New locals are noted there.
        names: Makes names of locals.
        counters: The values of the counters of loops around it.
        changes: Find elements that an iteration changes, too.
    """
    finder = _Finder(stmt, carrying, names, counters)
    changed = finder.changed() if changes else ()
    made = finder.rewritten()
    return Elements(made, finder.bases, tuple(finder.read.values()), changed)


def held_elements(
    stmt: ir.For, carrying: Carrying, names: Fresh, counters: Mapping[str, Interval]
) -> tuple[Block, ir.For, Block]:
    """Return a loop in which a local stands for each element that all iterations change, and none other of its array.

        for j in 0 .. n:                          y_i = y[i]
            y[i] = y[i] + w[i][j] * x[j]   ->     for j in 0 .. n: y_i = y_i + w[i][j] * x[j]
                                                  y[i] = y_i

    The statements before and after it come first and last. The arguments are those of ``elements_of``.
    """
    finder = _Finder(stmt, carrying, names, counters)
    held = finder.held_by_all()
    if not held:
        return (), stmt, ()
    places = [(finder.safe(place, {}, outside=True), local) for place, local in held.items()]
    before = (ir.Assign(local, place, stmt.span) for place, local in places)
    after = (ir.Assign(place, local, stmt.span) for place, local in places)
    return tuple(before), finder.rewritten(taking=False), tuple(after)


def values_of(stmt: ir.For) -> Interval | None:
    """Return the values that the counter of a loop has; None if they are not known, or there are none."""
    match stmt.start, stmt.stop:
        case ir.Const(value=int(start)), ir.Const(value=int(stop)):
            turns = range(int(start), int(stop), stmt.step)
            return Interval(min(turns), max(turns)) if turns else None
        case _:
            return None


@dataclass(slots=True)
class _Finder:
    """Finds the accesses of one loop, and replaces them."""

    stmt: ir.For
    carrying: Carrying
    names: Fresh
    counters: Mapping[str, Interval]
    bases: dict[ir.Var, ir.Expr] = field(default_factory=dict)
    read: dict[ir.Expr, Element] = field(default_factory=dict)
    stored: set[str] = field(init=False)
    certain: set[ir.Expr] = field(default_factory=set)
    unknown: set[ir.Expr] = field(default_factory=set)
    held: dict[ir.Expr, ir.Var] = field(default_factory=dict)
    taking: bool = True

    def __post_init__(self) -> None:
        """Find what every iteration accesses."""
        inner = {s.variable for s in walk_stmts(self.stmt.body) if isinstance(s, ir.For)}
        self.stored = {*stored_in(self.stmt.body), *inner}
        own = values_of(self.stmt)
        self.counters = {n: i for n, i in {**self.counters, self.stmt.variable: own}.items() if i is not None}
        ranges = {n: i for n, i in self.counters.items() if n not in self.stored}
        for expr, known, certain in accesses(self.stmt.body, ranges):
            if isinstance(expr, ir.Index):
                self.certain |= {expr} if certain else set()
                self.unknown |= set() if _is_within(expr, known) else {expr}

    # --- elements that an iteration changes ---

    def changed(self) -> tuple[Element, ...]:
        """Return the elements of arrays that are only accessed at the place of the iteration."""
        made: list[Element] = []
        for place in self._places(self._own_place):
            self.held[place] = local = self._new(_root_of(place).name, place)
            made.append(Element(local, _root_of(place), self.safe(place, {})))
        return tuple(made)

    def held_by_all(self) -> dict[ir.Expr, ir.Var]:
        """Return the elements of arrays that are only accessed at one place, with a local for each."""
        for place in self._places(self._common_place):
            self.held[place] = self._new(_root_of(place).name, place)
        return self.held

    def _places(self, place_of: Callable[[tuple[ir.Expr, ...]], ir.Expr | None]) -> list[ir.Expr]:
        """Return the one place of each array that the loop stores into, of those that have one."""
        found: dict[str, set[ir.Expr | None]] = {}
        for expr in (e for s in walk_stmts(self.stmt.body) for e in stmt_exprs(s)):
            for var, chain in _chains(expr):
                if var.name in self.stored and isinstance(var.type, Array) and self._is_taken(var):
                    found.setdefault(var.name, set()).add(place_of(chain))
        only = [next(iter(places)) for places in found.values() if len(places) == 1]
        return [place for place in only if place is not None and self._is_taken(place)]

    def _common_place(self, chain: tuple[ir.Expr, ...]) -> ir.Expr | None:
        """Return the part of an access up to the last index that all iterations share; None without."""
        found = None
        for part in chain[1:]:
            if isinstance(part, ir.Index):
                if not self._is_shared(part):
                    break
                found = part
        return found

    def _own_place(self, chain: tuple[ir.Expr, ...]) -> ir.Expr | None:
        """Return the part of an access up to an index that no two iterations share; None without."""
        for expr in chain[1:]:
            if isinstance(expr, ir.Index):
                if not self._is_of_iteration(expr):
                    return None
                if self.stmt.variable in names_in(expr.index):
                    return expr if _is_counted(expr.index, self.stmt.variable) else None
        return None

    # --- elements that an iteration reads ---

    def rewritten(self, *, taking: bool = True) -> ir.For:
        """Return the loop, in which locals stand for elements; without ``taking`` only for those that are ``held``."""
        self.taking = taking
        return replace(self.stmt, body=self._block(self.stmt.body))

    def _block(self, body: Block) -> Block:
        return tuple(map_blocks(map_stmt_exprs(s, self._replaced), self._block) for s in body)

    def _replaced(self, expr: ir.Expr) -> ir.Expr:
        chain = _chain(expr)
        if chain is not None:
            root = chain[0]
            assert isinstance(root, ir.Var)  # noqa: S101  (a chain begins with one)
            for part in reversed(chain):
                if part in self.held:
                    return self._rest(expr, part, self.held[part])
            if self.taking and root.name not in self.stored and self.carrying.carries(root):
                return self._taken(expr, chain)
        return map_children(expr, self._replaced)

    def _taken(self, expr: ir.Expr, chain: tuple[ir.Expr, ...]) -> ir.Expr:
        """Return an access to a value that the loop does not change, in which locals stand for parts."""
        base = self._furthest(chain, self._is_shared) or chain[0]
        element = self._furthest(chain, self._is_of_iteration) or base
        if not self._is_taken(base) or element == chain[0]:
            return map_children(expr, self._replaced)
        held = self._base(base)
        if len(_chain(element) or ()) > len(_chain(base) or ()):
            if element not in self.read:
                local = self._new(_root_of(element).name, element)
                self.read[element] = Element(local, held, self.safe(element, {base: held}))
            held, base = self.read[element].local, element
        return self._rest(expr, base, held)

    def _furthest(self, chain: tuple[ir.Expr, ...], suits: Callable[[ir.Index], bool]) -> ir.Expr | None:
        """Return the last part of an access, up to the first index that does not suit, that is floats with gradient."""
        found: ir.Expr | None = None
        for part in chain[1:]:
            if isinstance(part, ir.Index) and not suits(part):
                break
            found = part if self._is_taken(part) else found
        return found

    def _is_shared(self, part: ir.Index) -> bool:
        """Return True if all iterations have the same index."""
        return self._is_of_iteration(part) and self.stmt.variable not in names_in(part.index)

    def _is_of_iteration(self, part: ir.Index) -> bool:
        """Return True if an index can be computed before the iteration, and is in its array."""
        if names_in(part.index) & self.stored or not _is_pure(part.index):
            return False
        return part in self.certain or (part not in self.unknown and _is_tame(part.index))

    def _base(self, base: ir.Expr) -> ir.Var:
        if isinstance(base, ir.Var):
            return base
        safe = self.safe(base, {}, outside=True)
        for local, value in self.bases.items():
            if value == safe:
                return local
        local = self._new(_root_of(base).name, base)
        self.bases[local] = safe
        return local

    def _rest(self, expr: ir.Expr, part: ir.Expr, local: ir.Var) -> ir.Expr:
        """Return an access in which a local stands for a part of it."""
        if expr == part:
            return local
        match expr:
            case ir.Index(value=value, index=index):
                return replace(expr, value=self._rest(value, part, local), index=self._replaced(index))
            case ir.Member(value=value):
                return replace(expr, value=self._rest(value, part, local))
            case _:
                raise TypeError(f"{expr} is no access")

    # --- facts ---

    def _new(self, name: str, place: ir.Expr) -> ir.Var:
        """Return a local for a place; it carries gradient."""
        words = [name]
        for part in (_chain(place) or (place,))[1:]:
            if isinstance(part, ir.Member):
                words.append(part.name)
            elif isinstance(part, ir.Index):
                words.append(part.index.name if isinstance(part.index, ir.Var) else "at")
        local = self.names.var("_".join(words), place.type)
        self.carrying.mark(local.name)
        return local

    def _is_taken(self, place: ir.Expr) -> bool:
        """Return True for a value of floats that carries gradient."""
        return self.carrying.carries(place) and is_of_floats(place.type)

    def safe(self, place: ir.Expr, held: Mapping[ir.Expr, ir.Var], *, outside: bool = False) -> ir.Expr:
        """Return a place with indices that are in their arrays, also in iterations that do not access it.

        With ``outside``, also if there is no iteration. Locals stand for the parts that are ``held``.
        """
        match place:
            case _ if place in held:
                return held[place]
            case ir.Member(value):
                return replace(place, value=self.safe(value, held, outside=outside))
            case ir.Index(value, index):
                sure = place in self.certain and (not outside or values_of(self.stmt) is not None)
                inside = index if sure or _is_within(place, self.counters) else _clamped(index, value.type)
                return replace(place, value=self.safe(value, held, outside=outside), index=inside)
            case _:
                return place


def _is_within(access: ir.Index, ranges: Mapping[str, Interval]) -> bool:
    """Return True if an index is in its array."""
    values = values_of_index(access.index, ranges)
    size = access.value.type.size if isinstance(access.value.type, Array) else 0
    return values is not None and 0 <= values.low <= values.high < size


def is_of_floats(type_: Type) -> bool:
    """Return True for floats, also in arrays and structs, all of which carry gradient."""
    match type_:
        case Array(element=element):
            return is_of_floats(element)
        case Struct(fields=fields):
            return all(not f.no_diff and is_of_floats(f.type) and not isinstance(f.type, Struct) for f in fields)
        case _:
            return carries_gradient(type_) and all(s.name == "float" for s in count_scalars(type_))


def _clamped(index: ir.Expr, of: Type) -> ir.Expr:
    """Return an index, or the nearest one in an array."""
    assert isinstance(of, Array)  # noqa: S101  (the caller looked)
    least, most = ir.Const(0, index.type), ir.Const(of.size - 1, index.type)
    return call("min", index.type, call("max", index.type, index, least), most)


def _is_counted(index: ir.Expr, counter: str) -> bool:
    """Return True if an index is the counter, plus or minus a value without it."""
    match index:
        case ir.Var(name):
            return name == counter
        case ir.Binary("+" | "-", left, right):
            sides = [side for side in (left, right) if counter in names_in(side)]
            return len(sides) == 1 and _is_counted(sides[0], counter)
        case _:
            return False


def _is_tame(index: ir.Expr) -> bool:
    """Return True if an index has a value in iterations that do not access there, too."""
    return all(
        e.op in "+-*"
        if isinstance(e, ir.Binary)
        else isinstance(e, (ir.Const, ir.ConstantRef, ir.Var))
        or (isinstance(e, ir.Intrinsic) and e.name in ("min", "max"))
        for e in walk(index)
    )


def _is_pure(index: ir.Expr) -> bool:
    return all(isinstance(e, _PURE) for e in walk(index)) and is_integral(index.type)


def _chain(expr: ir.Expr) -> tuple[ir.Expr, ...] | None:
    """Return a local, and the fields and entries of it up to an access; None if that is something else."""
    made: list[ir.Expr] = []
    while isinstance(expr, (ir.Index, ir.Member)) and isinstance(expr.value.type, (Array, Struct)):
        made.append(expr)
        expr = expr.value
    return (expr, *reversed(made)) if isinstance(expr, ir.Var) and made else None


def _root_of(place: ir.Expr) -> ir.Var:
    root = (_chain(place) or (place,))[0]
    assert isinstance(root, ir.Var)  # noqa: S101  (a chain begins with one)
    return root


def _chains(expr: ir.Expr) -> Iterator[tuple[ir.Var, tuple[ir.Expr, ...]]]:
    """Yield every local of an expression, with the access that it begins: the longest one."""
    chain = _chain(expr)
    if chain is not None:
        yield _root_of(expr), chain
        for part in chain[1:]:
            if isinstance(part, ir.Index):
                yield from _chains(part.index)
        return
    if isinstance(expr, ir.Var):
        yield expr, (expr,)
    for child in children(expr):
        yield from _chains(child)
