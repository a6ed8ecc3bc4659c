"""Find the state before an iteration from the state after it.

    velocity = velocity + force(place) * dt           place = place - velocity * dt
    place = place + velocity * dt              ->     velocity = velocity - force(place) * dt

    alpha = min(a[k], 0.99)                           alpha = min(a[k], 0.99)
    through = through * (1 - alpha)            ->     through = through / (1 - alpha)

The values of locals at each point of an iteration are known or not. An assignment gives its result if all that it
reads is known. An update ``x = x op e`` gives the earlier ``x`` if ``e`` and the later ``x`` are known. So values
become known one by one until the state before the iteration is.

Division is safe where the loop ends when ``x`` falls below a positive constant: ``if x < 1e-4: break``. Then ``x`` is
above it after every iteration but the last, whose state before is kept. Without that, ``x`` may underflow, and a zero
has no earlier value. Such locals are ``watched``: iterations from the first one that leaves |x| at or below ``LEAST``
are not undone. Additions to floats are undone up to rounding, and its errors may grow in unstable systems; such locals
count as ``drifting``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.assignment import sets_before_reading
from slangad.compiler.ir.types import BOOL, DOUBLE, FLOAT, Vector, is_floating, is_integral
from slangad.compiler.ir.walk import map_blocks, map_body_exprs, map_children, root, walk_stmts
from slangad.compiler.passes.replay_loops.read import names_in, reads_of, stored_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.types import Type

LEAST: Final = 1e-30
"""A float above it has all its digits. Smaller: products that lost digits are divided back. Larger: more iterations of
loops that go dark are computed again.
"""
Known = dict[tuple[str, int], ir.Var]
"""The local that holds a value, by the name and the version of the local in the loop."""


class NoUndo(Exception):  # noqa: N818  (it is an answer, not an error)
    """An iteration can't be undone; the message says why."""


@dataclass(frozen=True, slots=True)
class Undo:
    """How an iteration is undone.

    Attributes:
        body: The statements that find the earlier state.
        before: The locals that hold it, by the names of the state.
        drifting: The floats that are found by additions.
        watched: The floats that are found by division and may become too small for it.
    """

    body: Block
    before: dict[str, ir.Var]
    drifting: tuple[str, ...]
    watched: tuple[ir.Var, ...]


def undo_iteration(body: Block, needed: dict[str, ir.Var], whole: ir.Expr | None, names: Fresh) -> Undo:
    """Return how to find the needed part of the state before an iteration that ran to its end.

    Args:
        body: The body of the loop.
        needed: The locals to find.
        whole: The condition of a ``while``, which holds after every such iteration; None if there is none.
        names: Makes names of locals.

    Raises:
        NoUndo: There is no way, or none that is safe.
    """
    solver = _Solver(names, set(needed), _stored_once(body))
    floors = _floors(whole) if whole is not None else set()
    stmts, before = solver.block(_updated(completed(body), needed, names), {}, dict(needed), floors)
    missing = [name for name in needed if name not in before]
    if missing:
        raise NoUndo(solver.reasons.get(missing[0], f"{missing[0]} can't be found from its value after an iteration"))
    made = _live(stmts, {v.name for v in before.values()})
    return Undo(made, before, tuple(dict.fromkeys(solver.drifting)), tuple(dict.fromkeys(solver.watched)))


def _live(stmts: Iterable[ir.Stmt], wanted: set[str]) -> Block:
    """Return the statements that the wanted locals need."""
    kept: list[ir.Stmt] = []
    for stmt in reversed([*stmts]):
        if wanted & {*stored_in((stmt,))}:
            live = map_blocks(stmt, partial(_live, wanted=wanted)) if isinstance(stmt, ir.If) else stmt
            kept.append(live)
            wanted = wanted | {*reads_of(live)}
    return tuple(reversed(kept))


# --- iterations that run to their end ---


def completed(body: Block) -> Block:
    """Return what an iteration does that does not leave the loop, without ``break`` and ``continue``."""
    result: list[ir.Stmt] = []
    for number, stmt in enumerate(body):
        match stmt:
            case ir.If(condition, then, other):
                if _ends(then, ir.Break):
                    result.append(_guard(condition))
                    return (*result, *completed((*other, *body[number + 1 :])))
                if _ends(other, ir.Break):
                    result.append(_guard(ir.Unary("!", condition, BOOL)))
                    return (*result, *completed((*then, *body[number + 1 :])))
                if _ends(then, ir.Continue) or _ends(other, ir.Continue):
                    rest = body[number + 1 :]
                    yes = then[:-1] if _ends(then, ir.Continue) else (*then, *rest)
                    no = other[:-1] if _ends(other, ir.Continue) else (*other, *rest)
                    return (*result, replace(stmt, then=completed(yes), other=completed(no)))
                if any(isinstance(s, ir.Continue) for s in _own(stmt)):
                    raise NoUndo("a branch in a branch continues with the next iteration")
                result.append(replace(stmt, then=completed(then), other=completed(other)))
            case ir.Continue():
                return tuple(result)
            case _:
                result.append(stmt)
    return tuple(result)


