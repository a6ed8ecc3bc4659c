"""Read a loop: the state that its iterations hand on, the values that they share, and its exits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.assignment import sets_before_reading
from slangad.compiler.ir.types import (
    INT,
    Array,
    DiffPair,
    Struct,
    Tensor,
    Texture,
    Tuple,
    carries_gradient,
    count_scalars,
)
from slangad.compiler.ir.walk import (
    blocks,
    body_exprs,
    map_body_exprs,
    rewrite,
    root,
    stmt_exprs,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.gradient_flow import Carrying
    from slangad.compiler.ir.types import Type

_BYTES: Final = {"half": 2, "double": 8}
_NEVER: Final = {
    ir.BackwardCall: "differentiates a function",
    ir.ForwardCall: "differentiates a function",
    ir.MakePair: "differentiates a function",
    ir.Probe: "has a probe",
    ir.GroupOperation: "computes with the group",
    ir.Linear: "multiplies by a matrix that the group shares",
}
"""Expressions that keep a loop where it is, each with what the reason says of it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A value that all iterations read: the local that the body reads, the argument for it, and if it has gradient."""

    local: ir.Var
    value: ir.Expr
    active: bool


@dataclass(frozen=True, slots=True)
class StateVar:
    """A local that an iteration hands on. ``set_before`` and ``used_after`` describe the code around the loop."""

    local: ir.Var
    active: bool
    set_before: bool
    used_after: bool


@dataclass(frozen=True, slots=True)
class Element:
    """A part of an array that belongs to an iteration.

    Attributes:
        local: What the iteration calls it.
        base: What all iterations share; of an element that an iteration changes, the array.
        place: Where it is in ``base``, by the counter of the loop and locals that the loop does not change.
    """

    local: ir.Var
    base: ir.Var
    place: ir.Expr

    def at(self, base: ir.Expr, counter: str, index: ir.Expr) -> ir.Expr:
        """Return the place in a value that stands for ``base``, in the iteration with an index."""

        def put(expr: ir.Expr) -> ir.Expr:
            if expr == self.base:
                return base
            return index if isinstance(expr, ir.Var) and expr.name == counter else expr

        return rewrite(self.place, put)


@dataclass(frozen=True, slots=True)
class Elements:
    """What the iterations of a loop read and change of arrays.

    Attributes:
        stmt: The loop, in which locals stand for elements.
        bases: The parts of arrays that all iterations share, by the local for each.
        read: The elements that an iteration reads.
        changed: The elements that an iteration changes. No other iteration reads or changes them.
    """

    stmt: ir.For
    bases: Mapping[ir.Var, ir.Expr]
    read: tuple[Element, ...]
    changed: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that can become functions.

    Attributes:
        stmt: The loop.
        body: Its body, without the thread's index.
        state: The values that an iteration hands on.
        shared: The values that all iterations read.
        breaks: It has a ``break``.
        elements: What an iteration reads and changes of arrays, if it does not take them whole.
    """

    stmt: ir.For | ir.While
    body: Block
    state: tuple[StateVar, ...]
    shared: tuple[Shared, ...]
    breaks: bool
    elements: Elements | None = None

    @property
    def changed(self) -> tuple[Element, ...]:
        """Return the elements of arrays that an iteration changes."""
        return self.elements.changed if self.elements else ()

    @property
    def passed(self) -> tuple[Shared, ...]:
        """Return the shared values that an iteration itself reads."""
        if self.elements is None:
            return self.shared
        names = {v.name for v in _vars(body_exprs(self.body))}
        return tuple(s for s in self.shared if s.local.name in names)

    @property
    def limit(self) -> int:
        """Return the largest number of iterations."""
        return self.stmt.limit

    @property
    def counts(self) -> bool:
        """Return True if the number of iterations is known only after them."""
        return self.breaks or isinstance(self.stmt, ir.While)

    def parameters(self) -> set[str]:
        """Return the names of what the functions of the loop take."""
        elements = (*self.elements.read, *self.elements.changed) if self.elements else ()
        handed = [*(v.local for v in self.state), *(s.local for s in self.shared), *(e.local for e in elements)]
        return {local.name for local in handed}

    def locals(self) -> set[str]:
        """Return the names that the loop uses."""
        names = {e.name for e in body_exprs((self.stmt,)) if isinstance(e, ir.Var)}
        names |= {e.name for e in body_exprs(self.body) if isinstance(e, ir.Var)}
        names |= {s.variable for s in walk_stmts((self.stmt,)) if isinstance(s, ir.For)}
        return names | self.parameters()  # arrays of which it takes elements are in no statement of it


