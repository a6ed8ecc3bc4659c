"""Build the functions that a loop becomes: one iteration, the loop, and the derivatives of the loop.

    step(state, k, a)           the body; returns the next state
    run(state, a)               for k in 0 .. n: state = step(state, k, a)        its value is not differentiated
    loop(state, a, end)         returns end, the result of run; its derivatives are those of the loop

Reverse mode of ``loop`` walks back from the end that ``run`` found, so that it does not run the loop a second time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, accumulate, call, part, zero
from slangad.compiler.ir.types import BOOL, INT, Array, DiffPair, Vector, carries_gradient
from slangad.compiler.ir.verify.module import gradient_type
from slangad.compiler.ir.walk import body_exprs, map_blocks
from slangad.compiler.passes.replay_loops.choose import read_in
from slangad.compiler.passes.replay_loops.read import names_in
from slangad.compiler.passes.replay_loops.state import State, is_passive
from slangad.compiler.passes.replay_loops.undo import LEAST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type
    from slangad.compiler.passes.replay_loops.choose import Plan
    from slangad.compiler.passes.replay_loops.read import Element, Loop, Shared

_ONE = ir.Const(1, INT)
_ZERO = ir.Const(0, INT)


def binary(op: str, left: ir.Expr, right: ir.Expr, type_: Type = INT) -> ir.Expr:
    """Return an operation, or its value if both operands are constant integers and the operation is simple."""
    match op, left, right:
        case ("+" | "-", _, ir.Const(value=0)) | ("*", _, ir.Const(value=1)):
            return left
        case ("+", ir.Const(value=0), _) | ("*", ir.Const(value=1), _):
            return right
        case ("-", ir.Const(value=a), ir.Const(value=b)):
            return ir.Const(int(a) - int(b), INT)
        case ("/", ir.Const(value=a), ir.Const(value=b)) if a >= 0:
            return ir.Const(int(a) // int(b), INT)
        case _:
            return ir.Binary(op, left, right, type_)


@dataclass(slots=True)
class LoopFunctions:
    """Builds the functions of one loop.

    Attributes:
        loop: The loop.
        plan: How reverse mode gets its states.
        state: Its state as a value.
        end: The type of the result of ``run``.
        key: The start of the keys of the functions.
        name: The start of their names.
        reads: The loop reads memory that gets a gradient.
        names: Names of locals that none of the loop's locals has.
        narrow: The state as an iteration takes it: elements in place of the arrays of which it changes them.
    """

    loop: Loop
    plan: Plan
    state: State
    end: Type
    key: str
    name: str
    reads: bool
    names: Fresh
    narrow: State
    params: tuple[ir.Param, ...] = field(init=False)
    step_params: tuple[ir.Param, ...] = field(init=False)
    held: ir.Var = field(init=False)
    count: ir.Expr = field(init=False)
    start: ir.Expr = field(init=False)

    def __post_init__(self) -> None:
        """Name the parameters."""
        state = self.state
        self.held = state.locals[0] if state.alone else self.names.var("state", state.type)
        shared = tuple(map(_param_of, self.loop.shared))
        stmt = self.loop.stmt
        bounds: list[ir.Param] = []
        self.start, self.count = _ZERO, ir.Const(self.loop.limit, INT, formula=self.loop.stmt.limit_formula)
        if isinstance(stmt, ir.For):
            self.start = stmt.start
            if stmt.stop == self.count and stmt.start == _ZERO and stmt.step == 1:
                self.count = stmt.stop  # its name is the user's
            if not isinstance(stmt.start, ir.Const):
                self.start = self.names.var("start", INT)
                bounds.append(ir.Param(self.start.name, INT))
            if not (isinstance(stmt.start, ir.Const) and isinstance(stmt.stop, ir.Const)):
                self.count = self.names.var("count", INT)
                bounds.append(ir.Param(self.count.name, INT))
        self.params = (ir.Param(self.held.name, state.type), *bounds, *shared)
        narrow = self.narrow.locals[0] if self.narrow.alone else self.names.scratch("state", self.narrow.type)
        taken = narrow if self.loop.changed else self.held
        index = (ir.Param(stmt.variable, INT),) if isinstance(stmt, ir.For) else ()
        elements = (ir.Param(e.local.name, e.local.type) for e in self.read)
        self.step_params = (ir.Param(taken.name, taken.type), *index, *map(_param_of, self.loop.passed), *elements)

    # --- names and pieces ---

    @property
    def read(self) -> tuple[Element, ...]:
        """Return the elements of arrays that an iteration only reads."""
        return self.loop.elements.read if self.loop.elements else ()

    @property
    def bounds(self) -> tuple[ir.Expr, ...]:
        """Return the arguments for the loop's bounds, in the function that has the loop."""
        stmt = self.loop.stmt
        if not isinstance(stmt, ir.For):
            return ()
        result: list[ir.Expr] = [] if isinstance(stmt.start, ir.Const) else [stmt.start]
        if isinstance(self.count, ir.Var):
            result.append(iterations(stmt))
        return tuple(result)

    @property
    def indexed(self) -> bool:
        """Return True if an iteration has an index."""
        return isinstance(self.loop.stmt, ir.For)

    @property
    def counts_plainly(self) -> bool:
        """Return True if the index counts from 0 by 1."""
        stmt = self.loop.stmt
        return isinstance(stmt, ir.For) and stmt.step == 1 and self.start == _ZERO

    @property
    def wraps(self) -> bool:
        """Return True if the end is more than the last state, such as the number of iterations."""
        return self.end != self.state.type

    @property
    def keeps_before(self) -> bool:
        """Return True if the end has the state before the last iteration, from which an undo starts."""
        return self.plan.undo is not None and self.loop.counts and not self.watched

    @property
    def watched(self) -> tuple[ir.Var, ...]:
        """Return the locals that may become too small to undo an iteration."""
        return self.plan.undo.watched if self.plan.undo is not None else ()

    def index(self, iteration: ir.Expr) -> tuple[ir.Expr, ...]:
        """Return the argument for the index in an iteration, if there is one."""
        stmt = self.loop.stmt
        if not isinstance(stmt, ir.For):
            return ()
        return (binary("+", self.start, binary("*", iteration, ir.Const(stmt.step, INT))),) if stmt.step > 0 else (
            binary("-", self.start, binary("*", iteration, ir.Const(-stmt.step, INT))),
        )  # fmt: skip

    def iteration(self) -> ir.Var:
        """Return the counter of a loop over all iterations: the user's, if it counts from 0 by 1."""
        stmt = self.loop.stmt
        if isinstance(stmt, ir.For) and self.counts_plainly:
            return ir.Var(stmt.variable, INT)
        return ir.Var(self.names.scratch("turn", INT).name, INT)

    def step(self, state: ir.Expr, iteration: ir.Expr) -> ir.Call:
        """Return the next state, as an iteration returns it."""
        elements = (self.place(e, e.base, iteration) for e in self.read)
        passed = (s.local for s in self.loop.passed)
        args = (self.narrowed(state, iteration), *self.index(iteration), *passed, *elements)
        return ir.Call(f"{self.key} step", args, self.narrow.type)

    def place(self, element: Element, base: ir.Expr, iteration: ir.Expr) -> ir.Expr:
        """Return the element of an iteration in a value that stands for its array."""
        stmt = self.loop.stmt
        assert isinstance(stmt, ir.For)  # noqa: S101  (others have no elements)
        return element.at(base, stmt.variable, *self.index(iteration))

    def narrowed(self, state: ir.Expr, iteration: ir.Expr) -> ir.Expr:
        """Return a state, or the cotangent of one, as an iteration takes it."""
        changed = self.loop.changed
        if not changed:
            return state
        apart = {e.local for e in changed}
        parts = [self.state.part(state, v) for v in self.narrow.locals if v not in apart]
        parts += [self.place(e, self.state.part(state, e.base), iteration) for e in changed]
        return parts[0] if self.narrow.alone else ir.Construct(tuple(parts), self.narrow.type)

    def put(self, state: ir.Expr, narrow: ir.Expr, iteration: ir.Expr, *, elements: bool = True) -> Block:
        """Return the stores of what an iteration returns, or of cotangents, into a state."""
        if not self.loop.changed:
            return (ir.Assign(state, narrow),)
        apart = {e.local for e in self.loop.changed}
        whole = [v for v in self.narrow.locals if v not in apart]
        stores = [(self.state.part(state, v), v) for v in whole]
        if elements:
            stores += [(self.place(e, self.state.part(state, e.base), iteration), e.local) for e in self.loop.changed]
        return tuple(ir.Assign(to, self.narrow.part(narrow, v)) for to, v in stores)

    def advance(self, state: ir.Var, iteration: ir.Expr, *, elements: bool = True) -> Block:
        """Return an iteration that changes a state; without ``elements`` its arrays stay as they were."""
        if not self.loop.changed:
            return (ir.Assign(state, self.step(state, iteration)),)
        stepped = self.names.scratch("next", self.narrow.type)
        stores = self.put(state, stepped, iteration, elements=elements)
        return (ir.Assign(stepped, self.step(state, iteration)), *stores)

    def first_elements(self, state: ir.Var) -> Block:
        """Return stores of the arrays as they were before the loop: so an iteration finds the elements it changes."""
        needed = read_in(self.loop.body)
        arrays = [e.base for e in self.loop.changed if e.local.name in needed]
        return tuple(ir.Assign(self.state.part(state, a), self.state.part(self.held, a)) for a in arrays)

    def make(self, kind: str, word: str, params: tuple[ir.Param, ...], result: Type, body: Block) -> ir.Function:
        """Return a function of the loop."""
        return ir.Function(
            f"{self.key} {kind}",
            f"{self.name}_{word}",
            params,
            result,
            body,
            span=self.loop.stmt.span,
            reads=self.reads,
        )

    def all(self) -> tuple[ir.Function, ...]:
        """Return the functions, callees first."""
        made = [self.step_function()]
        if self.plan.on_host:
            made.append(self.plain_function())
        made.append(self.run_function())
        if self.plan.undo is not None:
            made.append(self.undo_function())
        return (*made, self.loop_function(), self.backward_function(), self.forward_function())

    # --- the loop ---

    def step_function(self) -> ir.Function:
        """Return the function of one iteration."""
        narrow, taken = self.narrow, self.step_params[0]
        unpacked = narrow.unpack(ir.Var(taken.name, taken.type))
        body = (*unpacked, *self._leave(self.loop.body), ir.Return(narrow.pack()))
        made = self.make("step", "step", self.step_params, narrow.type, body)
        return replace(made, doc=("One iteration of the loop.",))

    def _leave(self, block: Block) -> Block:
        """Return a block that returns the state where it left the iteration or the loop."""
        result: list[ir.Stmt] = []
        for stmt in block:
            match stmt:
                case ir.Break(span):
                    return (*result, ir.Return(self.narrow.pack(stops=True), span))
                case ir.Continue(span):
                    return (*result, ir.Return(self.narrow.pack(), span))
                case ir.If():
                    result.append(map_blocks(stmt, self._leave))
                case _:
                    result.append(stmt)
        return tuple(result)

    def run_function(self) -> ir.Function:
        """Return the function that runs the loop."""
        iteration, held, state = self.iteration(), self.held, self.state
        body: list[ir.Stmt] = []
        inner: list[ir.Stmt] = []
        ran = self.names.scratch("ran", INT)
        before = self.names.scratch("before", state.type)
        undoable, undo_from = self.names.scratch("lit", INT), self.names.scratch("edge", state.type)
        if self.loop.counts:
            body.append(ir.Assign(ran, _ZERO))
        if self.keeps_before:
            body.append(ir.Assign(before, held))
        if isinstance(self.loop.stmt, ir.While):
            asked = names_in(self.loop.stmt.condition)
            inner += state.unpack(held, asked)
            inner.append(ir.If(ir.Unary("!", self.loop.stmt.condition, BOOL), (ir.Break(),), ()))
        if self.keeps_before:
            inner.append(ir.Assign(before, held))
        inner += self.advance(held, iteration)
        if self.loop.counts:
            inner.append(ir.Assign(ran, binary("+", ran, _ONE)))
        if self.loop.breaks:
            inner.append(ir.If(state.stopped(held), (ir.Break(),), ()))
        if self.watched:
            body += [ir.Assign(undoable, _ZERO), ir.Assign(undo_from, held)]
            inner.append(ir.Comment("Iterations can be undone as long as what they have left is not close to 0."))
            grown = (ir.Assign(undoable, binary("+", iteration, _ONE)), ir.Assign(undo_from, held))
            inner.append(ir.If(self._with_undoable_state(ir.Binary("==", undoable, iteration, BOOL)), grown, ()))
        body.append(self._over(iteration, _ZERO, self.count, inner))
        end: ir.Expr = held
        if self.wraps:
            parts = (undo_from, undoable) if self.watched else (before,) if self.keeps_before else ()
            end = ir.Construct((held, *parts, *((ran,) if self.loop.counts else ())), self.end)
        params = tuple(replace(p, no_diff=False) for p in self.params)
        made = self.make("run", "run", params, self.end, (*body, ir.Return(end)))
        doc = ("The loop itself. Its result is kept for reverse mode.",)
        on_host = f"{self.key} plain" if self.plan.on_host else ""
        return replace(made, differentiable=False, prefer="checkpoint", doc=doc, on_host=on_host)

    def _with_undoable_state(self, condition: ir.Expr) -> ir.Expr:
        """Return the condition, and that the state is large enough to undo the iteration."""
        for local in self.watched:
            value = self.state.part(self.held, local)
            parts = [part(value, n) for n in range(local.type.size)] if isinstance(local.type, Vector) else [value]
            for one in parts:
                above = ir.Binary(">", call("abs", one.type, one), ir.Const(LEAST, one.type), BOOL)
                condition = ir.Binary("&&", condition, above, BOOL)
        return condition

    def _over(
        self,
        iteration: ir.Var,
        start: ir.Expr,
        stop: ir.Expr,
        body: Block | list[ir.Stmt],
        step: int = 1,
        limit: int = 0,
    ) -> ir.For:
        """Return a loop of at most ``limit`` iterations; 0 means as many as the loop has."""
        stmt = self.loop.stmt
        formula = None if limit else stmt.limit_formula
        limit = limit or self.loop.limit
        return ir.For(
            iteration.name, start, stop, step, limit, bounded=False, unroll=False, body=tuple(body), span=stmt.span,
            limit_formula=formula, together=isinstance(stmt, ir.For) and stmt.together,
        )  # fmt: skip

    def loop_function(self) -> ir.Function:
        """Return the function whose derivatives are those of the loop."""
        end = ir.Var(self.names.scratch("end", self.end).name, self.end)
        made = self.make("loop", "loop", (*self.params, self._end()), self.state.type, (ir.Return(self._last(end)),))
        derivative = ir.Custom(f"{self.key} backward", f"{self.key} forward")
        on_host = f"{self.key} plain" if self.plan.on_host else ""
        return replace(made, derivative=derivative, doc=self.listings(), on_host=on_host)

    def _end(self) -> ir.Param:
        end = self.names.scratch("end", self.end)
        return ir.Param(end.name, self.end, no_diff=carries_gradient(self.end))

    def _last(self, end: ir.Expr) -> ir.Expr:
        return ir.Member(end, "state", self.state.type) if self.wraps else end

    def ran(self, end: ir.Expr) -> ir.Expr:
        """Return the number of iterations that ran."""
        return ir.Member(end, "ran", INT) if self.loop.counts else self.count

    # --- derivatives ---

    def forward_function(self) -> ir.Function:
        """Return the derivative that runs the loop with a tangent."""
        iteration = self.iteration()
        pair = ir.Var(self.held.name, DiffPair(self.state.type))
        end = ir.Var(self.names.scratch("end", self.end).name, self.end)

        def paired(param: ir.Param) -> ir.Param:
            return replace(param, type=DiffPair(param.type)) if _flows(param) else param

        params = tuple(paired(p) for p in self.params)
        pairs = {p.name: ir.Var(p.name, p.type) for p in params}
        passed = (pairs[s.local.name] for s in self.loop.passed)
        elements = (
            self._paired(e.local, *(self.place(e, _half(pairs[e.base.name], half), iteration) for half in "pd"))
            for e in self.read
        )
        args = (*self.index(iteration), *passed, *elements)
        body = self._forward_body(pair, iteration, self.ran(end), args)
        made = self.make("forward", "loop_fwd", (*params, self._end()), pair.type, body)
        doc = ("For forward mode, which does not call the function above: the loop itself, with tangents.",)
        return replace(made, differentiable=False, role=ir.Role.FORWARD, of=f"{self.key} loop", doc=doc)

    def _forward_body(self, pair: ir.Var, iteration: ir.Var, ran: ir.Expr, args: tuple[ir.Expr, ...]) -> Block:
        """Return the loop with tangents. Arrays of which iterations change elements are no pair, but two arrays."""
        if not self.loop.changed:
            call_ = ir.ForwardCall(f"{self.key} step", (pair, *args), pair.type)
            return (self._over(iteration, _ZERO, ran, (ir.Assign(pair, call_),)), ir.Return(pair))
        halves = {half: self.names.scratch(word, self.state.type) for half, word in (("p", "primal"), ("d", "tangent"))}
        held = self._paired(self.narrow, *(self.narrowed(v, iteration) for v in halves.values()))
        stepped = self.names.scratch("stepped", held.type)
        inner: list[ir.Stmt] = [ir.Assign(stepped, ir.ForwardCall(f"{self.key} step", (held, *args), held.type))]
        for half, state in halves.items():
            inner += self.put(state, _half(stepped, half), iteration)
        begin = (ir.Assign(state, _half(pair, half)) for half, state in halves.items())
        over = self._over(iteration, _ZERO, ran, inner)
        return (*begin, over, ir.Return(self._paired(self.state, *halves.values())))

    @staticmethod
    def _paired(of: ir.Var | State, primal: ir.Expr, tangent: ir.Expr) -> ir.MakePair:
        return ir.MakePair(primal, tangent, DiffPair(of.type))

    def backward_function(self) -> ir.Function:
        """Return the derivative that walks back through the iterations."""
        flowing = tuple(p for p in self.params if _flows(p))
        d_state = ir.Var(self.names.scratch("d_out", self.state.type).name, self.state.type)
        gradients = [d_state, *(self.names.var(f"d_{p.name}", p.type) for p in flowing[1:])]
        zeros = tuple(ir.Assign(g, zero(g.type)) for g in gradients[1:])
        end = ir.Var(self.names.scratch("end", self.end).name, self.end)
        if self.plan.way == "recompute":
            walk = self._recompute(gradients, _ZERO, self.held)
        elif self.watched:
            undoable, undo_from = ir.Member(end, "lit", INT), ir.Member(end, "edge", self.state.type)
            recomputed = self._recompute(gradients, undoable, undo_from)
            walk = (
                ir.If(ir.Binary("<", undoable, self.ran(end), BOOL), recomputed, ()),
                *self._walk_back(gradients, undoable, undo_from),
            )
        else:
            first = ir.Member(end, "before", self.state.type) if self.keeps_before else self._last(end)
            walk = self._walk_back(gradients, self.ran(end), first)
        result = gradient_type(flowing)
        value = gradients[0] if len(gradients) == 1 else ir.Construct(tuple(gradients), result)
        params = (*self.params, self._end(), ir.Param(d_state.name, d_state.type))
        made = self.make("backward", "loop_bwd", params, result, (*zeros, *walk, ir.Return(value)))
        return replace(made, differentiable=False, role=ir.Role.BACKWARD, of=f"{self.key} loop")

    def _pull(self, state: ir.Expr, iteration: ir.Expr, gradients: list[ir.Var]) -> Block:
        """Return reverse mode of one iteration, from its state before: cotangents go back, gradients add up."""
        flowing = tuple(p for p in self.step_params if _flows(p))
        types = gradient_type(flowing)
        args = (*self.step(state, iteration).args, self.narrowed(gradients[0], iteration))
        call = ir.BackwardCall(f"{self.key} step", args, types)
        if len(flowing) == 1 and not self.loop.changed:
            return (ir.Assign(gradients[0], call),)
        held = self.names.scratch("gradients", types)
        found: list[ir.Expr] = [held]
        if len(flowing) > 1:
            found = [ir.Member(held, f"item{n}", p.type) for n, p in enumerate(flowing)]
        totals: dict[str, ir.Expr] = {
            p.name: g for p, g in zip((p for p in self.params if _flows(p)), gradients, strict=True)
        }
        totals |= {e.local.name: self.place(e, totals[e.base.name], iteration) for e in self.read}
        made: list[ir.Stmt] = [ir.Assign(held, call), *self.put(gradients[0], found[0], iteration)]
        for param, gradient in zip(flowing[1:], found[1:], strict=True):
            made += accumulate(totals[param.name], gradient, self.names)
        return tuple(made)

    def _walk_back(self, gradients: list[ir.Var], ran: ir.Expr, first: ir.Expr) -> Block:
        """Return the walk from a state that undoes iterations, or needs no state."""
        iteration = self.iteration()
        at = self.names.scratch("current", self.state.type)
        inner: list[ir.Stmt] = []
        if self.plan.undo is not None:
            undo = ir.Assign(at, ir.Call(f"{self.key} undo", self.step(at, iteration).args, at.type))
            last = binary("-", ran, _ONE)
            inner.append(ir.If(ir.Binary("<", iteration, last, BOOL), (undo,), ()) if self.keeps_before else undo)
        inner += self._pull(at, iteration, gradients)
        down = self._over(iteration, binary("-", ran, _ONE), ir.Const(-1, INT), inner, -1)
        return (ir.Assign(at, first), *self.first_elements(at), down)

    def plain_function(self) -> ir.Function:
        """Return the loop that Slang differentiates, for the CPU."""
        iteration, held = self.iteration(), self.held
        inner: list[ir.Stmt] = [ir.Assign(held, self.step(held, iteration))]
        body = (self._over(iteration, _ZERO, self.count, inner), ir.Return(held))
        made = self.make("plain", "plain", self.params, self.state.type, body)
        return replace(made, doc=("The loop on the CPU: its states stay in the cache, so Slang keeps them.",))

    def undo_function(self) -> ir.Function:
        """Return the function that finds the state before an iteration from the state after it."""
        assert self.plan.undo is not None  # noqa: S101  (the caller has looked)
        step = self.step_function()
        undo, state = self.plan.undo, self.state
        read = {e.name for e in body_exprs(undo.body) if isinstance(e, ir.Var)}
        unpack = state.unpack(self.held, read)
        if state.alone:
            value: ir.Expr = undo.before[state.locals[0].name]
            body: Block = (*unpack, *undo.body, ir.Return(value))
        else:
            parts = tuple(undo.before.get(v.name, ir.Member(self.held, v.name, v.type)) for v in state.locals)
            flag = (ir.Const(value=False, type=BOOL),) if state.stops else ()
            body = (*unpack, *undo.body, ir.Return(ir.Construct((*parts, *flag), state.type)))
        inputs = tuple(replace(p, no_diff=False) for p in step.params)
        made = self.make("undo", "undo", inputs, state.type, body)
        return replace(made, differentiable=False, doc=("The state before an iteration, from the state after it.",))

    def _recompute(self, gradients: list[ir.Var], begin: ir.Expr, start: ir.Expr) -> Block:
        """Return both sweeps from a state on: one that keeps every k-th state, one that goes back block by block."""
        every, names, state = ir.Const(self.plan.every, INT), self.names, self.state
        end = ir.Var(names.scratch("end", self.end).name, self.end)
        ran, iteration = self.ran(end), self.iteration()
        at = names.scratch("current", state.type)
        block, first, last = (names.scratch(word, INT) for word in ("block", "first", "last"))
        blocks = -(-self.loop.limit // self.plan.every)
        kept = [names.var(f"kept_{v.name}", Array(v.type, blocks)) for v in self.plan.needed]
        inside = [names.var(f"states_{v.name}", Array(v.type, self.plan.every)) for v in self.plan.needed]

        def entry(array: ir.Var, index: ir.Expr) -> ir.Index:
            assert isinstance(array.type, Array)  # noqa: S101  (made above)
            return ir.Index(array, index, array.type.element)

        def save(arrays: list[ir.Var], index: ir.Expr) -> Block:
            pairs = zip(arrays, self.plan.needed, strict=True)
            return tuple(ir.Assign(entry(a, index), state.part(at, v)) for a, v in pairs)

        def load(arrays: list[ir.Var], index: ir.Expr) -> Block:
            pairs = zip(arrays, self.plan.needed, strict=True)
            return tuple(ir.Assign(state.part(at, v), entry(a, index)) for a, v in pairs)

        go = self.advance(at, iteration, elements=False)
        since = binary("-", iteration, begin)
        is_kept = ir.Binary("==", ir.Binary("%", since, every, INT), _ZERO, BOOL)
        number = ir.Binary("/", since, every, INT)
        sweep = self._over(iteration, begin, ran, (ir.If(is_kept, save(kept, number), ()), *go))
        place = binary("-", iteration, first)
        again = self._over(iteration, first, last, (*save(inside, place), *go))
        back = self._over(
            iteration, binary("-", last, _ONE), binary("-", first, _ONE),
            (*load(inside, place), *self._pull(at, iteration, gradients)), -1,
        )  # fmt: skip
        walk = self._over(
            block, binary("/", binary("-", binary("-", ran, begin), _ONE), every), ir.Const(-1, INT),
            (
                ir.Assign(first, binary("+", begin, ir.Binary("*", block, every, INT))),
                ir.Assign(last, call("min", INT, ran, ir.Binary("+", first, every, INT))),
                *load(kept, block), again, back,
            ), -1, blocks,
        )  # fmt: skip
        zeros = tuple(ir.Assign(array, zero(array.type)) for array in (*kept, *inside))
        words = f"one state of every {self.plan.every}" if self.plan.every > 1 else "each state"
        forth, back_again = (
            ir.Comment(text)
            for text in (
                f"The loop again: {words} is kept.",
                f"Blocks of {self.plan.every} iterations, last first: their states again, then their gradients.",
            )
        )
        return (*zeros, ir.Assign(at, start), forth, sweep, back_again, walk)

    # --- the comment ---

    def listings(self) -> tuple[str, ...]:
        """Return the comment of the loop: what reverse mode does, in three small listings."""
        state = ", ".join(v.name for v in self.state.locals)
        index = f"{self.loop.stmt.variable}, " if isinstance(self.loop.stmt, ir.For) else ""
        pull = f"d_state, d_… += bwd_diff(step)({{}}, {index}…, d_state)"
        again = (
            "for each kept state, last first: states of its block again, then",
            f"    {pull.format('states[…]')}",
        )
        each = f"one state of every {self.plan.every}" if self.plan.every > 1 else "each state"
        back = f"last first: state = undo(state, {index}…)"
        forward, reverse = {
            "sum": ("the same; nothing is kept", (f"for …, last first: {pull.format('state')}",)),
            "invert": ("the same; nothing is kept", (f"for …, {back}", f"    {pull.format('state')}")),
            "recompute": ("the same", (f"the loop again, which keeps {each}", *again)),
        }[self.plan.way]
        if self.watched:
            forward = "the same; end.edge is the state after end.lit iterations, which can be undone"
            reverse = (
                f"the iterations after those again, if there are any, which keep {each}",
                *again,
                f"from end.edge on, for the first end.lit iterations, {back}",
                f"    {pull.format('state')}",
            )
        return (
            f"The loop over {state}, which keeps {self._size()} for reverse mode ({self.plan.way}).",
            f"original:       for …: state = step(state, {index}…)",
            f"forward sweep:  {forward}",
            f"reverse sweep:  {reverse[0]}",
            *(f"                {line}" for line in reverse[1:]),
        )

    def _size(self) -> str:
        return f"{self.plan.kept} bytes" if self.plan.kept else "nothing"


def _flows(param: ir.Param) -> bool:
    return not param.no_diff and carries_gradient(param.type)


def _param_of(shared: Shared) -> ir.Param:
    return ir.Param(shared.local.name, shared.local.type, no_diff=is_passive(shared.local, shared.active))


def _half(pair: ir.Var, half: str) -> ir.Expr:
    """Return the primal or the tangent of a pair."""
    assert isinstance(pair.type, DiffPair)  # noqa: S101  (the caller has one)
    return ir.Member(pair, half, pair.type.primal)


def iterations(stmt: ir.For) -> ir.Expr:
    """Return the number of iterations of a loop, at most its limit."""
    limit = ir.Const(stmt.limit, INT, formula=stmt.limit_formula)
    up = stmt.step > 0
    distance = binary("-", stmt.stop, stmt.start) if up else binary("-", stmt.start, stmt.stop)
    size = abs(stmt.step)
    if size > 1:
        distance = ir.Binary("/", ir.Binary("+", distance, ir.Const(size - 1, INT), INT), ir.Const(size, INT), INT)
    return call("min", INT, distance, limit)


def uses(functions: Mapping[str, ir.Function], body: Block) -> bool:
    """Return True if statements read memory that gets a gradient, or call a function that does."""

    def reading(expr: ir.Expr) -> bool:
        return isinstance(expr, (ir.Read, ir.Sample)) or (isinstance(expr, ir.Call) and functions[expr.function].reads)

    return any(reading(e) for e in body_exprs(body))
