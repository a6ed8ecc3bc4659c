"""Replace the loops of every function that Slang differentiates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, add, fresh_keys, zero
from slangad.compiler.ir.calls import reached
from slangad.compiler.ir.gradient_flow import Carrying, is_differentiated
from slangad.compiler.ir.types import BOOL, INT, Struct, Void
from slangad.compiler.ir.walk import body_exprs, map_blocks, root, statements, walk_stmts
from slangad.compiler.ir.whole_tiles import why_no_tile
from slangad.compiler.passes.mark_no_diff import mark_kernel_params
from slangad.compiler.passes.replay_loops.choose import (
    SHARED,
    Plan,
    Unsuitable,
    adds_only,
    arrays_of,
    choose,
    needed_in,
    read_in,
)
from slangad.compiler.passes.replay_loops.elements import (
    elements_of,
    held_elements,
    is_of_floats,
    values_of,
)
from slangad.compiler.passes.replay_loops.functions import LoopFunctions, binary, uses
from slangad.compiler.passes.replay_loops.read import (
    Loop,
    holds_nested_structs,
    inverse_of,
    is_active_loop,
    names_in,
    narrowed,
    obstacle,
    read_loop,
    stored_in,
    wish_of,
    with_elements,
)
from slangad.compiler.passes.replay_loops.rotate import rotated
from slangad.compiler.passes.replay_loops.split import split_tuples
from slangad.compiler.passes.replay_loops.state import end_of, state_of, structs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.intervals import Interval


def replay_loops(module: ir.Module) -> ir.Module:
    """Return the module with functions in place of long loops, and with the choice for every loop.

    Raises:
        CompileError: A loop can't do what ``keep=`` or ``inverse=`` asks.
    """
    if not any(isinstance(s, (ir.For, ir.While)) for f in module.functions for s in walk_stmts(statements(f))):
        return module
    module = mark_kernel_params(module)
    known = {f.key: f for f in module.functions}
    used = reached(known, [k.function for k in module.kernels]) if module.kernels else {*known}
    tiled = {k.function for k in module.kernels if not why_no_tile(k)}
    state = _Replacer(known, fresh_keys(module), used, tiled)
    functions: list[ir.Function] = []
    for function in module.functions:
        made, changed = state.function(function)
        functions += (*made, changed)
    if state.problems:
        raise CompileError([*{p.span: p for p in state.problems}.values()])
    return replace(
        module,
        functions=tuple(_without_wishes(f) for f in functions),
        structs=(*module.structs, *state.structs),
        loops=(*module.loops, *state.choices),
        replayed=(*module.replayed, *state.replayed),
    )


def _without_wishes(function: ir.Function) -> ir.Function:
    """Return the function with loops that need no inverse any more."""

    def without(block: Block) -> Block:
        stmts = (replace(s, inverse=None) if isinstance(s, ir.For) and s.inverse else s for s in block)
        return tuple(map_blocks(s, without) for s in stmts)

    return replace(function, body=without(function.body)) if isinstance(function.body, tuple) else function


@dataclass(slots=True)
class _Replacer:
    """The functions and structs so far, and the choices.

    Loops over arrays are replaced in functions that are ``used``: those of kernels, or all if there are no kernels. It
    makes a text longer. ``tiled`` are the functions of kernels whose groups can run a loop for a tile.
    """

    functions: dict[str, ir.Function]
    keys: Fresh
    used: set[str]
    tiled: set[str]
    structs: list[ir.StructDef] = field(default_factory=list)
    choices: list[ir.LoopChoice] = field(default_factory=list)
    replayed: list[ir.ReplayedLoop] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    def function(self, function: ir.Function) -> tuple[list[ir.Function], ir.Function]:
        """Return the functions that the loops of a function become, and the function with calls of them."""
        if not is_differentiated(function) or function.role is not ir.Role.PLAIN:
            return [], function
        body = statements(function)
        if not any(isinstance(s, (ir.For, ir.While)) for s in walk_stmts(body)):
            return [], function
        taken = {p.name for p in function.params} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
        names = Fresh(taken | {s.variable for s in walk_stmts(body) if isinstance(s, ir.For)})
        body = split_tuples(body, names)
        scope = _Scope(self, replace(function, body=body), names)
        changed = scope.block(body, {p.name for p in function.params}, ())
        return scope.made, replace(function, body=changed)


@dataclass(slots=True)
class _Scope:
    """Replaces the loops of one function.

    Attributes:
        all: The functions of the module.
        of: The function.
        names: Makes names of locals.
        made: The new functions.
        depth: The number of loops around the current statement.
        results: The values that loops return, as values of new locals: they carry gradient, too.
        counters: The values of the counters of the loops around the current statement.
    """

    all: _Replacer
    of: ir.Function
    names: Fresh
    made: list[ir.Function] = field(default_factory=list)
    depth: int = 0
    results: list[ir.Assign] = field(default_factory=list)
    counters: Mapping[str, Interval] = field(default_factory=dict)
    carrying: Carrying = field(init=False)

    def __post_init__(self) -> None:
        """Find the gradient flow."""
        self.carrying = Carrying(self.of, self.all.functions)

    def block(self, body: Block, before: set[str], after: tuple[Block, ...]) -> Block:
        """Rewrite a block. ``before`` are the names that are set, ``after`` is what may run after it."""
        result: list[ir.Stmt] = []
        before = set(before)
        for number, stmt in enumerate(body):
            rest = (body[number + 1 :], *after)
            if isinstance(stmt, (ir.For, ir.While)):
                loop = self._from_zero(stmt)
                result += self.loop(loop, rotated(loop, body[:number]), before, rest)
            else:
                result.append(map_blocks(stmt, partial(self._inner, before, rest)))
            before |= {t.name for s in walk_stmts((stmt,)) if isinstance(s, ir.Assign) and (t := root(s.target))}
        return tuple(result)

    def _inner(self, before: set[str], after: tuple[Block, ...], body: Block) -> Block:
        return self.block(body, before, after)

    def loop(
        self, given: ir.For | ir.While, stmt: ir.For | ir.While, before: set[str], after: tuple[Block, ...]
    ) -> Block:
        """Return the statements that take the place of a loop ``given``; ``stmt`` is it in the form to replace."""
        again = {t.name for s in walk_stmts(stmt.body) if isinstance(s, ir.Assign) and (t := root(s.target))}
        test: Block = (ir.While(stmt.condition, 1, ()),) if isinstance(stmt, ir.While) else ()
        inner = self._inside(stmt, before | again, ((*test, *stmt.body), *after))
        changed: ir.For | ir.While = replace(stmt, body=inner)
        unchanged = (changed if given is stmt else given,)
        if isinstance(stmt, ir.For) and stmt.unroll:
            return unchanged
        head: Block = ()
        tail: Block = ()
        left = self._leaving(changed)
        if left is not None:
            head, changed, tail = left
            before, after = before | {*stored_in(head)}, (tail, *after)
        reason = obstacle(changed)
        if reason:
            if wish_of(stmt):
                self._refuse(stmt, f"it {reason}")
            self._note(changed, Plan("keep", f"the loop {reason}"))
            return unchanged
        names = Fresh({*self.names.taken})  # of the loop's functions, which have none of this one's locals
        loop = read_loop(changed, before, after, self.carrying, self.names)
        begun, loop, ended = self._with_elements(loop, names, before, after) or ((), loop, ())
        if holds_nested_structs(loop):
            if wish_of(stmt):
                self._refuse(stmt, "it holds structs with structs in them")
            self._note(changed, Plan("keep", "the loop holds structs with structs in them"))
            return unchanged
        taken = loop.parameters() | {s.variable for s in walk_stmts((changed,)) if isinstance(s, ir.For)}
        try:
            together = self._may_share and isinstance(loop.stmt, ir.For) and loop.stmt.together
            plan = choose(loop, taken, _kept_inside(inner), together=together)
        except Unsuitable as problem:
            self._refuse(stmt, str(problem))
            return unchanged
        if is_active_loop(loop):
            self._note(changed, plan)
        if plan.way == "keep":
            return unchanged
        return (*head, *begun, *self._call(loop, plan), *ended, *tail)

    def _from_zero(self, stmt: ir.For | ir.While) -> ir.For | ir.While:
        """Return a loop that a tile may share as one that counts from 0, if it counts from a number by 1.

        ``for k in first .. end`` over the list of a tile becomes ``for turn in 0 .. end - first: k = first + turn``.
        """
        if not (self._may_share and isinstance(stmt, ir.For) and stmt.step == 1 and stmt.start.type == INT):
            return stmt
        constant = isinstance(stmt.start, ir.Const) and (stmt.start.value == 0 or not stmt.together)
        if constant or stmt.inverse is not None or stmt.unroll:
            return stmt  # where it counts from a constant, more is known of the index as it is
        turn = self.names.var("turn", INT)
        index = ir.Assign(ir.Var(stmt.variable, INT), binary("+", stmt.start, turn), stmt.span)
        count = binary("-", stmt.stop, stmt.start)
        return replace(stmt, variable=turn.name, start=ir.Const(0, INT), stop=count, body=(index, *stmt.body))

    @property
    def _may_share(self) -> bool:
        """Return True where a tile may share a loop: at the top of a kernel whose groups can."""
        return not self.depth and self.of.key in self.all.tiled

    def _inside(self, stmt: ir.For | ir.While, before: set[str], after: tuple[Block, ...]) -> Block:
        """Return the body of a loop with the statements that take the place of loops in it."""
        around = self.counters
        if isinstance(stmt, ir.For):
            self.counters = {n: i for n, i in {**around, stmt.variable: values_of(stmt)}.items() if i is not None}
        self.depth += 1
        inner = self.block(stmt.body, before, after)
        self.depth -= 1
        self.counters = around
        return inner

    def _with_elements(
        self, loop: Loop, names: Fresh, before: set[str], after: tuple[Block, ...]
    ) -> tuple[Block, Loop, Block] | None:
        """Return a loop with elements of arrays in place of large arrays, with what stands before and after it.

        None if it has none.
        """
        stmt = loop.stmt
        if not isinstance(stmt, ir.For) or wish_of(stmt) or self.of.key not in self.all.used:
            return None
        if not is_active_loop(loop) or arrays_of(loop) <= SHARED:
            return None
        head, stmt, tail = held_elements(stmt, self.carrying, self.names, self.counters)
        before, after = before | {*stored_in(head)}, (tail, *after)
        for changes in (True, False):
            own = Fresh({*names.taken, *stored_in(head)})
            found = elements_of(stmt, self.carrying, own, self.counters, changes=changes and not loop.breaks)
            made = read_loop(found.stmt, before, after, self.carrying, own)
            made = with_elements(made, found, before, after, self.carrying)
            if not made.changed or all(v.active and is_of_floats(v.local.type) for v in made.state):
                some = head or found.bases or found.read or found.changed
                return (head, made, tail) if some or (self._calls_loops(stmt) and not needed_in(made)) else None
        return None

    def _calls_loops(self, stmt: ir.For) -> bool:
        """Return True if a loop calls another one, which takes arrays whole: its gradients have to be added up."""
        made = {f.key for f in self.made}
        return any(isinstance(e, ir.Call) and e.function in made for e in body_exprs(stmt.body))

    def _leaving(self, stmt: ir.For | ir.While) -> tuple[Block, ir.For | ir.While, Block] | None:
        """Return a loop that leaves by ``break`` where it returned, with what stands before and after it.

        None if it does not return, or from a loop inside it.
        """
        returns = [s for s in walk_stmts(stmt.body) if isinstance(s, ir.Return)]
        if not returns or isinstance(self.of.result, Void) or _returns_in_loop(stmt.body):
            return None
        result, flag = self.names.var("result", self.of.result), self.names.var("returns", BOOL)

        def leave(block: Block) -> Block:
            collected: list[ir.Stmt] = []
            for one in block:
                if isinstance(one, ir.Return) and one.value is not None:
                    yes = ir.Const(value=True, type=BOOL)
                    collected += [ir.Assign(result, one.value, one.span), ir.Assign(flag, yes), ir.Break(one.span)]
                else:
                    collected.append(map_blocks(one, leave))
            return tuple(collected)

        head = (ir.Assign(result, zero(result.type), stmt.span), ir.Assign(flag, zero(BOOL), stmt.span))
        tail = (ir.If(flag, (ir.Return(result, stmt.span),), (), stmt.span),)
        parts = split_tuples((*head, replace(stmt, body=leave(stmt.body)), *tail), self.names)
        at, left = next((n, s) for n, s in enumerate(parts) if isinstance(s, (ir.For, ir.While)))
        self.results += [s for s in walk_stmts(left.body) if isinstance(s, ir.Assign)]
        self.carrying = Carrying(replace(self.of, body=(*statements(self.of), *self.results)), self.all.functions)
        return parts[:at], left, parts[at + 1 :]

    def _refuse(self, stmt: ir.For | ir.While, why: str) -> None:
        message = f"{wish_of(stmt)} is not possible for this loop: {why}"
        other = "leave inverse= out" if stmt.keep is None else "give another keep=, or leave it out"
        self.all.problems.append(Diagnostic("SA308", message, stmt.span, help=other))

    def _note(self, stmt: ir.For | ir.While, plan: Plan) -> None:
        self.all.choices.append(self._choice(stmt, plan))

    def _choice(self, stmt: ir.For | ir.While, plan: Plan) -> ir.LoopChoice:
        first = self.of.params[0].type if self.of.owner and self.of.params else None
        name = f"{first.name}_{self.of.name}" if isinstance(first, Struct) else self.of.name
        facts = (name, plan.way, plan.kept, plan.every, plan.reason, stmt.limit, stmt.span)
        return ir.LoopChoice(*facts, self.of.key)

    def _call(self, loop: Loop, plan: Plan) -> Block:
        """Add the functions of a loop, and return the statements that call them."""
        key = self.all.keys.name(f"{self.of.key}[loop]")
        word = self.of.name.rsplit(".", 1)[-1]
        title = "".join(part[:1].upper() + part[1:] for part in word.split("_"))
        state = state_of(loop, key, title)
        end = end_of(loop, plan, state, key, title)
        reads = uses(self.all.functions, loop.body)
        narrow = state_of(narrowed(loop), f"{key} iteration", f"{title}Iteration") if loop.changed else state
        made = LoopFunctions(loop, plan, state, end, key, word, reads, Fresh(loop.locals()), narrow)
        watched = tuple(v.name for v in made.watched)
        if inverse_of(loop.stmt) is None and loop.elements is None:
            choice = self._choice(loop.stmt, plan)
            together = isinstance(loop.stmt, ir.For) and loop.stmt.together
            self.all.replayed.append(
                ir.ReplayedLoop(key, plan.way, watched, made.counts_plainly, state.stops, together, choice)
            )
        self.made += made.all()
        self.all.functions |= {f.key: f for f in self.made}
        self.all.structs += structs_of(
            *dict.fromkeys(t for t in (state.type, narrow.type, end) if t not in {v.local.type for v in loop.state})
        )
        return self._statements(loop, made)

    def _statements(self, loop: Loop, made: LoopFunctions) -> Block:
        """Return the statements that take the place of a loop.

        In another loop, locals that are only added to start from zero and are added afterwards. So the outer loop also
        only adds to them.
        """
        state, span = made.state, loop.stmt.span
        asked = names_in(loop.stmt.condition) if isinstance(loop.stmt, ir.While) else set()
        reads = asked | read_in(loop.body)
        added = [v.local for v in loop.state if v.set_before and v.local.name not in reads]
        apart = {v for v in added if self.depth and adds_only(loop.body, v)}
        starts = (v.local if v.set_before and v.local not in apart else zero(v.local.type) for v in loop.state)
        result: list[ir.Stmt] = []
        if state.alone:
            (held,) = starts
            (local,) = state.locals
            target = self.names.var(f"{local.name}_added", local.type) if apart else local
        else:
            flag = (ir.Const(value=False, type=BOOL),) if state.stops else ()
            held = target = self.names.var("state", state.type)
            result.append(ir.Assign(target, ir.Construct((*starts, *flag), state.type, span), span))
        args = (held, *made.bounds, *(s.value for s in loop.shared))
        end = self.names.var("end", made.end)
        run = ir.NoDiff(ir.Call(f"{made.key} run", args, made.end, span), made.end, span)
        result.append(ir.Assign(end, run, span))
        result.append(ir.Assign(target, ir.Call(f"{made.key} loop", (*args, end), state.type, span), span))
        for v in loop.state:
            value = state.part(target, v.local)
            if v.local in apart:
                result.append(ir.Assign(v.local, add(v.local, value), span))
            elif v.used_after and value != v.local:
                result.append(ir.Assign(v.local, value, span))
        return tuple(result)


def _returns_in_loop(body: Block) -> bool:
    """Return True if a loop inside a block returns."""
    loops = [s for s in walk_stmts(body) if isinstance(s, (ir.For, ir.While))]
    return any(isinstance(s, ir.Return) for loop in loops for s in walk_stmts(loop.body))


def _kept_inside(body: Block) -> int:
    """Return the bytes that Slang keeps in an iteration, of the loops inside it."""
    return sum(4 * s.limit for s in walk_stmts(body) if isinstance(s, (ir.For, ir.While)))
