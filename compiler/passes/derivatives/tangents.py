"""Write the tangent of a function as a function: forward mode by source transformation, for second derivatives.

    fn f(x) { y = sin(x)            ->    fn f_tangent(x, tangent_x) { tangent_y = cos(x) * tangent_x
              return y * y }                                           y = sin(x)
                                                                       return tangent_y * y + y * tangent_y }

Slang differentiates the result in reverse mode. It crashes on most functions that call ``fwd_diff``
(docs/slang-notes.md).
Every derivative policy must be lowered; a custom forward function becomes the tangent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NoReturn

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, add, divide, multiply, subtract, zero
from slangad.compiler.ir.gradient_flow import Carrying, stops_gradient
from slangad.compiler.ir.types import DiffPair, Tensor, Texture, carries_gradient
from slangad.compiler.ir.verify.module import gets_gradient
from slangad.compiler.ir.walk import map_blocks, map_children, map_stmt_exprs, root, statements, walk_stmts
from slangad.compiler.passes.derivatives.partials import intrinsic_tangent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.build import Block

PREFIX: Final = "tangent_"
"""The beginning of the names of tangents."""


class NoTangentError(Exception):
    """A function has no tangent that Slang can differentiate: the reason, and its location."""

    def __init__(self, reason: str, span: Span) -> None:
        self.reason, self.span = reason, span
        super().__init__(reason)


@dataclass(slots=True)
class Tangents:
    """The tangents of a module's functions so far, callees first, by the key and the active parameters of each.

    With ``exact``, functions without tensors have a tangent for each set of active parameters too, and the gradient of
    a tangent flows to all parameters.
    """

    functions: Mapping[str, ir.Function]
    keys: Fresh
    exact: bool = False
    made: dict[tuple[str, tuple[bool, ...]], ir.Function] = field(default_factory=dict)

    def of(self, key: str, active: tuple[bool, ...]) -> ir.Function:
        """Return the tangent of a function: its parameters, then the tangents of the active ones.

        Args:
            key: The key of the function.
            active: The parameters that move. A function without tensors gets the tangents of the others too, unless
                ``exact``.

        Raises:
            NoTangentError: There is none.
        """
        function = self.functions[key]
        active = tuple(a and gets_gradient(p) for a, p in zip(active, function.params, strict=True))
        if not self.exact and not any(isinstance(p.type, (Tensor, Texture)) for p in function.params):
            active = tuple(map(gets_gradient, function.params))
        if (key, active) not in self.made:
            self.made[key, active] = self.of_kernel(function, active)
        return self.made[key, active]

    def of_kernel(self, function: ir.Function, active: tuple[bool, ...]) -> ir.Function:
        """Return the tangent of a kernel's function for exactly these parameters, which is not kept.

        Raises:
            NoTangentError: There is none.
        """
        params = tuple(
            p if a or not gets_gradient(p) else replace(p, no_diff=True)
            for a, p in zip(active, function.params, strict=True)
        )
        narrowed = replace(function, params=params)
        body, free = self._body(narrowed)
        moved = tuple(replace(p, name=free[p.name]) for a, p in zip(active, params, strict=True) if a)
        suffix = "" if active == tuple(map(gets_gradient, function.params)) else f" {''.join('01'[a] for a in active)}"
        return replace(
            function,
            key=self.keys.name(f"{function.key}:tangent{suffix}"),
            name=f"{function.name}_tangent",
            params=(*(function.params if self.exact else params), *moved),
            body=body,
            differentiable=True,
            derivative=ir.Automatic(),
            role=ir.Role.PLAIN,
            of="",
            owner="",
            static=False,
            doc=(f"The change of {function.name} along a direction.",),
            ranges=(),
        )

    def _body(self, function: ir.Function) -> tuple[Block, dict[str, str]]:
        if any(p.direction != "in" for p in function.params):
            raise NoTangentError(f"{function.name} has an out or inout parameter", function.span)
        if not isinstance(function.body, tuple):
            why = "is written in Slang, and Slang crashes on most second derivatives"
            reason = f"{function.name} {why}: describe it in Python or YAML"
            raise NoTangentError(reason, function.span)
        if isinstance(function.derivative, ir.Custom):
            return self._custom(function, function.derivative)
        names = _tangent_names(function)
        return _Body(function, self, names).block(function.body), names

    def _custom(self, function: ir.Function, custom: ir.Custom) -> tuple[Block, dict[str, str]]:
        """Return the custom forward function without its pairs."""
        assert custom.forward is not None  # noqa: S101  (policies are lowered)
        forward = self.functions[custom.forward]
        if not isinstance(forward.body, tuple):
            raise NoTangentError(f"the derivative of {function.name} is written in Slang", forward.span)
        names = _tangent_names(forward)
        own = {p.name: q.name for p, q in zip(forward.params, function.params, strict=True)}
        renamed = {**names, **{own[p]: names[p] for p in own}}
        body = _Unpaired(self, own, names).block(forward.body)
        return body, renamed


def _tangent_names(function: ir.Function) -> dict[str, str]:
    """Return the names of the tangents of parameters and locals."""
    used = {p.name: None for p in function.params}
    for stmt in walk_stmts(statements(function)):
        if isinstance(stmt, ir.Let):
            used.setdefault(stmt.name)
        if isinstance(stmt, ir.For):
            used.setdefault(stmt.variable)
        if isinstance(stmt, ir.Assign) and (target := root(stmt.target)) is not None:
            used.setdefault(target.name)
    fresh = Fresh(set(used))
    return {name: fresh.name(f"{PREFIX}{name}") for name in used}


class _Body:
    """The statements of a function beside those of its tangent."""

    def __init__(self, function: ir.Function, tangents: Tangents, names: Mapping[str, str]) -> None:
        self.function, self.tangents, self.names = function, tangents, names
        self.carrying = Carrying(function, tangents.functions)

    def block(self, body: Block) -> Block:
        return tuple(made for stmt in body for made in self._stmt(stmt))

    def _stmt(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        primal = map_blocks(map_stmt_exprs(stmt, self.primal), self.block)
        match stmt:
            case ir.Let(name, type_, value, span) if self.carrying.carries(ir.Var(name, type_)):
                yield ir.Let(self.names[name], type_, None if value is None else self.value(value), span)
            case ir.Assign(target, value) if self._is_active(target):
                yield replace(stmt, target=self._target(self.primal(target)), value=self.value(value))
            case ir.Return(value, span) if value is not None:
                primal = ir.Return(self.value(value), span)
            case _:
                pass
        yield primal

    def _is_active(self, target: ir.Expr) -> bool:
        if isinstance(target, ir.Read):
            return self.carrying.carries(target.source) and carries_gradient(target.type)
        whole = root(target)
        return whole is not None and self.carrying.carries(whole) and carries_gradient(target.type)

    def _target(self, target: ir.Expr) -> ir.Expr:
        match target:
            case ir.Var(name):
                return replace(target, name=self.names[name])
            case ir.Read(source=source):
                return replace(target, source=self._target(source))
            case ir.Member(value=value) | ir.Swizzle(value=value) | ir.Index(value=value):
                return replace(target, value=self._target(value))
            case _:
                raise TypeError(f"{target} is no target")

    def primal(self, expr: ir.Expr) -> ir.Expr:
        """Return an expression without its probes."""
        expr = map_children(expr, self.primal)
        return expr.value if isinstance(expr, ir.Probe) else expr

    def value(self, expr: ir.Expr) -> ir.Expr:
        """Return the tangent of an expression."""
        found = self.tangent(expr)
        return zero(expr.type) if found is None else found

    def tangent(self, expr: ir.Expr) -> ir.Expr | None:  # noqa: C901, PLR0911, PLR0912  (one rule each)
        """Return the tangent of an expression; None if it is zero."""
        if not self.carrying.carries(expr):
            return None
        match expr:
            case ir.Var(name):
                return replace(expr, name=self.names[name])
            case ir.Unary("-", operand):
                return _mapped(expr, operand=self.tangent(operand))
            case ir.Binary():
                return self._binary(expr)
            case ir.Ternary(condition, then, other):
                sides = self.value(then), self.value(other)
                return replace(expr, condition=self.primal(condition), then=sides[0], other=sides[1])
            case ir.Call():
                return self._call(expr)
            case ir.Intrinsic():
                stripped = self.primal(expr)
                assert isinstance(stripped, ir.Intrinsic)  # noqa: S101  (only probes change)
                return intrinsic_tangent(stripped, self.tangent)
            case ir.Construct(args):
                return replace(expr, args=tuple(map(self.value, args)))
            case ir.Cast(operand):
                return _mapped(expr, operand=self.tangent(operand))
            case ir.Member(value) | ir.Swizzle(value):
                return _mapped(expr, value=self.tangent(value))
            case ir.Index(value, index):
                moved = self.tangent(value)
                return None if moved is None else replace(expr, value=moved, index=self.primal(index))
            case ir.Read(source=source):
                return _mapped(expr, source=self.tangent(source))
            case ir.Sample(source=source, uv=uv):
                if self.carrying.carries(uv):
                    _refuse("the coordinates of a texture sample carry gradient, which has no second derivative", expr)
                return _mapped(expr, source=self.tangent(source))
            case ir.Probe(value=value):
                return self.tangent(value)
            case ir.BackwardCall() | ir.ForwardCall():
                _refuse("it contains a derivative already: the product would be a third derivative", expr)
            case _:
                raise TypeError(f"{type(expr).__name__} has no tangent")

    def _binary(self, expr: ir.Binary) -> ir.Expr | None:
        a, b = self.primal(expr.left), self.primal(expr.right)
        da, db = self.tangent(expr.left), self.tangent(expr.right)
        match expr.op:
            case "+":
                return _sum(da, db)
            case "-":
                return ir.Unary("-", db, db.type) if da is None and db is not None else _sum(da, db, minus=True)
            case "*":
                return _sum(da and multiply(da, b), db and multiply(a, db))
            case "/":
                quotient = db and multiply(divide(replace(expr, left=a, right=b), b), db)
                if quotient is not None and da is None:
                    return ir.Unary("-", quotient, quotient.type)
                return _sum(da and divide(da, b), quotient, minus=True)
            case _:
                raise TypeError(f"{expr.op} has no tangent")

    def _call(self, call: ir.Call) -> ir.Expr | None:
        callee = self.tangents.functions[call.function]
        if stops_gradient(callee):
            return None
        pairs = zip(callee.params, call.args, strict=True)
        moved = [self.tangent(arg) if gets_gradient(p) else None for p, arg in pairs]
        function = self.tangents.of(call.function, tuple(m is not None for m in moved))
        args = [self.primal(arg) for arg in call.args]
        wanted = len(function.params) - len(args)
        if wanted == sum(map(gets_gradient, callee.params)):
            args += [m or zero(p.type) for p, m in zip(callee.params, moved, strict=True) if gets_gradient(p)]
        else:
            args += [m for m in moved if m is not None]
        return ir.Call(function.key, tuple(args), call.type, call.span)


def _mapped(expr: ir.Expr, **parts: ir.Expr | None) -> ir.Expr | None:
    """Return the expression with other parts; None if one of them is None."""
    return None if None in parts.values() else replace(expr, **parts)  # type: ignore[arg-type]  # fields of the node


def _sum(a: ir.Expr | None, b: ir.Expr | None, *, minus: bool = False) -> ir.Expr | None:
    if a is None or b is None:
        return b if a is None else a
    return subtract(a, b) if minus else add(a, b)


def _refuse(reason: str, expr: ir.Expr) -> NoReturn:
    raise NoTangentError(reason, expr.span)


class _Unpaired:
    """The statements of a custom forward function, with two values for each pair."""

    def __init__(self, tangents: Tangents, primals: Mapping[str, str], names: Mapping[str, str]) -> None:
        self.tangents, self.primals, self.names = tangents, primals, names

    def block(self, body: Block) -> Block:
        return tuple(made for stmt in body for made in self._stmt(stmt))

    def _stmt(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        match stmt:
            case ir.Return(value, span) if value is not None:
                yield ir.Return(self._tangent(value), span)
            case ir.Let(name, DiffPair(primal), value, span):
                yield ir.Let(self.names[name], primal, None if value is None else self._tangent(value), span)
                yield ir.Let(name, primal, None if value is None else self._primal(value), span)
            case ir.Assign(ir.Var(name, DiffPair(primal)), value, span):
                yield ir.Assign(ir.Var(self.names[name], primal), self._tangent(value), span)
                yield ir.Assign(ir.Var(name, primal), self._primal(value), span)
            case _:
                yield map_blocks(map_stmt_exprs(stmt, self._expr), self.block)

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Member(value, "p") if isinstance(value.type, DiffPair):
                return self._primal(value)
            case ir.Member(value, "d") if isinstance(value.type, DiffPair):
                return self._tangent(value)
            case ir.Var(name):
                return replace(expr, name=self.primals.get(name, name))
            case _:
                return map_children(expr, self._expr)

    def _primal(self, pair: ir.Expr) -> ir.Expr:
        match pair:
            case ir.MakePair(primal, _):
                return self._expr(primal)
            case ir.Var(name, DiffPair(type_), span):
                return ir.Var(self.primals.get(name, name), type_, span)
            case ir.ForwardCall(key, args, DiffPair(type_), span):
                given = tuple(self._primal(a) if isinstance(a.type, DiffPair) else self._expr(a) for a in args)
                return ir.Call(key, given, type_, span)
            case ir.Ternary(condition, then, other, DiffPair(type_), span):
                return ir.Ternary(self._expr(condition), self._primal(then), self._primal(other), type_, span)
            case _:
                _refuse("its custom derivative uses a pair in a way that slangad can't take apart", pair)

    def _tangent(self, pair: ir.Expr) -> ir.Expr:
        match pair:
            case ir.MakePair(_, tangent):
                return self._expr(tangent)
            case ir.Var(name, DiffPair(type_), span):
                return ir.Var(self.names[name], type_, span)
            case ir.ForwardCall(key, args, DiffPair(type_), span):
                given = tuple(self._primal(a) if isinstance(a.type, DiffPair) else self._expr(a) for a in args)
                moved = tuple(self._tangent(a) for a in args if isinstance(a.type, DiffPair))
                function = self.tangents.of(key, tuple(isinstance(a.type, DiffPair) for a in args))
                return ir.Call(function.key, (*given, *moved), type_, span)
            case ir.Ternary(condition, then, other, DiffPair(type_), span):
                return ir.Ternary(self._expr(condition), self._tangent(then), self._tangent(other), type_, span)
            case _:
                _refuse("its custom derivative uses a pair in a way that slangad can't take apart", pair)
