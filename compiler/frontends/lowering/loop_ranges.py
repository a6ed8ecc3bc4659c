"""The iterations of a counted loop: start, stop, step and a bound on the trip count, from ``range``."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.frontends.lowering.conversions import coerce
from slangad.compiler.frontends.lowering.intervals import interval_of, most_iterations, values_of_counter
from slangad.compiler.ir.nodes import Binary, Const, Expr
from slangad.compiler.ir.types import INT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.ir.intervals import Interval


_ALL: Final = ("max_iters", "unroll", "keep", "inverse")
_OPTIONS: Final = {"range": (), "sa_range": _ALL, "group_range": ("max_iters",)}
"""The options of each form that counts."""


@dataclass(frozen=True, slots=True)
class LoopIterations:
    """The iterations of a counted loop; ``exact`` is their number if known, ``limit`` their largest number.

    ``together`` says that a group should run the loop.
    """

    start: Expr
    stop: Expr
    step: int
    limit: int
    exact: int | None
    unroll: bool = False
    keep: int | None = None
    inverse: ast.expr | None = None
    limit_formula: Expr | str | None = None
    together: bool = False

    @staticmethod
    def counted(number: int, span: Span) -> LoopIterations:
        """Return ``number`` iterations from 0."""
        return LoopIterations(Const(0, INT, span), Const(number, INT, span), 1, number, number)

    def values(self, known: Mapping[str, Interval]) -> Interval | None:
        """Return the values of the loop variable; None if they are not known."""
        start, stop = interval_of(self.start, known), interval_of(self.stop, known)
        return values_of_counter(start, stop, self.step) if start and stop else None

    def reversed(self) -> LoopIterations | None:
        """Return the same iterations, last first; None if their number is not known and no other bounds give them."""
        if self.exact is None:
            return self._with_bounds_exchanged()
        start, count = static_int(self.start) or 0, self.exact or 0
        last = start + (count - 1) * self.step
        span = self.start.span
        before_stop, before_start = (_before(bound) if self.step == 1 else None for bound in (self.stop, self.start))
        return LoopIterations(
            Const(last, INT, span, before_stop),
            Const(last - count * self.step, INT, span, before_start),
            -self.step,
            self.limit,
            self.exact,
            self.unroll,
            self.keep,
            self.inverse,
            together=self.together,
        )

    def _with_bounds_exchanged(self) -> LoopIterations | None:
        """Return ``range(stop - step, start - step, -step)``, which is right for steps of 1 and -1."""
        start, stop = (_moved(bound, -self.step) for bound in (self.stop, self.start))
        fit = all(abs(b.value) < 2**31 for b in (start, stop) if isinstance(b, Const))
        return replace(self, start=start, stop=stop, step=-self.step) if fit and abs(self.step) == 1 else None


def _moved(bound: Expr, by: int) -> Expr:
    """Return an integer plus a number."""
    match bound:
        case Const(value):
            return Const(int(value) + by, INT, bound.span)
        case Binary("+" | "-" as op, left, Const(value)):
            by += int(value) if op == "+" else -int(value)
            return _moved(left, by)
        case _ if by == 0:
            return bound
        case _:
            return Binary("+" if by > 0 else "-", bound, Const(abs(by), INT, bound.span), INT, bound.span)


def _before(bound: Expr) -> Expr | None:
    """Return the formula of the integer before a bound; None if the bound has none."""
    if not isinstance(bound, Const) or not isinstance(bound.formula, Expr):
        return None
    return Binary("-", bound, Const(1, INT), INT)


def range_iterations(ctx: Context, node: ast.Call, name: str) -> LoopIterations:
    """Read ``range(a, b, step)``, ``sa.range(n, max_iters=8, keep=4)``, ``sa.group_range(n, max_iters=8)``.

    Raises:
        Rejected: if the number of iterations has no bound.
    """
    word = name.removeprefix("sa_")
    options = _options(ctx, node, word, _OPTIONS[name])
    if not 1 <= len(node.args) <= 3:
        raise ctx.error("SA015", ctx.span(node.func), f"{word} takes 1 to 3 arguments, not {len(node.args)}")
    bounds = [
        coerce(ctx, e, INT, ctx.span(n), what=f"a bound of {word}", code="SA014")
        for e, n in zip(ctx.exprs(node.args), node.args, strict=True)
    ]
    step = _step(ctx, node, bounds)
    start = bounds[0] if len(bounds) > 1 else Const(0, INT, ctx.span(node))
    stop = bounds[1] if len(bounds) > 1 else bounds[0]
    start, stop = (_as_constant(ctx, bound) for bound in (start, stop))
    exact = _trip_count(start, stop, step)
    unroll = _unroll(ctx, options.get("unroll"))
    keep = _keep(ctx, options["keep"]) if "keep" in options else None
    inverse = options.get("inverse")
    if inverse is not None and keep is not None:
        raise ctx.error("SA015", ctx.span(inverse), "a loop takes keep or inverse, not both")
    if inverse is not None and unroll:
        raise ctx.error("SA015", ctx.span(inverse), "a loop that is unrolled takes no inverse")
    if "max_iters" in options:
        bound = named_constant(ctx, options["max_iters"], "max_iters")
        limit = int(bound.value)
        if limit < 1:
            raise ctx.error("SA021", ctx.span(options["max_iters"]), "the bound must be at least 1")
        if exact is not None and exact > limit:
            raise ctx.error(
                "SA021", ctx.span(options["max_iters"]), f"the loop runs {exact} times, more than its bound of {limit}"
            )
        limit = limit if exact is None else exact
        return LoopIterations(start, stop, step, limit, exact, unroll, keep, inverse, bound.formula)
    if exact is None:
        first, last = interval_of(start, ctx.intervals), interval_of(stop, ctx.intervals)
        most = most_iterations(first, last, step) if first and last else None
        if most is not None:
            return LoopIterations(start, stop, step, most, None if most else 0, unroll, keep, inverse)
        raise ctx.error(
            "SA021",
            ctx.span(node),
            "the number of iterations is not known when the file is loaded",
            label="unbounded",
            help=f"give a bound: sa.{word}({', '.join(ast.unparse(a) for a in node.args)}, max_iters=64)",
        )
    return LoopIterations(start, stop, step, exact, exact, unroll, keep, inverse)


def _options(ctx: Context, node: ast.Call, word: str, known: tuple[str, ...]) -> dict[str | None, ast.expr]:
    """Return the options of a call by name.

    Raises:
        Rejected: if there is one that the form does not take.
    """
    options = {k.arg: k.value for k in node.keywords}
    wrong = [*sorted(str(k) for k in options if k not in _ALL), *(str(k) for k in options if k not in known)]
    if wrong:
        elsewhere = wrong[0] in _ALL
        *others, last = [o for o in _ALL if o not in known] if elsewhere else known or _ALL
        listed = f"{', '.join(others)} and {last}" if others else last
        hint = f"write sa.range(…) for {listed}" if elsewhere else f"it takes {listed}"
        raise ctx.error("SA015", ctx.span(node.func), f"{word} does not take '{wrong[0]}'", help=hint)
    return options


def _as_constant(ctx: Context, bound: Expr) -> Expr:
    """Return a bound whose value is known as a constant."""
    if isinstance(bound, Const):
        return bound
    interval = interval_of(bound, ctx.intervals)
    return bound if interval is None or interval.only is None else Const(interval.only, INT, bound.span)


def _step(ctx: Context, node: ast.Call, bounds: list[Expr]) -> int:
    if len(bounds) < 3:
        return 1
    step = static_int(bounds[2])
    if step is None or step == 0:
        raise ctx.error("SA021", ctx.span(node.args[2]), "the step of range must be a constant other than 0")
    return step


def _trip_count(start: Expr, stop: Expr, step: int) -> int | None:
    first, last = static_int(start), static_int(stop)
    return None if first is None or last is None else len(range(first, last, step))


def _unroll(ctx: Context, node: ast.expr | None) -> bool:
    if node is None:
        return False
    value = ctx.expr(node)
    if not isinstance(value, Const) or not isinstance(value.value, bool):
        raise ctx.error("SA014", ctx.span(node), "unroll must be True or False")
    return value.value


def _keep(ctx: Context, node: ast.expr) -> int:
    keep = whole_constant(ctx, node, "keep")
    if keep < 0:
        raise ctx.error("SA021", ctx.span(node), "keep must be at least 0")
    return keep


def whole_constant(ctx: Context, node: ast.expr, what: str) -> int:
    """Return an integer known when the file is loaded.

    Raises:
        Rejected: if it is not one.
    """
    return int(named_constant(ctx, node, what).value)


def named_constant(ctx: Context, node: ast.expr, what: str) -> Const:
    """Return the same as a constant, with the user's formula of it.

    Raises:
        Rejected: if it is not one.
    """
    expr = ctx.expr(node)
    interval = interval_of(expr, ctx.intervals)
    value = interval.only if interval else None
    if value is None:
        raise ctx.error("SA021", ctx.span(node), f"{what} must be an integer known when the file is loaded")
    return Const(value, INT, ctx.span(node), expr.formula if isinstance(expr, Const) else None)
