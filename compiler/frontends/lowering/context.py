"""The mutable state of lowering one body: types of locals, names that are set, pending comments, fresh names."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from slangad.compiler.frontends.lowering.aliases import AliasLog
from slangad.compiler.frontends.reading.problems import Problems, Rejected
from slangad.compiler.ir.nodes import Comment, Expr, Function, Role, Stmt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.entities import BodyScope, RefusedEntity
    from slangad.compiler.frontends.reading.locations import SourceLocations
    from slangad.compiler.frontends.reading.signatures import CallSignature
    from slangad.compiler.ir.intervals import Interval
    from slangad.compiler.ir.types import Tensor, Type


UsedConstant: TypeAlias = "tuple[str, Type, tuple[int | float | bool, ...]]"
"""A constant's name, type and scalars in memory order."""


@dataclass(slots=True)
class Constants:
    """The constants (key to name, type, scalars) and integer powers that the bodies of a module use."""

    used: dict[str, UsedConstant] = field(default_factory=dict)
    powers: dict[str, Function] = field(default_factory=dict)

    def weak_value(self, key: str) -> float:
        """Return the value of a scalar constant."""
        return float(self.used[key][2][0])


@dataclass(slots=True)
class LoopFlow:
    """The names that are set at early exits of a loop, at the start of its next iteration, and at its end."""

    breaks: list[frozenset[str]] = field(default_factory=list)
    continues: list[frozenset[str]] = field(default_factory=list)
    ended: frozenset[str] | None = None
    left_flag: str = ""


@dataclass(slots=True)
class Context:
    """One round over one body.

    Attributes:
        params: Parameter names with the type seen inside (a pair in a forward derivative).
        locals: Types found by earlier rounds; ``None`` marks a local whose only assignments were rejected.
        inferred: Types found in this round.
        names: Every name the body assigns.
        assigned: Names that are set on every path to the current point; meaningless while ``reachable`` is false.
        calls: Keys of functions called, with the first location.
        declared: Types of locals that are annotated.
        private_counters: Loop variables that only their loops set and nothing reads afterwards.
        unread: True if the body never reads ``_``: what it takes has no use.
        bound_in_loop: Names bound inside the loop whose head is being lowered.
        copies: Expressions that share nothing although they look like a name.
        in_kernel: The dimensions of the body's kernel, or 0.
        shared: The memory of the group, by name.
        steady: Locals that one statement of the body sets.
        intervals: The values of locals that are known integers at the current point.
    """

    locations: SourceLocations
    problems: Problems
    scope: BodyScope
    signature: CallSignature
    role: Role
    params: dict[str, Type]
    names: frozenset[str]
    locals: dict[str, Type | None]
    constants: Constants
    lower_expr: Callable[[Context, ast.expr, Type | None], Expr]
    in_kernel: int = 0
    shared: dict[str, Tensor] = field(default_factory=dict)
    steady: frozenset[str] = frozenset()
    intervals: dict[str, Interval] = field(default_factory=dict)
    declared: dict[str, Type] = field(default_factory=dict)
    private_counters: frozenset[str] = frozenset()
    unread: bool = False
    shadows: dict[str, str] = field(default_factory=dict)
    inferred: dict[str, Type | None] = field(default_factory=dict)
    assigned: frozenset[str] = frozenset()
    reachable: bool = True
    bound_in_loop: frozenset[str] = frozenset()
    loops: list[LoopFlow] = field(default_factory=list)
    calls: dict[str, Span] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)
    aliases: AliasLog = field(default_factory=AliasLog)
    taken: set[str] = field(default_factory=set)
    copies: list[Expr] = field(default_factory=list)

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node."""
        return self.locations.span(node)

    def error(self, code: str, span: Span, message: str, *, label: str = "", help: str = "") -> Rejected:  # noqa: A002
        """Report an error; return the exception that abandons the expression."""
        return self.problems.error(code, span, message, label=label, help=help)

    def copy(self, value: Expr) -> Expr:
        """Mark a value as one that shares nothing with the name it is read from."""
        copied = replace(value)
        self.copies.append(copied)
        return copied

    def annotation(self, node: ast.expr) -> Type:
        """Return the type that an annotation in the body names.

        Raises:
            Rejected: when it names none; reported.
        """
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and (name.id in self.params or name.id in self.names):
                raise self.error(
                    "SA017",
                    self.span(name),
                    f"'{name.id}' is not known when the file is loaded",
                    label="a value of the body",
                    help="types are made of constants",
                )
        type_ = self.scope.annotation(node)
        if type_ is None:
            raise Rejected(ast.unparse(node))
        return type_

    def refused(self, what: RefusedEntity, span: Span) -> Rejected:
        """Report an entity that can't be used, unless it was reported already; return the exception to raise."""
        return Rejected(what.message) if what.reported else self.error(what.code, span, what.message, help=what.help)

    def expr(self, node: ast.expr, expected: Type | None = None) -> Expr:
        """Lower one expression; ``expected`` is a hint for tuples only."""
        return self.lower_expr(self, node, expected)

    def exprs(self, nodes: Sequence[ast.expr]) -> list[Expr]:
        """Lower several expressions; report the errors of all before raising."""
        done: list[Expr] = []
        failed: Rejected | None = None
        for node in nodes:
            try:
                done.append(self.expr(node))
            except Rejected as rejected:  # noqa: PERF203  (one wrong expression must not hide another)
                failed = rejected
        if failed is not None:
            raise failed
        return done

    def fresh(self, wish: str) -> str:
        """Return a name no parameter, local or earlier fresh name has."""
        name, count = wish, 2
        while name in self.taken:
            name, count = f"{wish}_{count}", count + 1
        self.taken.add(name)
        return name

    def comments_before(self, line: int) -> list[Stmt]:
        """Return the pending comments before a line."""
        result: list[Stmt] = []
        while self.comments and self.comments[0][0] < line:
            at, text = self.comments.pop(0)
            result.append(Comment(text, self.locations.point(at, 1)))
        return result