def inverse_of(stmt: ir.For | ir.While) -> ir.Expr | None:
    """Return the user's call that undoes an iteration of a loop; None without."""
    return stmt.inverse if isinstance(stmt, ir.For) else None


def wish_of(stmt: ir.For | ir.While) -> str:
    """Return what the user asks of reverse mode for a loop, as it is written; empty if nothing."""
    if inverse_of(stmt) is not None:
        return "inverse="
    return "" if stmt.keep is None else f"keep={stmt.keep}"


def size_of(type_: Type) -> int:
    """Return the bytes of a value."""
    return sum(_BYTES.get(scalar.name, 4) * count for scalar, count in count_scalars(type_).items())


def obstacle(stmt: ir.For | ir.While) -> str:
    """Return why a loop can't become functions; empty if it can. The words follow "the loop"."""
    inside = tuple(walk_stmts(stmt.body))
    if any(isinstance(s, ir.Return) for s in inside):
        return "returns from an inner loop"
    if any(isinstance(s, ir.Barrier) for s in inside):
        return "waits for the group"
    if any(isinstance(s, ir.Let) for s in inside):
        return "declares locals"
    stores = [s.target for s in inside if isinstance(s, ir.Assign) and root(s.target) is None]
    if stores:
        shared = all(isinstance(to, ir.Read) and _is_shared(to) for to in stores)
        return f"stores into {'memory that the group shares' if shared else 'a tensor'}"
    if isinstance(stmt, ir.For) and stmt.start.type != INT:
        return "counts with a type other than int"
    for expr in body_exprs((stmt,)):
        if type(expr) in _NEVER:
            return _NEVER[type(expr)]
        if isinstance(expr, ir.Read) and _is_shared(expr):
            return "reads memory that the group shares"
        if isinstance(expr.type, DiffPair) and isinstance(expr, ir.Var):
            return "has a local of a value with its tangent"
    return ""


def _is_shared(place: ir.Read) -> bool:
    return isinstance(place.source.type, Tensor) and place.source.type.is_shared


def read_loop(
    stmt: ir.For | ir.While, before: set[str], after: tuple[Block, ...], carrying: Carrying, names: Fresh
) -> Loop:
    """Return the facts of a loop.

    Args:
        stmt: The loop; ``obstacle`` finds none.
        before: The names that are set before it.
        after: The statements that may run after it, block by block.
        carrying: The gradient flow of the function.
        names: Makes names of parameters for the thread's index.
    """
    shared_values: dict[ir.Expr, Shared] = {}

    def without_thread(expr: ir.Expr) -> ir.Expr:
        if not isinstance(expr, (ir.ThreadId, ir.ThreadCount)):
            return expr
        if expr not in shared_values:
            word = "thread" if isinstance(expr, ir.ThreadId) else "threads"
            shared_values[expr] = Shared(names.var(f"{word}_{'ijk'[expr.axis]}", expr.type), expr, active=False)
        return shared_values[expr].local

    body = map_body_exprs(stmt.body, lambda e: rewrite(e, without_thread))
    condition: tuple[ir.Expr, ...] = (stmt.condition,) if isinstance(stmt, ir.While) else ()
    condition = tuple(rewrite(e, without_thread) for e in condition)
    if isinstance(stmt, ir.While):
        stmt = ir.While(condition[0], stmt.limit, body, stmt.span, limit_formula=stmt.limit_formula)
    inverse = inverse_of(stmt)
    beside = (p for e in (*condition, *((inverse,) if inverse else ())) for p in walk(e))
    types = {v.name: v.type for v in _vars((*body_exprs(body), *beside))}
    counter = {stmt.variable} if isinstance(stmt, ir.For) else set()
    inner = {s.variable for s in walk_stmts(body) if isinstance(s, ir.For)}
    stored = stored_in(body)
    asked = {v.name for e in condition for v in _vars(walk(e))}
    carried = {n for n in stored if n in asked or not sets_before_reading(body, n)}
    used = {n for n in stored if any(not sets_before_reading(block, n) for block in after)}
    state = tuple(
        StateVar(ir.Var(n, types[n]), carrying.carries(ir.Var(n, types[n])), n in before, n in used)
        for n in stored
        if n in carried | used
    )
    shared = tuple(
        Shared(ir.Var(n, t), ir.Var(n, t), carrying.carries(ir.Var(n, t)))
        for n, t in types.items()
        if n not in {*stored, *counter, *inner} and not any(n == s.local.name for s in shared_values.values())
    )
    return Loop(stmt, body, state, (*shared, *shared_values.values()), breaks=_breaks(body))


