"""Find the loops that a group can run for a whole tile: all its elements read the same memory in an iteration.

    tile = i // 16 * tiles + j // 16                    the elements of a tile have the same list
    for k in 0 .. count[tile]:                   ->     take(k): the group reads it once, into its own memory
        g = order[start[tile] + k]                      blend(state, taken): each thread, for several elements
        light = light + color[g] * through
        through = through * (1 - opacity[g])            reverse mode adds up the gradients of a thread's elements

The loop is one of ``replay_loops`` at the top of a kernel, whose reverse mode undoes iterations or needs no states.
What an iteration takes from memory is one call of ``gather_reads``; its indices come from the iteration and from what
all elements of a tile have in common. No gradient flows into the loop but from memory, so what precedes it needs no
reverse mode. In other loops, each thread reads for itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, call, fresh_keys, part
from slangad.compiler.ir.calls import reached_in_order, value_callees
from slangad.compiler.ir.gradient_flow import Carrying
from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    INT,
    Field,
    Struct,
    Tensor,
    Vector,
    carries_gradient,
    count_scalars,
    is_floating,
)
from slangad.compiler.ir.walk import body_exprs, map_body_exprs, map_stmt_exprs, rewrite, root, statements, walk_stmts
from slangad.compiler.passes.classify_accesses import blocks_of
from slangad.compiler.passes.common_values import CommonValues, as_fields
from slangad.compiler.passes.derivatives.written_backward import written_backward
from slangad.compiler.passes.gather_reads import gathered
from slangad.compiler.passes.lower_tuples import lower_tuples
from slangad.compiler.passes.replay_loops.read import names_in, reads_of, stored_in
from slangad.compiler.passes.replay_loops.undo import LEAST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type

_FEWEST: Final = 128
"""Elements of a tile: a wave with four elements a thread. Fewer: a group would have several tiles."""

ELEMENTS: Final = 4
"""Elements of a thread. On an H100, splats take 235 us with four, 266 with two, 258 with eight."""

_LIT: Final = (10 * LEAST, 1e7)
"""Bounds of the size of a state that a whole tile undoes.