def _updated(body: Block, state: Mapping[str, ir.Var], names: Fresh) -> Block:
    """Return a block in which a state is updated where its next value is computed, not where that is stored.

    left = through * (1 - alpha)                  old = through
    if left < 1e-4: break                         through = through * (1 - alpha)
    light = light + alpha * through        ->     left = through
    through = left                                if through < 1e-4: break
                                                  light = light + alpha * old
    """
    body = tuple(map_blocks(stmt, lambda inner: _updated(inner, state, names)) for stmt in body)
    for number, stmt in enumerate(body):
        match stmt:
            case ir.Assign(ir.Var(name) as target, ir.Var(other) as value) if name in state and other not in state:
                stores = [n for n, s in enumerate(body) if {name, other} & {*stored_in((s,))}]
            case _:
                continue
        computed = body[stores[0]]
        if not (stores[1:] == [number] and isinstance(computed, ir.Assign) and computed.target == value):
            continue
        if isinstance(computed.value, ir.Var):
            continue  # states change places: moving one store would ask for the other, on and on
        old = names.var(f"{name}_old", target.type)
        between = map_body_exprs(body[stores[0] + 1 : number], partial(_with, variables={name: old}))
        rest = map_body_exprs((*between, *body[number + 1 :]), partial(_with, variables={other: target}))
        update = (ir.Assign(old, target, stmt.span), replace(computed, target=target), ir.Assign(value, target))
        return _updated((*body[: stores[0]], *update, *rest), state, names)
    return body


def _guard(condition: ir.Expr) -> ir.If:
    """Return a marker that a condition does not hold: an empty branch."""
    return ir.If(condition, (), ())


def _ends(block: Block, kind: type) -> bool:
    return bool(block) and isinstance(block[-1], kind)


def _own(stmt: ir.Stmt) -> list[ir.Stmt]:
    """Return the statements in the branches of a statement, without those of loops."""
    if not isinstance(stmt, ir.If):
        return [stmt]
    return [part for block in (stmt.then, stmt.other) for s in block for part in _own(s)]


