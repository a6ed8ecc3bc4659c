"""Make the functions of a loop that a group runs for a tile: of an iteration, and of what precedes and follows it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, call, part
from slangad.compiler.ir.types import BOOL, FLOAT, INT, Field, Struct, Vector, carries_gradient, count_scalars
from slangad.compiler.ir.walk import body_exprs, map_body_exprs, map_stmt_exprs, rewrite, statements
from slangad.compiler.passes.classify_accesses import blocks_of
from slangad.compiler.passes.common_values import CommonValues, as_fields
from slangad.compiler.passes.derivatives.written_backward import written_backward
from slangad.compiler.passes.gather_reads import gathered
from slangad.compiler.passes.replay_loops.read import reads_of, stored_in
from slangad.compiler.passes.replay_loops.undo import LEAST
from slangad.compiler.passes.share_tiles.read import is_passive
from slangad.compiler.passes.share_tiles.selects import with_selects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type
    from slangad.compiler.passes.share_tiles.read import Arguments, Taken

ELEMENTS: Final = 4
"""Elements of a thread. On an H100, splats take 235 us with four, 266 with two, 258 with eight."""

_LIT: Final = (10 * LEAST, 1e7)
"""Bounds of the size of a state that a whole tile undoes.

The first is more than ``LEAST``, so that what a group finds to be undoable is so for the function of one element, too,
however the compiler rounds in either. A quotient of two numbers between them, and its reciprocal, are normal floats.
Wider: ``sa.quotient`` is wrong. Narrower: more iterations run back for one element at a time.
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A loop of a tile, its functions, which stand after the one with the key ``after``, and their structs."""

    loop: ir.TileLoop
    after: str
    functions: tuple[ir.Function, ...]
    structs: tuple[Struct, ...]


@dataclass(slots=True)
class Functions:
    """Makes the functions of a loop of a tile."""

    kernel: ir.Kernel
    functions: Mapping[str, ir.Function]
    keys: Fresh
    function: ir.Function
    loop: ir.ReplayedLoop
    taken: Taken
    given: Arguments
    structs: list[Struct] = field(default_factory=list)
    holder: tuple[ir.Var, ...] = ()
    quotients: dict[str, ir.Function] = field(default_factory=dict)
    per_element: tuple[str, ...] = field(init=False)
    per_thread: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Divide the values from outside that gradient flows into."""
        same = {name: self._is_same_for_thread(self.given.shared[name]) for name in self.given.active}
        self.per_element = tuple(name for name in same if not same[name])
        self.per_thread = tuple(name for name in same if same[name])

    @property
    def held(self) -> int:
        """The numbers that a thread holds of the gradients of values from outside."""
        numbers = {name: count_scalars(self.given.shared[name].type).total() for name in self.given.active}
        shared, apart = (sum(numbers[n] for n in names) for names in (self.per_thread, self.per_element))
        return shared + ELEMENTS * apart

    def made(
        self, undo: ir.Function | None, before: Block, stmt: ir.Assign, after: Block, *, into_state: bool
    ) -> Made:
        """Return everything. ``stmt`` is the call; ``into_state`` says that gradient flows into the first state."""
        take = self._take()
        undone = () if undo is None else self._rest_of_undo(undo)
        common, (body, undone) = self._common((self.taken.rest, undone))
        doc = "One iteration, with what the tile shares in it."
        blend = replace(self._blend("blend", self.taken.step, body, doc), differentiable=True, reads=True)
        blended = self._with_gradient(blend)
        if len(blended) > 1:  # else Slang differentiates it, and a side that is not taken could be infinite times zero
            blended = [with_selects(function) for function in blended]
        functions = [take, *common, *blended]
        if undo is not None:
            doc = "The state before such an iteration, from the state after it."
            functions += (*self.quotients.values(), with_selects(self._blend("unblend", undo, undone, doc)))
        watch = (self._lit(), self._tail()) if self.loop.watched else ()
        enter, rest = self._enter(before), self._rest(before, stmt, after)
        lead = self._lead(before, into_state=into_state)
        undo_key = functions[-1].key if undo is not None else ""
        lit, tail = (f.key for f in watch) if watch else ("", "")
        loop = ir.TileLoop(
            self.kernel.name, enter.key, take.key, common[0].key if common else "", blend.key, undo_key, lit,
            f"{self.loop.key} run", tail, rest.key, self.taken.call.function, self.taken.indices, self.loop.stops,
            lead[0].key if lead else "", self.per_element, self.per_thread,
        )  # fmt: skip
        return Made(loop, self.function.key, (*functions, *watch, enter, *lead, rest), tuple(self.structs))

    def _make(self, word: str, params: Iterable[ir.Param], result: Type, body: Block, doc: str) -> ir.Function:
        """Return a function that is not differentiated."""
        stem = self.taken.step.name.removesuffix("_step")
        return ir.Function(
            self.keys.name(f"{self.loop.key} {word}"), f"{stem}_{word}", tuple(params), result, body,
            differentiable=False, span=self.taken.step.span, doc=(doc,),
        )  # fmt: skip

    def _struct(self, word: str, fields: Iterable[tuple[str, Type]], *, active: bool = False) -> Struct:
        """Return a struct; ``active`` says that gradients flow through its fields."""
        title = self.taken.step.name.removesuffix("_step")
        title = "".join(piece[:1].upper() + piece[1:] for piece in title.split("_"))
        made = tuple(Field(name, type_, no_diff=not active and carries_gradient(type_)) for name, type_ in fields)
        struct = Struct(f"{self.loop.key} {word}", f"{title}{word.title()}", made)
        self.structs.append(struct)
        return struct

    # --- an iteration ---

    def _take(self) -> ir.Function:
        taken = self.taken
        shared = self._struct("shared", ((name, value.type) for name, value in taken.fields.items()))
        index, *params = (p for p in taken.step.params[1:] if p.name in (taken.step.params[1].name, *taken.outer))
        read = ir.Assign(taken.item, taken.call)
        body: Block = (*taken.head, read, ir.Return(ir.Construct(tuple(taken.fields.values()), shared)))
        return self._make("take", (index, *params), shared, body, "What the elements of a tile share in an iteration.")

    def _blend(self, word: str, of: ir.Function, body: Block, doc: str) -> ir.Function:
        """Return a function from a state and what is shared; ``of`` is the function of an iteration that it is like."""
        taken = self.taken
        used = {name for stmt in body for name in reads_of(stmt)} - {*stored_in(body)}
        shared = {name: value.type for name, value in taken.fields.items()} | {v.name: v.type for v in self.holder}
        found = [ir.Param(name, type_) for name, type_ in shared.items() if name in used]
        others = [p for p in of.params[1:] if p.name in used]
        return self._make(word, (of.params[0], *found, *others), of.result, body, doc)

    def _common(self, bodies: tuple[Block, ...]) -> tuple[list[ir.Function], tuple[Block, ...]]:
        """Return the function of what a thread's elements have in common, if any, and bodies that are given it."""
        taken = self.taken
        index, *others = taken.step.params[1:]
        fixed = (p for p in others if p.name not in self.given.active)
        passed = [index, *(p for p in fixed if self._is_same_for_thread(self.given.shared[p.name]))]
        names = {p.name for p in taken.step.params} | {v.name for b in bodies for v in _vars_of(b)} | {*taken.fields}
        known = frozenset({*taken.fields, *(p.name for p in passed)})
        given = frozenset({*taken.fields, *(p.name for p in taken.step.params)})
        finder = CommonValues(known, frozenset({taken.item.name}), given, Fresh({*names}))
        bodies = tuple(finder.without(body) for body in bodies)
        if not finder.values:
            return [], bodies
        struct = self._struct("common", ((name, v.type) for name, v in finder.values.items()), active=True)
        holder = Fresh({*names}).var("common", struct)
        self.holder = (holder,)
        made = tuple(_without_unread(as_fields(body, finder.values, holder)) for body in bodies)
        body = finder.computed(struct)
        used = {name for stmt in body for name in reads_of(stmt)}
        shared = [ir.Param(name, value.type) for name, value in taken.fields.items() if name in used]
        params = (*shared, *(p for p in passed if p.name in used))
        function = self._make(
            "common", params, struct, body, "What the elements of a thread have in common in an iteration."
        )
        return self._with_gradient(replace(function, differentiable=True)), made

    def _is_same_for_thread(self, expr: ir.Expr) -> bool:
        """Return True if the elements of a thread, which differ along all axes but the last, have the same value."""
        *others, _ = self.kernel.tile or ()
        (blocks,) = blocks_of(self.kernel, self.function, (expr,))
        return math.prod(others) % ELEMENTS == 0 and all(b % e == 0 for b, e in zip(blocks, others, strict=False))

    def _with_gradient(self, function: ir.Function) -> list[ir.Function]:
        """Return a function, and its backward derivative if it can be written out: Slang's adds zeros everywhere."""
        backward = written_backward(function, self.functions, self.keys)
        if backward is None:
            return [function]
        return [replace(function, derivative=ir.Custom(backward.key, None)), backward]

    def _rest_of_undo(self, undo: ir.Function) -> Block:
        """Return the body of the function that undoes an iteration, with what is shared in place of reads."""
        taken = self.taken
        item = self.functions[taken.call.function]
        names = {p.name: arg for p, arg in zip(item.params, taken.call.args, strict=True)}
        assert isinstance(item.result, Struct)  # noqa: S101  (as gather_reads says)
        parts = {
            rewrite(read, lambda e: names.get(e.name, e) if isinstance(e, ir.Var) else e): part(taken.item, f.name)
            for read, f in zip(gathered(item), item.result.fields, strict=True)
        }
        same: dict[str, ir.Var] = {}
        result: list[ir.Stmt] = []
        for stmt in statements(undo):
            known = map_stmt_exprs(stmt, lambda e: rewrite(e, lambda x: _renamed(x, same)))
            local = self._twin(known)
            if local is not None and isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var):
                same[stmt.target.name] = local
            else:
                result.append(known)
        if {*stored_in(tuple(result))} & {*taken.fields, *(v.name for v in same.values())}:
            return statements(undo)  # names that mean something else: it reads by itself
        body = map_body_exprs(tuple(result), lambda e: rewrite(e, lambda x: parts.get(x, x)))
        return _needed(tuple(map(self._divided, body)), len(body) - 1)

    def _divided(self, stmt: ir.Stmt) -> ir.Stmt:
        """Return a statement that finds an earlier state by a division of the library's, which has no branch."""
        match stmt:
            case ir.Assign(ir.Var(name), ir.Binary("/", left, right, type_)) if name in self._earlier and {
                *count_scalars(type_)
            } == {FLOAT}:
                params = (ir.Param("a", type_), ir.Param("b", type_))
                key = f"{self.loop.key} quotient {type_}"
                self.quotients[key] = ir.Function(
                    key,
                    "quotient",
                    params,
                    type_,
                    ir.External("sa.quotient", "slangad_tiles.slang"),
                    differentiable=False,
                )
                return replace(stmt, value=ir.Call(key, (left, right), type_))
            case _:
                return stmt

    @property
    def _earlier(self) -> set[str]:
        """The locals of the undoing function that have earlier values of the floats that are divided back."""
        return {f"{name}_before" for name in self.loop.watched}

    def _twin(self, stmt: ir.Stmt) -> ir.Var | None:
        """Return the local that has the value of an assignment already, before anything of the iteration is shared."""
        if not isinstance(stmt, ir.Assign):
            return None
        targets = (h.target for h in self.taken.head if _plain(h.value) == _plain(stmt.value))
        return next((target for target in targets if isinstance(target, ir.Var)), None)

    def _lit(self) -> ir.Function:
        """Return the function that says if a state is large enough to undo the iteration before it."""
        held = self.taken.step.params[0]
        state = ir.Var(held.name, held.type)
        condition: ir.Expr | None = None
        for name in self.loop.watched:
            value = part(state, name) if isinstance(held.type, Struct) else state
            for one in [part(value, n) for n in range(value.type.size)] if isinstance(value.type, Vector) else [value]:
                size = call("abs", one.type, one)
                for op, bound in zip("><", _LIT, strict=True):
                    holds = ir.Binary(op, size, ir.Const(bound, one.type), BOOL)
                    condition = holds if condition is None else ir.Binary("&&", condition, holds, BOOL)
        doc = "Whether a state is large enough to find the one before it."
        return self._make("lit", (replace(held, no_diff=False),), BOOL, (ir.Return(condition),), doc)

    def _tail(self) -> ir.Function:
        """Return reverse mode of the iterations from one on, for one element: the loop's own that stops there."""
        backward = self.functions[f"{self.loop.key} backward"]
        names = Fresh({v.name for v in _vars(backward)})
        begin, d_out = names.var("begin", INT), backward.params[-1]
        *head, walk, last = statements(backward)
        assert isinstance(walk, ir.For)  # noqa: S101  (as replay_loops makes it)
        current = head[-1].target if isinstance(head[-1], ir.Assign) else None
        assert isinstance(current, ir.Var)  # noqa: S101
        assert isinstance(last, ir.Return)  # noqa: S101
        assert last.value is not None  # noqa: S101
        active = self.given.active
        gradients = last.value.args if active and isinstance(last.value, ir.Construct) else (last.value,)
        names = Fresh({"d_state", "state"})
        fields = {"d_state": gradients[0], "state": current}
        fields |= {names.name(f"d_{name}"): g for name, g in zip(active, gradients[1:], strict=True)}
        struct = self._struct("tail", ((name, value.type) for name, value in fields.items()))
        walk = replace(walk, stop=ir.Binary("-", begin, ir.Const(1, INT), INT))
        body = (*head, walk, ir.Return(ir.Construct(tuple(fields.values()), struct)))
        params = (*backward.params[1:-1], ir.Param(begin.name, INT), d_out)
        doc = "Reverse mode of the iterations from one on, which not all elements of a tile can undo."
        return self._make("tail", (replace(p, no_diff=False) for p in params), struct, body, doc)

    # --- an element ---

    def _enter(self, before: Block) -> ir.Function:
        """Return the function from an element to the state before the loop and what the loop reads."""
        read = {name for stmt in statements(self.taken.step) for name in reads_of(stmt)}
        outer = {name: value for name, value in self.given.shared.items() if name in read}
        names = Fresh({*outer})
        values: dict[str, ir.Expr] = {names.name("state"): self.given.state, names.name("count"): self.given.count}
        values |= outer
        entry = self._struct("entry", ((name, value.type) for name, value in values.items()))
        last = ir.Return(ir.Construct(tuple(values.values()), entry))
        body = _needed((*before, last), len(before))
        params, body = self._params(body)
        params = tuple(replace(p, no_diff=False) for p in params)
        doc = "The state of an element before the loop, and what the loop reads."
        return self._make("enter", params, entry, body, doc)

    def _lead(self, before: Block, *, into_state: bool) -> list[ir.Function]:
        """Return the function from an element to what gradients flow back to from the loop; none if they don't."""
        names = (*self.per_element, *self.per_thread)
        values: dict[str, ir.Expr] = {Fresh({*names}).name("state"): self.given.state} if into_state else {}
        values |= {name: self.given.shared[name] for name in names}
        if not values:
            return []
        lead = self._struct("lead", ((name, value.type) for name, value in values.items()), active=True)
        body = _needed((*before, ir.Return(ir.Construct(tuple(values.values()), lead))), len(before))
        params, body = self._params(body)
        made = self._make("lead", params, lead, body, "What gradients flow back to from the loop.")
        return [replace(made, differentiable=True, reads=self.function.reads)]

    def _rest(self, before: Block, stmt: ir.Assign, after: Block) -> ir.Function:
        """Return the function from an element and the state after the loop to its result."""
        assert isinstance(stmt.target, ir.Var)  # noqa: S101  (as replay_loops makes it)
        names = Fresh({v.name for v in _vars(self.function)})
        state = names.var(f"{stmt.target.name}_after", stmt.target.type)
        start = replace(stmt, value=state)
        body = _needed((*before, start, *after), len(before))
        earlier = body[: body.index(start)]
        if stmt.target.name not in {*stored_in(earlier), *(n for s in earlier for n in reads_of(s))}:
            state, body = stmt.target, tuple(s for s in body if s is not start)
        params, body = self._params(body, also={p.name for p in self.function.params if not is_passive(p)})
        made = self._make("rest", (*params, ir.Param(state.name, state.type)), self.function.result, body,
                          "What follows the loop.")  # fmt: skip
        return replace(made, differentiable=True, reads=self.function.reads)

    def _params(self, body: Block, also: Iterable[str] = ()) -> tuple[tuple[ir.Param, ...], Block]:
        """Return the parameters of the kernel's function that a body reads, and the body with the thread's index."""
        used = {name for stmt in body for name in reads_of(stmt)} | {*also}
        params = [p for p in self.function.params if p.name in used]
        type_, names = Vector(INT, self.kernel.dims), Fresh({v.name for v in _vars(self.function)})
        for node, word in ((ir.ThreadId, "thread_id"), (ir.ThreadCount, "thread_count")):
            if any(isinstance(e, node) for e in body_exprs(body)):
                local = names.var(word, type_)
                params.append(ir.Param(local.name, type_))
                body = map_body_exprs(body, lambda e: rewrite(e, lambda x: _axis(x, node, local)))  # noqa: B023
        return tuple(params), body


