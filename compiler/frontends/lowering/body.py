"""Lower one body: rounds of lowering until all locals have a type, then checks of the body."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.context import Constants, Context
from slangad.compiler.frontends.lowering.conversions import fits
from slangad.compiler.frontends.lowering.expressions import lower_expr
from slangad.compiler.frontends.lowering.statements import block, finish
from slangad.compiler.frontends.reading.problems import Problems
from slangad.compiler.ir.nodes import Assign, Role, Stmt, Var
from slangad.compiler.ir.types import Type, is_floating, strengthen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.entities import BodyScope
    from slangad.compiler.frontends.reading.locations import SourceLocations
    from slangad.compiler.frontends.reading.signatures import CallSignature

_MAX_ROUNDS: Final = 16


@dataclass(frozen=True, slots=True)
class BodySource:
    """A body to lower.

    Attributes:
        locations: The locations in its file.
        statements: The body, docstring included.
        name_span: The location of the function's name.
        first_line: First line of the body in the parsed text, for comments.
        last_line: Last line.
    """

    locations: SourceLocations
    statements: Sequence[ast.stmt]
    name_span: Span
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class LoweredBody:
    """A body in IR and the keys of the functions it calls, with the first location of each."""

    statements: tuple[Stmt, ...]
    calls: dict[str, Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BodyRole:
    """The parameters of a body as seen inside, the role of its function, and the axes of its kernel's domain."""

    params: dict[str, Type]
    passive: frozenset[str] = frozenset()
    role: Role = Role.PLAIN
    dims: int = 0


def role_of(signature: CallSignature, role: Role = Role.PLAIN, dims: int = 0) -> BodyRole:
    """Return the role of a function's body; ``dims`` is the number of axes of a kernel's domain, else 0."""
    params = signature.all_params
    passive = frozenset(p.name for p in params if p.no_diff)
    return BodyRole({p.name: p.type for p in params}, passive, role, dims)


def lower_body(
    source: BodySource,
    scope: BodyScope,
    signature: CallSignature,
    role: BodyRole,
    constants: Constants,
    problems: Problems,
) -> LoweredBody:
    """Lower a body; errors go to ``problems``."""
    names = stored_names(source.statements)
    private = frozenset(private_counters(source.statements))
    steady = names_stored_once(source.statements)
    unread = not is_read("_", source.statements)
    comments = list(whole_line_comments(source))
    locals_: dict[str, Type | None] = {}
    declared: dict[str, Type] = {}
    for turn in itertools.count():
        nested = Problems(problems.wording)
        ctx = Context(
            source.locations, nested, scope, signature, role.role, role.params, names, locals_, constants, lower_expr,
            in_kernel=role.dims, steady=steady, declared=declared, private_counters=private, comments=list(comments),
            unread=unread, assigned=frozenset(role.params), taken={*role.params, *names},
        )  # fmt: skip
        statements = _round(ctx, source, role)
        merged = _merge(locals_, ctx.inferred)
        strong = {n: None if t is None else strengthen(t) for n, t in merged.items()}
        if merged == locals_ == strong or turn == _MAX_ROUNDS:
            _report_aliases(ctx, role)
            for diagnostic in nested.sorted():
                problems.add(diagnostic)
            return LoweredBody(statements, ctx.calls)
        locals_ = strong if merged == locals_ else merged
    raise AssertionError("endless")


def _merge(before: dict[str, Type | None], after: dict[str, Type | None]) -> dict[str, Type | None]:
    merged: dict[str, Type | None] = {}
    for name, type_ in after.items():
        known = before.get(name)
        merged[name] = known if known is not None and type_ is not None and fits(type_, known) else type_
    return merged


def _round(ctx: Context, source: BodySource, role: BodyRole) -> tuple[Stmt, ...]:
    prologue: list[Stmt] = []
    if role.role is Role.PLAIN:
        for name in sorted(ctx.names & role.passive):
            type_ = role.params[name]
            if is_floating(type_):
                ctx.shadows[name] = ctx.fresh(f"{name}_value")
                prologue.append(Assign(Var(ctx.shadows[name], type_), Var(name, type_)))
    body = (*prologue, *block(ctx, source.statements))
    finish(ctx, body, source.name_span)
    return body


def _report_aliases(ctx: Context, role: BodyRole) -> None:
    for write in ctx.aliases.conflicts(frozenset(role.params)):
        if write.other == "":
            what = f"writing into '{write.name}' would change the caller's value in Python"
            if write.name not in role.params:
                what = (
                    f"'{write.name}' shares its value with a parameter or constant, which this would change in Python"
                )
        else:
            what = f"'{write.name}' and '{write.other}' name the same value in Python, and this changes both"
        ctx.error(
            "SA023",
            write.span,
            what,
            label="changes a shared value",
            help=f"make a copy first: {write.name} = sa.copy(…)",
        )


def stored_names(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return every name a body assigns."""
    return frozenset(
        n.id for stmt in body for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


def names_stored_once(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the names that one place of a body assigns."""
    nodes = (n for stmt in body for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    counts = Counter(node.id for node in nodes)
    return frozenset(name for name, count in counts.items() if count == 1)


def is_read(name: str, body: Sequence[ast.stmt]) -> bool:
    """Return True if a body reads a name; ``name += 1`` does."""
    nodes = [n for stmt in body for n in ast.walk(stmt)]
    read = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    updated = [n.target for n in nodes if isinstance(n, ast.AugAssign)]
    return any(isinstance(n, ast.Name) and n.id == name for n in (*read, *updated))


def private_counters(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the loop variables that only their loops set and only their bodies read."""
    loops = [n for stmt in body for n in ast.walk(stmt) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    for name in {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}:
        matching = [loop for loop in loops if isinstance(loop.target, ast.Name) and loop.target.id == name]
        targets = {id(loop.target) for loop in matching}
        inside = {id(n) for loop in matching for stmt in loop.body for n in ast.walk(stmt)}
        nested = any(id(loop) in inside for loop in matching)
        uses = [n for stmt in body for n in ast.walk(stmt) if isinstance(n, ast.Name) and n.id == name]
        if not nested and all(id(n) in targets or (isinstance(n.ctx, ast.Load) and id(n) in inside) for n in uses):
            yield name


def whole_line_comments(source: BodySource) -> Iterator[tuple[int, str]]:
    """Yield the comments of a body that fill their line: line and text without ``#``."""
    lines = source.locations.text.split("\n")[source.first_line - 1 : source.last_line]
    if not any(line.lstrip().startswith("#") for line in lines):
        return
    reader = io.StringIO(source.locations.text).readline
    try:
        for token in tokenize.generate_tokens(reader):
            line = token.start[0]
            if line > source.last_line:
                return
            if token.type == tokenize.COMMENT and line >= source.first_line and token.line.lstrip().startswith("#"):
                yield line, token.string.lstrip("#").strip()
    except (tokenize.TokenError, IndentationError):
        return