The first is more than ``LEAST``, so that what a group finds to be undoable is so for the function of one element, too,
however the compiler rounds in either. A quotient of two numbers between them, and its reciprocal, are normal floats.
Wider: ``sa.quotient`` is wrong. Narrower: more iterations run back for one element at a time.
"""


def share_tiles(module: ir.Module) -> ir.Module:
    """Return the module with the functions of such loops, one loop a kernel at most."""
    loops = {
        f"{loop.key} loop": loop
        for loop in module.replayed
        if loop.plain and loop.way in ("sum", "invert") and not (loop.stops and loop.watched)
    }
    functions, keys = {f.key: f for f in module.functions}, fresh_keys(module)
    found = [
        made
        for kernel in module.kernels
        if loops and kernel.tile and kernel.dims > 1 and math.prod(kernel.tile) >= _FEWEST
        if (made := _Sharer(module, kernel, functions, loops, keys).made()) is not None
    ]
    if not found:
        return module
    ordered: list[ir.Function] = []
    for function in module.functions:
        ordered.append(function)
        ordered += (new for made in found if function.key == made.after for new in made.functions)
    structs = tuple(ir.StructDef(struct) for made in found for struct in made.structs)
    tile_loops = tuple(made.loop for made in found)
    shared = replace(module, functions=tuple(ordered), structs=(*module.structs, *structs), tile_loops=tile_loops)
    return lower_tuples(shared)  # those of written derivatives, which call others


@dataclass(frozen=True, slots=True)
class _Made:
    """A loop of a tile, its functions, which stand after the one with the key ``after``, and their structs."""

    loop: ir.TileLoop
    after: str
    functions: tuple[ir.Function, ...]
    structs: tuple[Struct, ...]


@dataclass(slots=True)
class _Sharer:
    """Looks for the loop of one kernel."""

    module: ir.Module
    kernel: ir.Kernel
    functions: Mapping[str, ir.Function]
    loops: Mapping[str, ir.ReplayedLoop]
    keys: Fresh

    def made(self) -> _Made | None:
        """Return the loop with its functions; None if there is none."""
        function = self.functions[self.kernel.function]
        if function.owner or any(p.direction != "in" for p in function.params) or self._writes():
            return None
        body = statements(function)
        calls = [(n, s) for n, s in enumerate(body) if isinstance(s, ir.Assign) and _callee(s.value) in self.loops]
        if len(calls) != 1 or any(isinstance(s, ir.Return) for s in walk_stmts(body[: calls[0][0]])):
            return None
        ((at, stmt),) = calls
        assert isinstance(stmt, ir.Assign)  # noqa: S101  (chosen above)
        loop = self.loops[_callee(stmt.value)]
        run = f"{loop.key} run"
        before = tuple(s for s in body[:at] if not (isinstance(s, ir.Assign) and _callee(s.value) == run))
        taken = taken_in(self.functions[f"{loop.key} step"], self.functions)
        given = _Arguments.of(stmt.value, self.functions, loop.key)
        if taken is None or not _is_float(taken.item.type) or not _is_float(given.state.type, but=loop.stops):
            return None
        if any(p.name in taken.outer and not _is_passive(p) for p in taken.step.params[2:]) or not given.passive:
            return None
        carrying = Carrying(replace(function, body=before), self.functions)
        uniform = (given.count, *(given.shared[name] for name in taken.outer))
        if carrying.carries(given.state) or not self._in_common(function, uniform):
            return None
        if self._adds_plainly(taken.step):
            return None
        undo = self.functions.get(f"{loop.key} undo")
        maker = _Functions(self, function, loop, taken, given)
        return maker.made(undo, before, stmt, body[at + 1 :])

    def _adds_plainly(self, step: ir.Function) -> bool:
        """Return True if iterations read elements that belong to one thread, which adds to their gradients plainly.

        Places past the domain repeat the last element in the loop, so that two threads would add.
        """
        own = {b.key for b in self.module.buffers if b.accumulation is ir.Accumulation.OWN}
        run = reached_in_order(self.functions, step.key, value_callees)
        exprs = (e for function in run for e in body_exprs(statements(function)))
        return any(isinstance(e, ir.Read) and isinstance(e.source, ir.Var) and e.source.name in own for e in exprs)

    def _writes(self) -> bool:
        """Return True if threads store in memory of the kernel or add to it."""
        own = [b for b in self.module.buffers if b.kernel == self.kernel.name]
        return any(b.added or (isinstance(b.type, Tensor) and b.type.writes) for b in own)

    def _in_common(self, function: ir.Function, exprs: Iterable[ir.Expr]) -> bool:
        """Return True if the elements of each tile have the same values."""
        tile = self.kernel.tile or ()
        return all(
            block % extent == 0
            for blocks in blocks_of(self.kernel, function, exprs)
            for block, extent in zip(blocks, tile, strict=False)
        )

    def is_same_for_thread(self, function: ir.Function, expr: ir.Expr) -> bool:
        """Return True if the elements of a thread, which differ along all axes but the last, have the same value."""
        *others, _ = self.kernel.tile or ()
        (blocks,) = blocks_of(self.kernel, function, (expr,))
        return math.prod(others) % ELEMENTS == 0 and all(b % e == 0 for b, e in zip(blocks, others, strict=False))


def _callee(expr: ir.Expr) -> str:
    """Return the key of the function that an expression calls; empty if it is no call."""
    expr = expr.value if isinstance(expr, ir.NoDiff) else expr
    return expr.function if isinstance(expr, ir.Call) else ""


def _is_float(type_: Type, but: str = "") -> bool:
    """Return True if a type is its own differential. A field named ``but`` does not count."""
    match type_:
        case Struct(fields=fields):
            return all(not f.no_diff and _is_float(f.type) for f in fields if f.name != but)
        case _:
            return is_floating(type_)


def _is_passive(param: ir.Param) -> bool:
    return param.no_diff or not carries_gradient(param.type)


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of a loop: the state before it, the number of iterations, and those of its steps, by name.

    ``passive`` says that no gradient flows into these.
    """

    state: ir.Expr
    count: ir.Expr
    shared: Mapping[str, ir.Expr]
    passive: bool

    @classmethod
    def of(cls, expr: ir.Expr, functions: Mapping[str, ir.Function], key: str) -> _Arguments:
        """Return those of a call of the loop."""
        assert isinstance(expr, ir.Call)  # noqa: S101  (the caller has looked)
        step, loop = functions[f"{key} step"], functions[expr.function]
        held, *others = expr.args[:-1]
        bounds = len(others) - len(step.params[2:])
        (counted,) = (s for s in walk_stmts(statements(functions[f"{key} run"])) if isinstance(s, ir.For))
        count = others[0] if bounds else counted.stop
        shared = {p.name: arg for p, arg in zip(step.params[2:], others[bounds:], strict=True)}
        return cls(held, count, shared, all(_is_passive(p) for p in loop.params[1:]))