def with_elements(
    loop: Loop, elements: Elements, before: set[str], after: tuple[Block, ...], carrying: Carrying
) -> Loop:
    """Return a loop with elements of arrays in place of the arrays.

    Args:
        loop: The loop in which locals stand for elements, as it was read.
        elements: The elements.
        before: The names that are set before it.
        after: The statements that may run after it, block by block.
        carrying: The gradient flow of the function.
    """
    own = {e.local.name for e in (*elements.read, *elements.changed)}
    places = (v for e in (*elements.read, *elements.changed) for v in _vars(walk(e.place)))
    arrays = {e.base.name: e.base for e in elements.changed}
    counter = loop.stmt.variable if isinstance(loop.stmt, ir.For) else ""
    needed = dict.fromkeys((*(s.local for s in loop.shared), *places))
    values = {s.local: s.value for s in loop.shared} | dict(elements.bases)
    shared = tuple(
        Shared(v, values.get(v, v), carrying.carries(v)) for v in needed if v.name not in {*own, *arrays, counter}
    )
    used = {n for n in arrays if any(not sets_before_reading(block, n) for block in after)}
    state = tuple(v for v in loop.state if v.local.name not in own)
    state += tuple(StateVar(v, active=True, set_before=n in before, used_after=n in used) for n, v in arrays.items())
    return replace(loop, shared=shared, state=state, elements=elements)


def narrowed(loop: Loop) -> Loop:
    """Return a loop that hands on the elements that an iteration changes in place of their arrays."""
    own = {e.base: e.local for e in loop.changed}
    whole = tuple(v for v in loop.state if v.local not in own)
    return replace(loop, state=(*whole, *(replace(v, local=own[v.local]) for v in loop.state if v.local in own)))


def holds_nested_structs(loop: Loop) -> bool:
    """Return True if a value that a loop hands on or shares is a struct with structs in it: it has no plain zero.

    A tuple counts as a struct: it becomes one.
    """

    def structs_in(type_: Type) -> int:
        match type_:
            case Array(element=element):
                return structs_in(element)
            case Struct(fields=fields):
                return 1 + max((structs_in(f.type) for f in fields), default=0)
            case Tuple(elements):
                return 1 + max((structs_in(e) for e in elements), default=0)
            case _:
                return 0

    values = (*(v.local for v in loop.state), *(s.local for s in loop.shared))
    return any(structs_in(value.type) > 1 for value in values)


def stored_in(body: Block) -> dict[str, None]:
    """Return the names of the locals that a block stores into, in order."""
    targets = (root(s.target) for s in walk_stmts(body) if isinstance(s, ir.Assign))
    return dict.fromkeys(t.name for t in targets if t is not None)


def reads_of(stmt: ir.Stmt) -> Iterator[str]:
    """Yield the names of the locals that a statement reads, nested blocks included."""
    for part in walk_stmts((stmt,)):
        whole = isinstance(part, ir.Assign) and isinstance(part.target, ir.Var)
        for expr in (part.value,) if isinstance(part, ir.Assign) and whole else stmt_exprs(part):
            yield from (v.name for v in _vars(walk(expr)))


def names_in(expr: ir.Expr) -> set[str]:
    """Return the names of the locals in an expression."""
    return {v.name for v in _vars(walk(expr))}


def _vars(exprs: Iterable[ir.Expr]) -> Iterator[ir.Var]:
    return (e for e in exprs if isinstance(e, ir.Var) and not isinstance(e.type, (Tensor, Texture)))


def _breaks(body: Block) -> bool:
    """Return True if a block leaves the loop around it."""
    for stmt in body:
        if isinstance(stmt, ir.Break):
            return True
        if isinstance(stmt, ir.If) and any(_breaks(block) for block in blocks(stmt)):
            return True
    return False


def is_active_loop(loop: Loop) -> bool:
    """Return True if gradient flows through the state of a loop."""
    return any(v.active and carries_gradient(v.local.type) for v in loop.state)