def _axis(expr: ir.Expr, node: type[ir.ThreadId | ir.ThreadCount], local: ir.Var) -> ir.Expr:
    return part(local, expr.axis) if isinstance(expr, node) else expr


def _plain(expr: ir.Expr) -> ir.Expr:
    """Return an expression without marks of what has no gradient."""
    return rewrite(expr, lambda e: e.value if isinstance(e, ir.NoDiff) else e)


def _renamed(expr: ir.Expr, names: Mapping[str, ir.Var]) -> ir.Expr:
    return names.get(expr.name, expr) if isinstance(expr, ir.Var) else expr


def _vars(function: ir.Function) -> list[ir.Var | ir.Param]:
    return [*function.params, *_vars_of(statements(function))]


def _vars_of(body: Block) -> list[ir.Var]:
    return [e for e in body_exprs(body) if isinstance(e, ir.Var)]


def _without_unread(body: Block) -> Block:
    """Return a body without the locals that nothing reads."""
    read = {name for stmt in body for name in reads_of(stmt)}
    kept = tuple(
        s for s in body if not (isinstance(s, ir.Assign) and isinstance(s.target, ir.Var) and s.target.name not in read)
    )
    return kept if kept == body else _without_unread(kept)


def _needed(body: Block, count: int) -> Block:
    """Return a body without those of its first statements whose locals nothing reads."""
    kept: list[ir.Stmt] = []
    live: set[str] = set()
    for number, stmt in reversed(list(enumerate(body))):
        stored = {*stored_in((stmt,))}
        if number < count and not (stored & live):
            continue
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var):
            live -= stored
        live |= {*reads_of(stmt)}
        kept.append(stmt)
    return tuple(reversed(kept))