@dataclass(frozen=True, slots=True)
class Taken:
    """What an iteration takes from memory.

    Attributes:
        step: The function of an iteration.
        item: The local with the elements of tensors.
        call: The call that reads them.
        head: The statements that find its indices.
        rest: The other statements of the iteration, without the call.
        outer: The parameters of the iteration that ``head`` and the indices read.
        fields: What the tile shares: the item, its indices, and locals of ``head`` that ``rest`` reads; with values.
        indices: The names of the indices among them.
    """

    step: ir.Function
    item: ir.Var
    call: ir.Call
    head: tuple[ir.Assign, ...]
    rest: Block
    outer: tuple[str, ...]
    fields: Mapping[str, ir.Expr]
    indices: tuple[str, ...]


def taken_in(step: ir.Function, functions: Mapping[str, ir.Function]) -> Taken | None:
    """Return what an iteration takes from memory; None if that is not one call with indices that all states have."""
    body = statements(step)
    calls = [s for s in walk_stmts(body) if isinstance(s, ir.Assign) and _reads_items(s.value, functions)]
    if len(calls) != 1 or calls[0] not in body:
        return None
    (read,) = calls
    if not (isinstance(read.target, ir.Var) and isinstance(read.value, ir.Call)):
        return None
    at = body.index(read)
    if any(isinstance(s, (ir.Return, ir.Break, ir.Continue)) for s in walk_stmts(body[:at])):
        return None
    stored = [root(s.target) for s in walk_stmts(body) if isinstance(s, ir.Assign)]
    once = {v.name for v in stored if v is not None and stored.count(v) == 1}
    needed = names_in(read.value)
    head: list[ir.Assign] = []
    for stmt in reversed(body[:at]):
        if needed & {*stored_in((stmt,))}:
            if not (isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var) and stmt.target.name in once):
                return None
            head.insert(0, stmt)
            needed |= names_in(stmt.value)
    found = {s.target.name: s.target for s in head if isinstance(s.target, ir.Var)}
    outer = tuple(p.name for p in step.params[2:] if p.name in needed)
    if needed - found.keys() - {*outer, step.params[1].name}:
        return None
    rest = tuple(s for s in body if s not in (*head, read))
    names = Fresh({read.target.name, *found, *(p.name for p in step.params)})
    indices = {
        arg.name if isinstance(arg, ir.Var) and arg.name in found else names.name("at"): arg for arg in read.value.args
    }
    used = {name for stmt in rest for name in reads_of(stmt)}
    others = {name: local for name, local in found.items() if name in used and name not in indices}
    if any(carries_gradient(e.type) for e in (*indices.values(), *others.values())):
        return None
    fields: dict[str, ir.Expr] = {read.target.name: read.target, **indices, **others}
    return Taken(step, read.target, read.value, tuple(head), rest, outer, fields, tuple(indices))


def _reads_items(expr: ir.Expr, functions: Mapping[str, ir.Function]) -> bool:
    key = _callee(expr)
    return bool(key) and functions[key].role is ir.Role.GATHER