# --- the values that are known ---


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement with the versions that it reads and writes."""

    stmt: ir.Stmt
    reads: dict[str, int]
    writes: dict[str, int]


@dataclass(slots=True)
class _Solver:
    """Finds earlier values. ``state`` are the locals to find, ``once`` those that one statement stores into."""

    names: Fresh
    state: set[str]
    once: set[str]
    drifting: list[str] = field(default_factory=list)
    watched: list[ir.Var] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def block(
        self, body: Block, before: dict[str, ir.Var], after: dict[str, ir.Var], floors: set[str]
    ) -> tuple[list[ir.Stmt], dict[str, ir.Var]]:
        """Return statements, and the locals of ``after`` whose values before the block they find.

        ``floors`` are the locals that are above a positive constant at the end of the block.
        """
        versions: dict[str, int] = {}
        steps = [_step(stmt, versions, self.state) for stmt in body]
        known: Known = {(name, 0): value for name, value in before.items()}
        known |= {(name, versions.get(name, 0)): value for name, value in after.items()}
        made: list[ir.Stmt] = []
        waiting = dict(enumerate(steps))
        moved = True
        while moved:
            moved = False
            for number, step in list(waiting.items()):
                if self._forward(step, known, made):
                    moved = True
                    del waiting[number]
                elif self._backward(step, known, made, _floors_at(body, number, floors)):
                    moved = True
                    if not self._updated_by(step, known):
                        del waiting[number]
        return made, {name: known[name, 0] for name in after if (name, 0) in known}

    def _forward(self, step: _Step, known: Known, made: list[ir.Stmt]) -> bool:
        """Run a statement if all that it reads is known."""
        varying = {name: version for name, version in step.reads.items() if self._varies(name, version)}
        changed = {name: version for name, version in step.reads.items() if name in step.writes}
        if any((name, version) not in known for name, version in {**varying, **changed}.items()):
            return False
        if isinstance(step.stmt, ir.Comment) or not step.writes:
            return True
        taken = {name: self.names.var(name, _type_of(step.stmt, name)) for name in step.writes}
        for name in step.writes:
            known[name, step.writes[name]] = taken[name]
        whole = isinstance(step.stmt, ir.Assign) and isinstance(step.stmt.target, ir.Var)
        if not whole:
            for name, local in taken.items():
                if name in step.reads:
                    made.append(ir.Assign(local, known[name, step.reads[name]], step.stmt.span))
        made.append(_renamed(step.stmt, {n: known[n, v] for n, v in step.reads.items() if (n, v) in known}, taken))
        return True

    def _varies(self, name: str, version: int) -> bool:
        """Return True if a local is not the same in all iterations."""
        return name in self.state or version > 0

    def _updated_by(self, step: _Step, known: Known) -> list[str]:
        """Return the locals that a statement updates and of which only the later value is known."""
        return [
            name
            for name, version in step.writes.items()
            if name in self.state and (name, version) in known
            if name in step.reads and (name, step.reads[name]) not in known
        ]

    def _backward(self, step: _Step, known: Known, made: list[ir.Stmt], floors: set[str]) -> bool:
        """Undo the updates of a statement that can be undone with what is known."""
        updated = self._updated_by(step, known)
        others = {n: v for n, v in step.reads.items() if n not in updated}
        unknown = {n for n, v in others.items() if (n, v) not in known and self._varies(n, v)}
        known_values = {n: known[n, v] for n, v in others.items() if (n, v) in known}
        after = {name: known[name, step.writes[name]] for name in updated}
        before = {name: self.names.var(f"{name}_before", value.type) for name, value in after.items()}
        match step.stmt:
            case ir.Assign(ir.Var(name) as target, value) if before and not unknown:
                inverse = self._inverse(value, target, after[name], floors)
                found = set() if inverse is None else {name}
                if inverse is not None:
                    value = _with(inverse, {**known_values, after[name].name: after[name]})
                    made.append(ir.Assign(before[name], value, step.stmt.span))
            case ir.If() as branch if before:
                made_there, found = self._undo_branch(branch, unknown, known_values, (after, before), floors)
                made += made_there
            case _:
                found = set()
        for name, local in before.items():
            if name in found:
                known[name, step.reads[name]] = local
            else:
                self.names.release(local)
        return bool(found)

    def _undo_branch(
        self,
        branch: ir.If,
        unknown: set[str],
        known_values: dict[str, ir.Var],
        updates: tuple[dict[str, ir.Var], dict[str, ir.Var]],
        floors: set[str],
    ) -> tuple[list[ir.Stmt], set[str]]:
        """Undo the updates on both sides of a branch. Return the statements, and the locals that both find.

        Args:
            branch: The branch.
            unknown: What it reads and what is not known. Statements that read none of it are undone.
            known_values: What else it reads.
            updates: The locals with the later values, and those that take the earlier ones.
            floors: See ``block``.
        """
        after, before = updates
        read = names_in(branch.condition)
        for name in after.keys() & read:  # of the earlier value, which is not known yet
            self.reasons.setdefault(name, f"{name} decides how it changes")
        if read & (unknown | after.keys()):
            return [], set()
        inside = replace(self, state=self.state | unknown)
        then, then_values = inside.block(branch.then, known_values, after, floors)
        other, other_values = inside.block(branch.other, known_values, after, floors)
        found = [name for name in after if name in then_values and name in other_values]
        yes = (*then, *(ir.Assign(before[name], then_values[name], branch.span) for name in found))
        no = (*other, *(ir.Assign(before[name], other_values[name], branch.span) for name in found))
        return [ir.If(_with(branch.condition, known_values), yes, no, branch.span)] if found else [], set(found)

    def _inverse(self, value: ir.Expr, x: ir.Var, after: ir.Var, floors: set[str]) -> ir.Expr | None:
        """Return the earlier ``x`` of ``x = value``; None if ``value`` is no update that can be undone."""
        match value:
            case ir.Binary("+", left, right) if left == x and x.name not in names_in(right):
                return self._drift(x, ir.Binary("-", after, right, x.type, value.span))
            case ir.Binary("+", left, right) if right == x and x.name not in names_in(left):
                return self._drift(x, ir.Binary("-", after, left, x.type, value.span))
            case ir.Binary("-", left, right) if left == x and x.name not in names_in(right):
                return self._drift(x, ir.Binary("+", after, right, x.type, value.span))
            case ir.Binary("*", left, right) if left == x and self._divides(x, right, floors):
                return ir.Binary("/", after, right, x.type, value.span)
            case ir.Binary("*", left, right) if right == x and self._divides(x, left, floors):
                return ir.Binary("/", after, left, x.type, value.span)
            case _:
                self.reasons.setdefault(x.name, f"{x.name} does not change by a sum or a product")
                return None

    def _drift(self, x: ir.Var, value: ir.Expr) -> ir.Expr | None:
        if is_floating(x.type):
            self.drifting.append(x.name)
        elif not is_integral(x.type):
            return None
        return value

    def _divides(self, x: ir.Var, factor: ir.Expr, floors: set[str]) -> bool:
        element = x.type.element if isinstance(x.type, Vector) else x.type
        if element not in (FLOAT, DOUBLE) or factor.type != x.type or x.name in names_in(factor):
            return False
        if x.name in floors:
            return True
        if x.name not in self.once:
            self.reasons.setdefault(x.name, f"{x.name} is multiplied at two places and may become too small to divide")
            return False
        self.watched.append(x)
        return True


def _floors_at(body: Block, number: int, floors: set[str]) -> set[str]:
    """Return the locals that are above a positive constant after a statement, by checks before they change again."""
    result: set[str] = set()
    changed: set[str] = set()
    for stmt in body[number + 1 :]:
        if isinstance(stmt, ir.If) and not stmt.then and not stmt.other:
            result |= _floors(ir.Unary("!", stmt.condition, BOOL)) - changed
        changed |= {*stored_in((stmt,))}
    return result | (floors - changed)


def _step(stmt: ir.Stmt, versions: dict[str, int], state: set[str]) -> _Step:
    """Return a statement with its versions, and count those that it writes. It does not read what it sets first."""
    reads = {name: versions.get(name, 0) for name in reads_of(stmt) if not sets_before_reading((stmt,), name)}
    writes: dict[str, int] = {}
    for name in stored_in((stmt,)):
        if not (isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var)) and (
            name in versions or name in state
        ):
            reads.setdefault(name, versions.get(name, 0))
        versions[name] = versions.get(name, 0) + 1
        writes[name] = versions[name]
    return _Step(stmt, reads, writes)


def _type_of(stmt: ir.Stmt, name: str) -> Type:
    """Return the type of a local that a statement stores into."""
    targets = (root(part.target) for part in walk_stmts((stmt,)) if isinstance(part, ir.Assign))
    return next(target.type for target in targets if target is not None and target.name == name)


def _with(expr: ir.Expr, variables: dict[str, ir.Var]) -> ir.Expr:
    """Return an expression with other locals."""
    if isinstance(expr, ir.Var):
        return variables.get(expr.name, expr)
    return map_children(expr, lambda child: _with(child, variables))


def _renamed(stmt: ir.Stmt, reads: dict[str, ir.Var], writes: dict[str, ir.Var]) -> ir.Stmt:
    """Return a statement that reads and writes other locals."""
    if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var):
        return ir.Assign(writes[stmt.target.name], _with(stmt.value, reads), stmt.span)
    both = {**reads, **writes}
    return map_body_exprs((stmt,), lambda e: _with(e, both))[0]


def _stored_once(body: Block) -> set[str]:
    """Return the locals into which one statement stores."""
    targets = (root(s.target) for s in walk_stmts(body) if isinstance(s, ir.Assign))
    counts = Counter(target.name for target in targets if target is not None)
    return {name for name, count in counts.items() if count == 1}


def _floors(condition: ir.Expr) -> set[str]:
    """Return the locals that are above a positive constant where a condition holds."""
    match condition:
        case ir.Binary("&&", left, right):
            return _floors(left) | _floors(right)
        case ir.Unary("!", ir.Binary("||", left, right)):
            return _floors(ir.Unary("!", left, BOOL)) | _floors(ir.Unary("!", right, BOOL))
        case ir.Unary("!", ir.Unary("!", inner)):
            return _floors(inner)
        case (
            ir.Binary(">" | ">=", ir.Var(name), ir.Const(value=value))
            | ir.Binary("<" | "<=", ir.Const(value=value), ir.Var(name))
            | ir.Unary("!", ir.Binary("<" | "<=", ir.Var(name), ir.Const(value=value)))
            | ir.Unary("!", ir.Binary(">" | ">=", ir.Const(value=value), ir.Var(name)))
        ) if value >= LEAST:  # fmt: skip
            return {name}
        case _:
            return set()