@dataclass(slots=True)
class _Functions:
    """Makes the functions of a loop of a tile."""

    of: _Sharer
    function: ir.Function
    loop: ir.ReplayedLoop
    taken: Taken
    given: _Arguments
    structs: list[Struct] = field(default_factory=list)
    holder: tuple[ir.Var, ...] = ()
    quotients: dict[str, ir.Function] = field(default_factory=dict)

    def made(self, undo: ir.Function | None, before: Block, stmt: ir.Assign, after: Block) -> _Made:
        """Return everything; ``stmt`` is the call of the loop."""
        take = self._take()
        undone = () if undo is None else self._rest_of_undo(undo)
        common, (body, undone) = self._common((self.taken.rest, undone))
        doc = "One iteration, with what the tile shares in it."
        blend = replace(self._blend("blend", self.taken.step, body, doc), differentiable=True, reads=True)
        functions = [take, *common, *self._with_gradient(blend)]
        if undo is not None:
            doc = "The state before such an iteration, from the state after it."
            functions += (*self.quotients.values(), self._blend("unblend", undo, undone, doc))
        watch = (self._lit(), self._tail()) if self.loop.watched else ()
        enter, rest = self._enter(before), self._rest(before, stmt, after)
        undo_key = functions[-1].key if undo is not None else ""
        lit, tail = (f.key for f in watch) if watch else ("", "")
        loop = ir.TileLoop(
            self.of.kernel.name, enter.key, take.key, common[0].key if common else "", blend.key, undo_key, lit,
            f"{self.loop.key} run", tail, rest.key, self.taken.call.function, self.taken.indices, self.loop.stops,
        )  # fmt: skip
        return _Made(loop, self.function.key, (*functions, *watch, enter, rest), tuple(self.structs))

    def _make(self, word: str, params: Iterable[ir.Param], result: Type, body: Block, doc: str) -> ir.Function:
        """Return a function that is not differentiated."""
        stem = self.taken.step.name.removesuffix("_step")
        return ir.Function(
            self.of.keys.name(f"{self.loop.key} {word}"), f"{stem}_{word}", tuple(params), result, body,
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
        passed = [index, *(p for p in others if self.of.is_same_for_thread(self.function, self.given.shared[p.name]))]
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

    def _with_gradient(self, function: ir.Function) -> list[ir.Function]:
        """Return a function, and its backward derivative if it can be written out: Slang's adds zeros everywhere."""
        backward = written_backward(function, self.of.functions, self.of.keys)
        if backward is None:
            return [function]
        return [replace(function, derivative=ir.Custom(backward.key, None)), backward]

    def _rest_of_undo(self, undo: ir.Function) -> Block:
        """Return the body of the function that undoes an iteration, with what is shared in place of reads."""
        taken = self.taken
        item = self.of.functions[taken.call.function]
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
        backward = self.of.functions[f"{self.loop.key} backward"]
        names = Fresh({v.name for v in _vars(backward)})
        begin, d_out = names.var("begin", INT), backward.params[-1]
        *head, walk, last = statements(backward)
        assert isinstance(walk, ir.For)  # noqa: S101  (as replay_loops makes it)
        current = head[-1].target if isinstance(head[-1], ir.Assign) else None
        assert isinstance(current, ir.Var)  # noqa: S101
        assert isinstance(last, ir.Return)  # noqa: S101
        assert last.value is not None  # noqa: S101
        struct = self._struct("tail", (("d_state", d_out.type), ("state", current.type)))
        walk = replace(walk, stop=ir.Binary("-", begin, ir.Const(1, INT), INT))
        body = (*head, walk, ir.Return(ir.Construct((last.value, current), struct)))
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
        params, body = self._params(body, also={p.name for p in self.function.params if not _is_passive(p)})
        made = self._make("rest", (*params, ir.Param(state.name, state.type)), self.function.result, body,
                          "What follows the loop.")  # fmt: skip
        return replace(made, differentiable=True, reads=self.function.reads)

    def _params(self, body: Block, also: Iterable[str] = ()) -> tuple[tuple[ir.Param, ...], Block]:
        """Return the parameters of the kernel's function that a body reads, and the body with the thread's index."""
        used = {name for stmt in body for name in reads_of(stmt)} | {*also}
        params = [p for p in self.function.params if p.name in used]
        type_, names = Vector(INT, self.of.kernel.dims), Fresh({v.name for v in _vars(self.function)})
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
